"""The engine of torch: it knows nothing of the proof, agrees on right plans, and sees faults in wrong ones."""

import ast
import subprocess
import sys
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest
import torch
from click.testing import CliRunner

from tests import builders
from verdict.backends import pairs, save
from verdict.backends.generator import Sizes, generate
from verdict.backends.text import read
from verdict.backends.torch import oracle
from verdict.backends.torch.oracle import compare, nodes
from verdict.backends.torch.oracle.compare import ready
from verdict.cli import cli
from verdict.comparison import AGREE, CANNOT, DIFFER, FAULT
from verdict.concrete import compare as own

ROOT = Path(__file__).parents[2]
BUGS = ROOT / "tests" / "bugs"
SMALL = {"layers": 2, "hidden": 16, "heads": 4, "seq": 4, "batch": 8, "vocab": 8, "ffn": 8}
MESH = {"dp": 2, "tp": 2, "pp": 2, "microbatches": 2}
EXPERTS = {"experts": 8, "topk": 2, "groups": 2, "topk_groups": 1, "moe_ffn": 4}
FAMILIES = {
    "mlp": {**MESH, "layers": 4},
    "llama3": MESH,
    "deepseek": {**MESH, **EXPERTS},
    "gpt": {**MESH, "dropout": 0.25},
    "mlp zero": {"dp": 2, "tp": 2, "pp": 1, "microbatches": 2, "optimizer": "adamw", "zero": 1, "clip": 1.0},
    "mlp zero3": {"dp": 2, "tp": 1, "pp": 1, "microbatches": 2, "optimizer": "sgd", "zero": 3},
    "llama3 sp": {"dp": 2, "tp": 2, "pp": 1, "microbatches": 1, "sp": True},
}


@cache
def pair(name):
    return generate(name.split()[0], Sizes(**{**SMALL, **FAMILIES[name]}))


@pytest.mark.parametrize("name", FAMILIES)
def test_right_plans_agree(name):
    found = compare(*pair(name), 1)
    assert found.outcome == AGREE, (found.faults, found.differing[:3])
    assert {(row.what, row.where) for row in found.rows} == {(row.what, row.where) for row in own(*pair(name)).rows}


def test_a_constant_that_is_off_by_a_millionth_differs():
    def scaled(node):
        return builders.with_attrs(node, other=dict(node.attrs)["other"] * (1 + 1e-6))

    single, parallel = pair("llama3")
    assert compare(single, builders.rewrite_where(parallel, "div", scaled)).outcome == DIFFER


@pytest.mark.parametrize("name", pairs.names(BUGS))
def test_both_engines_say_the_same_of_real_bugs(name):
    bug = pairs.load(BUGS, name)
    assert compare(*bug.twin()).outcome == AGREE
    found, known = ({engine(*bug.plans(), seed).outcome for seed in (1, 3)} for engine in (compare, own))
    assert found == known


def test_what_cannot_run_is_said():
    single, parallel = pair("mlp")
    unknown = builders.rewrite_where(parallel, "relu", lambda node: node._replace(op="frobnicate"))
    assert compare(single, unknown).outcome == CANNOT
    lost = builders.rewrite_where(parallel, "send", lambda node: None, device=0)
    assert "for ever" in str(compare(single, lost).faults[0])
    twisted = builders.rewrite_where(parallel, "linear", lambda node: node._replace(inputs=node.inputs[::-1]), 0)
    assert compare(single, twisted).outcome == FAULT
    missing = builders.rewrite_where(parallel, "relu", lambda node: None, device=3)
    assert "before anything produces it" in str(compare(single, missing).faults[0])
    assert compare(single, replace(parallel, gradients=parallel.gradients[1:])).outcome == FAULT
    whole, shared = pair("gpt")
    typed = builders.rewrite_where(shared, "softmax", lambda node: builders.with_attrs(node, dtype="floor"))
    assert "floor is no floating-point type" in str(compare(whole, typed).faults[0])
    assert compare(single, parallel, most_work=100).outcome == CANNOT


