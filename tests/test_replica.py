"""One replica instead of all: when it may stand for the others, and that it says what all of them would."""

from dataclasses import replace
from importlib import import_module

import pytest

from tests.builders import FAST, ask, mlp, rewrite_where, with_attrs
from tests.sweep.plans import agrees, swept
from verdict.backends.generator import Sizes, generate
from verdict.mutate import mutate
from verdict.options import Options
from verdict.phases import Query, walk
from verdict.phases.replica import split
from verdict.report import Verdict

pytestmark = pytest.mark.usefixtures("shared_proofs")

RING = {"layers": 1, "hidden": 4, "heads": 1, "seq": 4, "batch": 2, "vocab": 4, "ffn": 4, "cp": 2, "dp": 2, "tp": 1}
ONE = {"pp": 1, "microbatches": 1}


def law(single, one):
    """Whether the single-device step adds up over the replicas, by the walk."""
    return walk(Query(single, one.copies, Options(solver=FAST))).report.verdict is Verdict.PROVED


def test_one_replica_is_swept_where_the_walk_cannot_follow_and_all_where_asked_for(monkeypatch):
    """Of what is not decided between cut points."""
    module = import_module("verdict.phases.sweep")
    monkeypatch.setattr(module, "by_blocks_of_ranks", lambda query: None)
    monkeypatch.setattr(module, "between_cut_points", lambda query, examined: None)
    single, parallel = generate("llama3", Sizes(**RING, **ONE, zigzag=True))
    quick, slow = ask(single, parallel), ask(single, parallel, exhaustive=True)
    assert quick.verdict is slow.verdict is Verdict.PROVED
    assert (quick.swept.replicas, slow.swept.replicas) == (2, 1)
    assert quick.swept.steps < slow.swept.steps
    assert quick.proofs.stages and not slow.proofs.stages
    assert (quick.losses, quick.gradients) == (slow.losses, slow.gradients)


def test_a_wrong_replica_is_refuted():
    single, parallel = generate("llama3", Sizes(**RING, **ONE))
    wrong = rewrite_where(parallel, "exp", lambda node: node._replace(op="sigmoid"), nth=1)
    report = ask(single, wrong)
    assert report.verdict is Verdict.REFUTED
    assert agrees(single, wrong) == "differ"


@pytest.mark.parametrize("dp, nm", [(2, 1), (3, 2)])
def test_the_step_on_one_share_adds_up(dp, nm):
    single, parallel = mlp(batch=12), mlp(dp, 2, nm=nm, batch=12)
    one = split(single, parallel)
    assert one is not None
    assert one.parallel.replicas == 1
    assert one.copies.replicas == dp
    assert law(single, one)
    assert swept(one.single, one.parallel) == "PROVED"


def test_no_mutant_is_proved_by_one_replica_that_the_oracle_sees():
    single, parallel = mlp(batch=12), mlp(3, 2, batch=12)
    outcomes = []
    for mutant in mutate(parallel, 7, 30):
        one = split(single, mutant.plan)
        if one is None or not law(single, one):
            outcomes.append("all")
            continue
        seen, found = agrees(single, mutant.plan), swept(one.single, one.parallel)
        assert not (seen == "differ" and found == "PROVED"), mutant.description
        assert not (seen == "agree" and found == "REFUTED"), mutant.description
        outcomes.append(found)
    assert outcomes.count("REFUTED") > 3


def averaged(node):
    return with_attrs(node, reduce="mean") if dict(node.attrs).get("replicas") else node


def of_one_replica(node):
    return with_attrs(node, replicas=None)


@pytest.mark.parametrize("change", [averaged, of_one_replica])
def test_replicas_that_do_not_add_up_once_are_not_apart(change):
    single, parallel = mlp(batch=12), mlp(2, batch=12)
    assert split(single, parallel) is not None
    assert split(single, rewrite_where(parallel, "all_reduce", change)) is None


def test_a_sum_that_is_read_is_no_end():
    single, parallel = mlp(batch=12), mlp(2, batch=12)
    (total, *_) = (node for s in parallel.segments for node in s.nodes if dict(node.attrs).get("replicas"))
    again = parallel.segments[-1]._replace(nodes=(*parallel.segments[-1].nodes, total._replace(inputs=total.outputs)))
    assert split(single, replace(parallel, segments=(*parallel.segments[:-1], again))) is None


def test_a_gradient_that_is_not_added_up_is_no_sum():
    single, parallel = mlp(batch=12), mlp(2, batch=12)
    (total, *_) = (node for s in parallel.segments for node in s.nodes if dict(node.attrs).get("replicas"))
    local = [h._replace(tensor=total.inputs[0]) if h.tensor == total.outputs[0] else h for h in parallel.gradients]
    assert split(single, replace(parallel, gradients=tuple(local))) is None


def test_a_share_of_an_average_is_a_share_of_its_sum():
    single, parallel = mlp(batch=12), mlp(2, batch=12)
    forward = rewrite_where(single, "sum", lambda node: node._replace(op="mean"))
    averaging = rewrite_where(forward, "sum.grad", lambda node: node._replace(op="mean.grad"))
    one = split(averaging, parallel)
    assert one is not None
    assert law(averaging, one)
    assert swept(one.single, one.parallel) == "REFUTED"


def test_a_step_that_looks_across_the_batch_has_no_shares():
    single, parallel = mlp(batch=12), mlp(2, batch=12)
    forward = rewrite_where(single, "relu", lambda node: with_attrs(node, dim=0)._replace(op="softmax"))
    across = rewrite_where(forward, "relu.grad", lambda node: with_attrs(node, dim=0)._replace(op="softmax.grad"))
    assert split(across, parallel) is None
