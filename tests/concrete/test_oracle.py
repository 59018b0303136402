"""The oracle: right plans agree, faulty ones differ, and what cannot be run is said as data."""

import ast
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from tests import builders
from verdict.backends import load, save
from verdict.backends.generator import Sizes, generate
from verdict.cli import cli
from verdict.concrete import AGREE, CANNOT, DIFFER, FAULT, compare, compare_prepared
from verdict.concrete.comparison import alone, prepare
from verdict.graph import Call

ROOT = Path(__file__).parents[2]
SHARED = ROOT.parent / "shared" / "plans"
SMALL = {"layers": 2, "hidden": 16, "heads": 4, "seq": 4, "batch": 8, "vocab": 8, "ffn": 8}
MESHES = (
    {"dp": 1, "tp": 1, "pp": 1, "microbatches": 1},
    {"dp": 2, "tp": 2, "pp": 2, "microbatches": 2},
    {"dp": 1, "tp": 4, "pp": 1, "microbatches": 1},
    {"dp": 2, "tp": 1, "pp": 2, "microbatches": 4},
)


def pair(model, mesh=MESHES[1], **sizes):
    return generate(model, Sizes(**{**SMALL, **mesh, **sizes}))


@pytest.mark.parametrize("mesh", MESHES, ids=str)
@pytest.mark.parametrize("model", ["mlp", "llama3"])
@pytest.mark.parametrize("large", [{}, {"hidden": 4096, "heads": 32, "seq": 128, "vocab": 51200, "ffn": 11008}])
def test_right_plans_agree(model, mesh, large):
    found = compare(*pair(model, mesh, **large), seed=1)
    assert found.outcome == AGREE, (found.faults, found.differing[:3])
    assert all(row.size > 0 for row in found.rows)


FAULTS = {
    "a sum over tensor parallel ranks left out": lambda plan: builders.rewrite_where(
        plan, "all_reduce", lambda node: node._replace(op="identity", attrs=()), device=0, nth=0
    ),
    "another activation": lambda plan: builders.rewrite_where(plan, "relu", lambda node: node._replace(op="silu")),
    "one relu's gradient wrong on one device": lambda plan: builders.rewrite_where(
        plan, "relu.grad", lambda node: node._replace(op="silu.grad"), device=1, nth=0
    ),
    "a gradient that is not reduced over the replicas": lambda plan: builders.rewrite_where(
        plan, "all_reduce", lambda node: builders.with_attrs(node, replicas=None) if _over(node) else node
    ),
    "a microbatch that runs twice, another not at all": lambda plan: replace(
        plan,
        programs=tuple(
            tuple(Call(call.segment, 0) if call.microbatch == 1 else call for call in program)
            for program in plan.programs
        ),
    ),
}


def _over(node):
    return bool(dict(node.attrs).get("replicas"))


@pytest.mark.parametrize("name", FAULTS)
@pytest.mark.parametrize("large", [False, True])
def test_faults_differ(name, large):
    single, parallel = pair("mlp", **({"hidden": 4096, "ffn": 11008} if large else {}))
    found = compare(single, FAULTS[name](parallel), seed=1)
    assert found.outcome in (DIFFER, FAULT), found.faults


@pytest.mark.parametrize("factor", [1 + 1e-6, 1 - 1e-6])
def test_a_constant_that_is_off_by_a_millionth_differs(factor):
    def scaled(node):
        return builders.with_attrs(node, other=dict(node.attrs)["other"] * factor)

    single, parallel = pair("llama3")
    wrong = builders.rewrite_where(parallel, "div", scaled)
    assert compare(single, wrong, seed=0).outcome == DIFFER


def test_full_and_reduced_shapes_have_one_outcome():
    single, parallel = pair("llama3")
    wrong = builders.rewrite_where(parallel, "silu", lambda node: node._replace(op="relu"), device=2)
    shrunk = prepare(single, parallel, full_work=0)
    assert sum(map(np.prod, shrunk.small[0].logicals)) < sum(np.prod(t.shape) for t in single.logicals)
    assert compare_prepared(shrunk, 0).outcome == compare(single, parallel).outcome == AGREE
    assert compare_prepared(prepare(single, wrong, full_work=0), 0).outcome == compare(single, wrong).outcome == DIFFER


def test_exact_arithmetic_has_no_error_at_all():
    single, parallel = pair("mlp")
    found = compare(single, parallel, seed=3, exact=True)
    assert found.outcome == AGREE
    assert {row.error for row in found.rows} == {0}

    def scaled(node):
        return node._replace(op="mul", inputs=node.inputs[:1], attrs=(("other", 1 + 1e-12),))

    wrong = builders.rewrite_where(parallel, "relu", scaled)
    assert compare(single, wrong, seed=3, exact=True).outcome == DIFFER


def test_hand_written_plans_agree():
    assert compare(builders.mlp(), builders.mlp(2, 2, 2, 2)).outcome == AGREE


def test_a_seed_gives_one_result_and_another_seed_another():
    single, parallel = pair("mlp")
    first, again, other = (compare(single, parallel, seed) for seed in (5, 5, 6))
    assert first.rows == again.rows
    assert first.rows != other.rows


def _failure(plan, parallel):
    found = compare(plan, parallel)
    return found.outcome, " ".join(map(str, found.faults))


