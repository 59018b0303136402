"""The whole story on small plans: what is refused, what is open, what is taken on trust."""

from dataclasses import replace

import pytest

from tests.builders import FAST, Builder, answer, ask, codes, mlp, rewrite, rewrite_where
from tests.plans import batch_split, tied
from tests.tape import Tape
from verdict.errors import PlanFileError, PlanMismatchError
from verdict.lineage import CHUNK_ORDER
from verdict.options import Options
from verdict.pipeline import Interrupted, verify
from verdict.report import Verdict


def test_a_plan_is_equal_to_itself():
    for plan in (mlp(), tied(), batch_split(mean=True)):
        report = ask(plan, plan)
        assert report.verdict is Verdict.PROVED
        assert report.gradients == len(plan.gradients)


class Told:
    """An observer that keeps what it is told."""

    def __init__(self):
        self.phases, self.counted = [], []

    def begin(self, phase, given=None):
        self.phases.append(phase)

    def advance(self, phase, done, total, counted):
        self.counted.append((phase, done))


def test_the_phases_are_told_in_their_order():
    told = Told()
    verify(mlp(), mlp(tp=2), Options(workers=0, solver=FAST), told)
    phases = list(dict.fromkeys(told.phases))
    assert phases == sorted(phases, key=("check", "lineage", "stage", "prove", "report", "repair").index)
    counted = [done for phase, done in told.counted if phase == "prove"]
    assert counted == list(range(len(counted)))


def halved():
    """The parallel plan whose ranks do not add up the parts of a sum."""
    return rewrite_where(mlp(tp=2), "all_reduce", lambda node: node._replace(op="identity", attrs=()))


@pytest.mark.parametrize("parallel", [halved(), mlp(tp=2)], ids=["refuted", "proved"])
def test_an_interrupt_leaves_the_verdict_that_was_reached(parallel, monkeypatch):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    whole = verify(mlp(), parallel, Options(workers=0, solver=FAST))
    monkeypatch.setattr("verdict.pipeline.explain", interrupted)
    with pytest.raises(Interrupted) as ended:
        verify(mlp(), parallel, Options(workers=0, solver=FAST))
    assert ended.value.report.verdict is whole.verdict
    assert [note.code for note in ended.value.report.notes][-1] == "cut-short"
    monkeypatch.setattr("verdict.pipeline.walk", interrupted)
    with pytest.raises(KeyboardInterrupt) as nothing:
        verify(mlp(), parallel, Options(workers=0, solver=FAST))
    assert not isinstance(nothing.value, Interrupted)


def test_sides_exchanged_or_of_other_models_are_a_question_that_cannot_be_put():
    with pytest.raises(PlanMismatchError):
        ask(mlp(dp=2), mlp())
    with pytest.raises(PlanMismatchError):
        ask(mlp(), tied())
    with pytest.raises(PlanMismatchError):
        ask(mlp(), mlp(wide=24))


def test_a_single_plan_that_is_not_well_formed_is_refused():
    odd = rewrite_where(mlp(), "relu", lambda node: (node, node))
    with pytest.raises(PlanMismatchError):
        ask(odd, mlp())


@pytest.mark.parametrize("sides", [(True, False), (False, True)])
def test_a_malformed_plan_is_refused_on_either_side(sides):
    plans = [rewrite_where(mlp(), "relu", lambda node: node._replace(inputs=(999,))) if odd else mlp() for odd in sides]
    with pytest.raises(PlanFileError):
        ask(*plans)


def test_another_global_batch_is_refuted_before_any_proof():
    report = ask(mlp(batch=16), mlp(dp=2))
    assert report.verdict is Verdict.REFUTED
    assert codes(report) == {"batch-mismatch"}
    assert report.proofs.stages == 0


