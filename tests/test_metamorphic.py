"""Changes that change nothing: the same verdict, and the same number of distinct stages."""

import random
from dataclasses import replace
from functools import cache

import pytest

from tests.builders import FAST, Builder, rewrite_where
from tests.plans import ulysses
from tests.tape import Tape
from tests.transformations import (
    TRANSFORMATIONS,
    insert_identities,
    rename_devices,
    rename_tensors,
    reorder_nodes,
)
from verdict.backends.generator import Sizes, generate
from verdict.backends.text import canonical
from verdict.options import Options, SolverOptions
from verdict.pipeline import verify

SMALL = Sizes(layers=2, hidden=16, heads=4, seq=4, batch=8, dp=2, tp=2, pp=2, microbatches=2, vocab=16, ffn=12)
MESHES = {
    "dp2 tp2 pp2": {},
    "tp4": {"dp": 1, "tp": 4, "pp": 1, "microbatches": 1},
    "dp2 pp2": {"tp": 1, "microbatches": 4},
    "tp2 pp2": {"dp": 1},
    "tp2": {"dp": 1, "pp": 1, "layers": 1},
}
CASES = [*(("mlp", mesh) for mesh in list(MESHES)[:4]), ("llama3", "tp2"), ("branches", "dp2 tp2")]
by_name = pytest.mark.parametrize("change", TRANSFORMATIONS, ids=lambda change: change.__name__)


def decide(single, parallel, exhaustive=False, workers=0, seed=0):
    return verify(single, parallel, Options(workers, 4096, exhaustive, solver=replace(FAST, seed=seed)))


def not_added(plan):
    """The parts of one sum are taken for the whole, on every rank."""
    found = {node.name for s in plan.segments for node in s.nodes if node.op == "all_reduce"}
    if not found:
        return None
    name = min(found)
    return rewrite_where(plan, "all_reduce", lambda n: n._replace(op="identity", attrs=()) if n.name == name else n)


def halved(plan):
    """What the last linear of one rank makes is divided by two."""
    last = [node for s in plan.segments for node in s.nodes if node.op == "linear"][-1]
    return rewrite_where(plan, "linear", lambda n: _half(n) if n is last else n)


def _half(node):
    return node._replace(op="mul", inputs=node.inputs[:1], attrs=(("other", 0.5),))


FAULTS = {"right": lambda plan: plan, "a part taken as whole": not_added, "another operator": halved}


def branches(dp=1, tp=1):
    """loss = sum(x' wa + x' wb + x' wc) with x' = x * scale: its gradient is a sum of three."""
    b = Builder(tp, dp, 1)
    rows = 8 // dp
    for device in range(tp):
        t = Tape(b, device, range(tp))
        cut = t.cut(6)
        x = t.op("mul", [t.input("x", (rows, 4)), t.weight("scale", (4,))], "xs", (rows, 4))
        x = t.share(x) if tp > 1 else x
        ways = []
        for name in ("a", "b", "c"):
            w = t.weight(f"w{name}", (6, 4), (cut, (0, 4)))
            y = t.op("linear", [x, w], f"y{name}", (rows, 6), ((0, rows), cut))
            ways.append(t.op("silu", [y], f"s{name}", (rows, 6), ((0, rows), cut)))
        z = t.op("add", ways[:2], "z0", (rows, 6), ((0, rows), cut))
        z = t.op("add", [z, ways[2]], "z1", (rows, 6), ((0, rows), cut))
        loss = t.op("sum", [z], "loss", (1,))
        loss = t.total(loss) if tp > 1 else loss
        b.loss(device, loss)
        t.declare(t.backward(loss))
    return b.plan()


def made(model, mesh):
    """The single-device plan and a parallel one."""
    if model == "branches":
        return branches(), branches(2, 2)
    return generate(model, replace(SMALL, **MESHES[mesh]))


@cache
def decided(model, mesh, fault):
    """The plans, the second with the fault, and the report on them; None where it has no place for the fault."""
    single, parallel = made(model, mesh)
    parallel = FAULTS[fault](parallel)
    return None if parallel is None else (single, parallel, decide(single, parallel))


def known(model, mesh, fault="right"):
    found = decided(model, mesh, fault)
    if found is None:
        pytest.skip("this plan has no place for the fault")
    return found