def test_what_cannot_run_is_said():
    single, parallel = pair("mlp")
    unknown = builders.rewrite_where(parallel, "relu", lambda node: node._replace(op="frobnicate"))
    assert _failure(single, unknown)[0] == CANNOT
    assert "frobnicate has no rule" in _failure(single, unknown)[1]
    lost = builders.rewrite_where(parallel, "send", lambda node: None, device=0)
    assert _failure(single, lost)[0] == FAULT
    assert "for ever" in _failure(single, lost)[1]
    twisted = builders.rewrite_where(parallel, "linear", lambda node: node._replace(inputs=node.inputs[::-1]), 0)
    assert _failure(single, twisted)[0] == FAULT
    missing = builders.rewrite_where(parallel, "relu", lambda node: None, device=3)
    assert "before anything produces it" in _failure(single, missing)[1]
    short = replace(parallel, gradients=parallel.gradients[1:])
    assert _failure(single, short)[0] == FAULT
    other_batch = generate("mlp", Sizes(**{**SMALL, **MESHES[1], "batch": 16}))[1]
    assert "do not make" in _failure(single, other_batch)[1]


def test_a_plan_beyond_the_limit_is_refused_and_can_be_allowed():
    single, parallel = pair("mlp")
    assert compare(single, parallel, most_work=100).outcome == CANNOT
    assert compare(single, parallel, most_work=10**6).outcome == AGREE


def test_nothing_of_the_proof_is_imported():
    """What the oracle shares with the verifier: the plan, the meaning of operators and of communication, what plans may
    be given, and the smaller shapes of large ones.
    """
    rooms = ("concrete", "semantics", "reduction", "inputs")
    allowed = tuple(f"verdict.{room}" for room in (*rooms, "comparison", "graph", "ops", "errors"))
    for file in (file for room in rooms for file in (ROOT / "verdict" / room).glob("*.py")):
        for node in ast.walk(ast.parse(file.read_text())):
            names = [node.module] if isinstance(node, ast.ImportFrom) else []
            names += [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            assert all(name.startswith(allowed) for name in names if name.startswith(("verdict", "backends"))), file


SHARED_PAIRS = (
    ("mlp/mlp_mgener_dp1_pp1_tp1_nm1_gbs16_dim1024_ly2", "mlp/mlp_mgener_dp2_pp2_tp2_nm2_gbs16_dim1024_ly2", AGREE),
    (
        "policies/llama3_default_dp1_pp1_tp1_nm1_gbs16_ly4_h8_hi256_sq128",
        "policies/llama3_megatron_dp2_pp2_tp2_nm2_gbs16_ly4_h8_hi256_sq128",
        AGREE,
    ),
    (
        "policies/llama3_default_dp1_pp1_tp1_nm1_gbs16_ly4_h8_hi256_sq128",
        "policies/llama3_default_dp1_pp2_tp4_nm8_gbs16_ly4_h8_hi256_sq128",
        DIFFER,
    ),
    (
        "llama3/llama3_default_dp1_pp1_tp1_nm1_gbs512_ly2_h32_hi4096_sq128",
        "llama3/llama3_default_dp16_pp4_tp2_nm8_gbs512_ly2_h32_hi4096_sq128",
        AGREE,
    ),
    (
        "policies/moe_default_dp1_pp1_tp1_nm1_gbs16_ly4_h8_hi256_sq128_a2_r16",
        "policies/moe_megatron_replicated_dp2_pp2_tp2_nm2_gbs16_ly4_h8_hi256_sq128_a2_r16",
        AGREE,
    ),
    (
        "policies/gpt_mgener_dp1_pp1_tp1_nm1_gbs16_dim1024_ly4_h8_hi256_sq128",
        "policies/gpt_mgener_dp2_pp2_tp2_nm2_gbs16_dim1024_ly4_h8_hi256_sq128",
        AGREE,
    ),
)


@pytest.mark.skipif(not SHARED.is_dir(), reason="the shared plans are not here (../shared/plans)")
@pytest.mark.parametrize(("single", "parallel", "outcome"), SHARED_PAIRS, ids=lambda value: value.split("/")[-1])
def test_plans_of_a_real_tool(single, parallel, outcome):
    plans = [load(str(SHARED / f"{name}.pkl.xz")) for name in (single, parallel)]
    found = compare(*plans, seed=0)
    assert found.outcome == outcome, found.faults


def test_the_command(tmp_path):
    single, parallel = pair("mlp")
    wrong = FAULTS["another activation"](parallel)
    files = [str(tmp_path / f"{name}.plan") for name in ("single", "parallel", "wrong")]
    for plan, file in zip((single, parallel, wrong), files, strict=True):
        save(plan, file)
    run = CliRunner().invoke
    agreed = run(cli, ["run", "--sm", files[0], "--pm", files[1]])
    assert (agreed.exit_code, agreed.output.split()[0]) == (0, "AGREE")
    differed = run(cli, ["run", "--sm", files[0], "--pm", files[2], "--format", "json", "--seed", "2"])
    assert differed.exit_code == 1
    assert '"outcome": "differ"' in differed.output
    alone_ = run(cli, ["run", files[1]])
    assert alone_.exit_code == 0
    assert "gradient of layers.0.weight on rank 0: norm" in run(cli, ["run", files[1], "-v"]).output
    assert run(cli, ["run", "--sm", files[0], "--pm", files[1], "--most-work", "9"]).exit_code == 3
    assert run(cli, ["run"]).exit_code != 0


def test_a_plan_alone_is_shrunk_too():
    single, _ = generate("llama3", Sizes(batch=32))
    _, small = alone(single)
    assert max(max(shape, default=0) for shape in small.logicals) < 64