def test_every_proof_says_what_it_rests_on_and_any_of_it_may_be_denied():
    report = ask(mlp(), mlp(dp=2, tp=2))
    names = {assumption.name for assumption in report.assumptions}
    assert {"real-arithmetic", "shape-reduction", "initial-state"} <= names
    for name in sorted(names):
        denied = ask(mlp(), mlp(dp=2, tp=2), denied=[name])
        assert denied.verdict is Verdict.REFUTED
        assert codes(denied) == {"assumption-denied"}


def test_findings_count_more_than_what_is_open():
    """One rank has an unknown operator, another leaves a sum out: the plan is wrong whatever the operator means."""
    plan = rewrite_where(mlp(tp=2), "relu", lambda n: n._replace(op="mystery"), device=1)
    wrong = rewrite(plan, lambda d, n: n._replace(op="identity", attrs=()) if ".grad@all_reduce" in n.name else n)
    report = ask(mlp(), wrong)
    assert report.open
    assert report.verdict is not Verdict.PROVED
    assert answer(mlp(), plan) == "UNKNOWN"


@pytest.mark.parametrize("op", ["all_reduce", "mul", "relu"])
def test_a_verdict_without_causes_is_the_same(op):
    """What refutes stays, and nothing is explained of it."""
    wrong = rewrite_where(mlp(tp=2), op, lambda node: node._replace(op="identity", attrs=()))
    told, alone = (ask(mlp(), wrong, causes=causes) for causes in (True, False))
    assert told.verdict is alone.verdict is Verdict.REFUTED
    assert [bool(report.pictures) for report in (told, alone)] == [True, False]
    assert ask(mlp(), mlp(tp=2), causes=False).verdict is Verdict.PROVED


def test_each_distinct_stage_is_proved_once():
    report, exhaustive = (ask(mlp(), mlp(dp=2, tp=2, nm=2), exhaustive=way) for way in (False, True))
    assert report.verdict is exhaustive.verdict is Verdict.PROVED
    assert report.proofs.stages * 2 == exhaustive.proofs.stages
    assert report.proofs.distinct <= exhaustive.proofs.distinct


def test_a_plan_without_a_loss_or_without_gradients_proves_nothing():
    bare = replace(mlp(), losses=(), gradients=())
    assert answer(bare, bare) == "UNKNOWN"
    silent = replace(mlp(), losses=())
    assert answer(silent, silent) == answer(silent, mlp()) == "UNKNOWN"


def chunked(tp=1, take=(0, 1), gather=(0, 1)):
    """Each rank takes a piece of the batch by its place in the group `take`; `gather` puts the results together."""
    b = Builder(tp)
    for device in range(tp):
        t = Tape(b, device, range(tp))
        x = t.input("x", (8, 6))
        rows = t.cut(8)
        if tp > 1:
            x = b.op(device, "chunk", [x], [b.tensor("x", (8, 6), "activation", (rows, (0, 6)))], ranks=take, dim=0)
        y = t.op("linear", [x, t.weight("w", (4, 6))], "y", (8, 4), (rows, (0, 4)))
        if tp > 1:
            t.group = gather
            y = t.gather(y, 0, sums=False)
        z = t.op("mul", [y, t.weight("v", (8, 4))], "z", (8, 4))
        loss = t.op("sum", [z], "loss", (1,))
        b.loss(device, loss)
        t.declare(t.backward(loss), over=("w",) if tp > 1 else ())
    return b.plan()


def test_the_order_of_a_group_is_trusted_only_where_that_is_assumed():
    assert answer(chunked(), chunked(2)) == "PROVED"
    assert answer(chunked(), chunked(2, (1, 0), (1, 0))) == "PROVED"
    crooked = chunked(2, (1, 0), (0, 1))
    assert answer(chunked(), crooked) == "REFUTED"
    assumed = ask(chunked(), crooked, assume=[CHUNK_ORDER])
    assert assumed.verdict is Verdict.PROVED
    assert CHUNK_ORDER in {assumption.name for assumption in assumed.assumptions}
    straight = ask(chunked(), chunked(2), assume=[CHUNK_ORDER])
    assert CHUNK_ORDER not in {assumption.name for assumption in straight.assumptions}