@pytest.mark.parametrize(
    ("op", "more"), [("select_blocks", {"blocks": 1, "index": (0,)}), ("pad", {"before": 0, "after": 1})]
)
def test_a_dimension_that_a_tensor_has_not_cannot_be_computed(op, more):
    (made,) = nodes.forward(op, [torch.ones(2, 3)], {"dim": -1, **more})
    assert made.shape == (2, 3 + more.get("after", 0))
    with pytest.raises(IndexError):
        nodes.forward(op, [torch.ones(2, 3)], {"dim": 2, **more})


def _of_ids(nodes, ids="int64", vocab=1000):
    """A plan that reads ids of [6], looks them up where the nodes do, and makes a loss."""
    head = "\n".join(
        [
            "verdict-plan 1",
            "devices 1",
            "tensors",
            f"  ids input {ids} [6] origin name",
            f"  table weight float32 [{vocab}, 2] origin name",
            *(f"  {name} activation {dtype} {shape}" for name, dtype, shape, _ in nodes),
            "family 0",
            "segment forward",
            *(f"  {name} = {call}" for name, _, _, call in nodes),
            "call forward 0",
            "loss loss",
            "end",
            "",
        ]
    )
    return read(head.encode(), "test")


LOOKED_UP = ("looked", "float32", "[6, 2]", "embedding(ids, table) start=0 stop=1000")
SUM = ("loss", "float32", "[1]", "sum(looked) dim=None keepdim=False")


def test_integers_range_over_all_that_is_named_and_beyond():
    single = _of_ids([LOOKED_UP, SUM])
    known = ready(single, single).integers[0]
    assert (known.low < 0, known.high >= 1000, {0, 999, 1000} <= set(known.edges)) == (True, True, True)
    for start, outcome in ((777, AGREE), (778, DIFFER)):
        shares = [
            ("low", "float32", "[6, 2]", "embedding(ids, table[0:777, :]) start=0 stop=777"),
            ("high", "float32", "[6, 2]", f"embedding(ids, table'2[{start}:1000, :]) start={start} stop=1000"),
            ("looked", "float32", "[6, 2]", "add(low, high)"),
        ]
        found = {compare(single, _of_ids([*shares, SUM]), seed).outcome for seed in range(6)}
        assert found in ({AGREE, outcome}, {outcome})


WRAPPED = (
    ("narrow", "uint8", "[6]", 'aten._to_copy(ids) dtype="uint8"'),
    ("back", "int64", "[6]", 'aten._to_copy(narrow) dtype="int64"'),
    ("looked", "float32", "[6, 2]", "aten.embedding(table, back)"),
)
KEPT = ("looked", "float32", "[6, 2]", "aten.embedding(table, ids)")


def test_integers_have_the_width_of_their_type():
    wide, wrapped = _of_ids([KEPT, SUM]), _of_ids([*WRAPPED, SUM])
    assert any(compare(wide, wrapped, seed).outcome == DIFFER for seed in range(3))
    small, same = _of_ids([KEPT, SUM], vocab=200), _of_ids([*WRAPPED, SUM], vocab=200)
    assert all(compare(small, same, seed).outcome == AGREE for seed in range(3))
    assert ready(wide, wrapped).integers[0][:2] == (0, 999)


def test_integers_of_no_table_are_more_than_truth_values():
    powers = [
        _of_ids(
            [
                ("numbers", "float32", "[6]", 'aten._to_copy(ids) dtype="float32"'),
                ("power", "float32", "[6]", f"aten.pow.Tensor_Scalar(numbers) exponent={exponent}"),
                ("loss", "float32", "[1]", "sum(power) dim=None keepdim=False"),
            ]
        )
        for exponent in (2, 3)
    ]
    assert compare(*powers).outcome == DIFFER
    assert compare(powers[0], powers[0]).outcome == AGREE


def test_a_plan_alone():
    single, parallel = pair("mlp")
    (loss,) = [held for held in oracle.alone(single) if held.what == "loss"]
    assert len(loss.numbers) == 1
    assert {held.what for held in oracle.alone(parallel)} == {held.what for held in oracle.alone(single)}