@pytest.mark.parametrize(("model", "mesh"), CASES)
@pytest.mark.usefixtures("shared_proofs")
def test_the_right_plan_is_right_and_the_faults_are_faults(model, mesh):
    for fault in FAULTS:
        found = decided(model, mesh, fault)
        if found is not None:
            assert found[2].verdict.name == ("PROVED" if fault == "right" else "REFUTED"), fault


@by_name
@pytest.mark.parametrize(("model", "mesh"), CASES)
@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.usefixtures("shared_proofs")
def test_a_change_that_changes_nothing_keeps_the_verdict(fault, model, mesh, change):
    single, parallel, before = known(model, mesh, fault)
    after = decide(single, change(parallel, random.Random(f"{fault}{model}{mesh}")))
    assert after.verdict is before.verdict, (after.findings or after.open, before.findings or before.open)
    swept = after.swept is not None or before.swept is not None
    if fault == "right" or not (swept or change in (rename_devices, rename_tensors)):
        assert after.proofs.distinct == before.proofs.distinct, "names are hints only where something is wrong"


@by_name
@pytest.mark.parametrize(("model", "mesh"), [("mlp", "tp4"), ("llama3", "tp2"), ("branches", "dp2 tp2")])
@pytest.mark.usefixtures("shared_proofs")
def test_nor_does_one_of_the_single_device_plan(model, mesh, change):
    single, parallel, before = known(model, mesh)
    after = decide(change(single, random.Random(0)), parallel)
    assert after.verdict is before.verdict, after.findings or after.open
    assert after.proofs.distinct == before.proofs.distinct


@pytest.mark.parametrize(("model", "mesh"), CASES)
@pytest.mark.usefixtures("shared_proofs")
def test_all_changes_together(model, mesh):
    single, parallel, before = known(model, mesh)
    draw = random.Random(7)
    for change in TRANSFORMATIONS:
        parallel = change(parallel, draw)
    after = decide(single, parallel)
    assert after.verdict is before.verdict, after.findings or after.open
    assert after.proofs.distinct == before.proofs.distinct


def test_the_changes_do_change_the_plan():
    parallel = branches(2, 2)
    for change in TRANSFORMATIONS:
        assert change(parallel, random.Random(1)) != parallel, change.__name__


@pytest.mark.parametrize("model", ["mlp", "llama3"])
def test_a_plan_against_itself_is_proved(model):
    single, parallel, _ = known(model, "tp2")
    assert decide(single, single).verdict.name == "PROVED"
    assert decide(single, canonical(single)).verdict.name == "PROVED"
    assert decide(single, insert_identities(single, random.Random(0))).verdict.name == "PROVED"
    assert decide(single, canonical(parallel)).proofs == decide(single, parallel).proofs


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("model", ["mlp", "llama3"])
def test_seed_and_workers_change_nothing(model, fault):
    single, parallel, first = known(model, "tp2", fault)
    for workers in (1, 2, 3):
        assert decide(single, parallel, workers=workers) == first
    for seed in (1, 12345):
        again = decide(single, parallel, seed=seed)
        assert (again.verdict, again.proofs) == (first.verdict, first.proofs)


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize(("model", "mesh"), CASES)
@pytest.mark.usefixtures("shared_proofs")
def test_every_stage_by_itself_gives_the_same_verdict(model, mesh, fault):
    single, parallel, quick = known(model, mesh, fault)
    slow = decide(single, parallel, exhaustive=True)
    assert slow.verdict is quick.verdict, (slow.findings or slow.open, quick.findings or quick.open)
    assert slow.proofs.distinct >= quick.proofs.distinct


def test_sequence_shards_are_renamed_and_reordered_alike():
    single, parallel = ulysses(), ulysses(2, 2)
    before = decide(single, parallel)
    for change in (rename_devices, reorder_nodes):
        after = decide(single, change(parallel, random.Random(3)))
        assert (after.verdict, after.proofs) == (before.verdict, before.proofs)


def test_both_solver_settings_agree():
    single, parallel, report = known("mlp", "dp2 tp2 pp2")
    assert verify(single, parallel, Options(solver=SolverOptions())).verdict is report.verdict