PROOF = tuple(
    f"verdict.{room}"
    for room in ("ops", "lineage", "stage", "solver", "semantics", "reduction", "inputs", "sweep", "concrete")
)


def test_the_engine_runs_where_nothing_of_the_proof_can_be_imported(tmp_path):
    """In a process in which importing a room of the proof fails, plans agree and differ as ever."""
    single, parallel = pair("llama3")
    wrong = builders.rewrite_where(parallel, "silu", lambda node: node._replace(op="relu"), device=2)
    files = [str(tmp_path / f"{k}.plan") for k in range(3)]
    for plan, file in zip((single, parallel, wrong), files, strict=True):
        save(plan, file)
    script = (
        "import sys\n"
        f"for room in {PROOF}: sys.modules[room] = None\n"
        "from pathlib import Path\n"
        "from verdict.backends.text import read\n"
        "from verdict.backends.torch.oracle import compare\n"
        f"single, right, wrong = (read(Path(file).read_bytes(), file) for file in {files})\n"
        "print(compare(single, right).outcome, compare(single, wrong).outcome)\n"
    )
    run = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=False)
    assert run.stdout.split() == [AGREE, DIFFER], run.stderr


def test_the_engine_imports_the_plan_and_nothing_else_of_verdict():
    for file in (ROOT / "backends" / "torch" / "oracle").glob("*.py"):
        for node in ast.walk(ast.parse(file.read_text())):
            names = [node.module] if isinstance(node, ast.ImportFrom) else []
            names += [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            ours = [name for name in names if name.startswith("verdict")]
            assert all(name.startswith(("verdict.graph", "verdict.comparison", "verdict.backends")) for name in ours), (
                file
            )


def test_the_command(tmp_path):
    single, parallel = pair("mlp")
    wrong = builders.rewrite_where(parallel, "relu", lambda node: node._replace(op="silu"))
    files = [str(tmp_path / f"{name}.plan") for name in ("single", "parallel", "wrong")]
    for plan, file in zip((single, parallel, wrong), files, strict=True):
        save(plan, file)
    run = CliRunner().invoke
    for engine in ("torch", "own"):
        right = run(cli, ["run", "--sm", files[0], "--pm", files[1], "--engine", engine])
        assert (right.exit_code, right.output.split()[0]) == (0, "AGREE")
        assert f"(engine {engine})" in right.output
        assert run(cli, ["run", "--sm", files[0], "--pm", files[2], "--engine", engine]).exit_code == 1
        alone = run(cli, ["run", files[1], "--engine", engine, "-v"])
        assert "gradient of layers.0.weight on rank 0: norm" in alone.output
    assert "(engine torch)" in run(cli, ["run", "--sm", files[0], "--pm", files[1]]).output
    assert "(engine own)" in run(cli, ["run", "--sm", files[0], "--pm", files[1], "--exact"]).output
    assert run(cli, ["run", "--sm", files[0], "--pm", files[1], "--exact", "--engine", "torch"]).exit_code != 0


def test_large_plans_run_at_smaller_shapes(tmp_path):
    single, parallel = generate("llama3", Sizes(batch=32))
    wrong = builders.rewrite_where(parallel, "silu", lambda node: node._replace(op="relu"), device=0)
    files = [str(tmp_path / f"{name}.plan") for name in ("single", "parallel", "wrong")]
    for plan, file in zip((single, parallel, wrong), files, strict=True):
        save(plan, file)
    right = CliRunner().invoke(cli, ["run", "--sm", files[0], "--pm", files[1]])
    assert (right.exit_code, "run at reduced shapes" in right.output) == (0, True), right.output
    assert CliRunner().invoke(cli, ["run", "--sm", files[0], "--pm", files[2]]).exit_code == 1


def test_threads_and_default_types_are_left_as_they_were():
    before = torch.get_default_dtype()
    compare(*pair("mlp"))
    assert torch.get_default_dtype() is before
