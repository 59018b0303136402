"""What makes no sense at all is refused in words, whatever the plan would compute."""

from dataclasses import replace

import pytest

from tests.builders import mlp, rewrite_where, with_attrs
from verdict.errors import PlanFileError
from verdict.graph import ABSENT, ACCUMULATOR, ACTIVATION, INPUT, WEIGHT, Call, Held
from verdict.graph.form import require_form

RIGHT = mlp(dp=2, tp=2, pp=2, nm=2)


def calls(*first):
    """RIGHT with other calls on rank 0."""
    return replace(RIGHT, programs=(first, *RIGHT.programs[1:]))


def nodes(which, /, **changed):
    """RIGHT with fields of the nodes `which` changed; `attrs` in place of all of them."""
    if "attrs" in changed:
        changed["attrs"] = tuple(sorted(changed["attrs"].items()))
    return rewrite_where(RIGHT, which, lambda node: node._replace(**changed))


def attributes(op, **changed):
    return rewrite_where(RIGHT, op, lambda node: with_attrs(node, **changed))


def of_type(dtype, op="all_reduce", **attrs):
    """RIGHT with one reduction, of another type; `attrs` in place of all that it says."""
    plan = attributes(op, **attrs)
    ends = {t for segment in plan.segments for node in segment.nodes if node.op == op for t in node.inputs}
    changed = {plan.tensors[t].logical for t in ends}
    logicals = [t._replace(dtype=dtype, kind=ACTIVATION) if k in changed else t for k, t in enumerate(plan.logicals)]
    return replace(plan, logicals=tuple(logicals))


def accumulating(dtype):
    """RIGHT with accumulators of a type."""
    logicals = [t._replace(dtype=dtype) if t.kind == ACCUMULATOR else t for t in RIGHT.logicals]
    return replace(RIGHT, logicals=tuple(logicals))


INPUTS, WEIGHTS = ([t.name for t in RIGHT.logicals if t.kind == kind] for kind in (INPUT, WEIGHT))
OWN, GROUP = RIGHT.programs[0], {"ranks": (0, 1)}
FAULTS = {
    "a call of no segment": calls(*OWN, Call(99, 0)),
    "a microbatch too many": calls(*OWN, Call(0, 2)),
    "a segment of another rank": replace(RIGHT, programs=(RIGHT.programs[1], *RIGHT.programs[1:])),
    "a crossing of nothing": calls(OWN[0]._replace(crossed=((-1, 0),)), *OWN[1:]),
    "one input of two microbatches": calls(OWN[0]._replace(crossed=((0, 0), (0, 1))), *OWN[1:]),
    "a program too few": replace(RIGHT, programs=RIGHT.programs[:-1]),
    "no microbatch": replace(RIGHT, microbatches=0),
    "a tensor of no logical": replace(RIGHT, tensors=(RIGHT.tensors[0]._replace(logical=999), *RIGHT.tensors[1:])),
    "a loss on no rank": replace(RIGHT, losses=(Held(9, 0),)),
    "a loss of nothing": replace(RIGHT, losses=(Held(0, 9999),)),
    "a gradient of no weight": replace(RIGHT, gradients=(Held(0, 0, ABSENT),)),
    "a seed of nothing": replace(RIGHT, seeds=(9999,)),
    "a node of no tensor": nodes("relu", inputs=(9999,)),
    "a negative tensor": nodes("relu", inputs=(-2,)),
    "an absent addend": nodes("all_reduce", inputs=(ABSENT,)),
    "two addends": nodes("all_reduce", inputs=(0, 1)),
    "a send of nothing": nodes("send", inputs=()),
    "no group": attributes("all_reduce", ranks=None),
    "a member twice": attributes("all_reduce", ranks=(0, 0, 1)),
    "a group that is no group": attributes("all_reduce", ranks=2),
    "an unknown attribute": attributes("all_reduce", scale=0.5),
    "no peer": attributes("recv", peer=None),
    "no dimension": nodes("all_reduce", op="all_gather", attrs=GROUP),
    "a negative dimension": nodes("all_reduce", op="chunk", attrs={"dim": -1, **GROUP}),
    "a dimension too many": nodes("all_reduce", op="all_gather", attrs={"dim": 2, **GROUP}),
    "a root outside": nodes("all_reduce", op="broadcast", attrs={"root": 2, **GROUP}),
    "a gather over replicas of two": nodes("all_reduce", op="all_gather", attrs={"dim": 0, "replicas": True, **GROUP}),
    "a broadcast over replicas": nodes("all_reduce", op="broadcast", attrs={"root": 0, "replicas": True, **GROUP}),
    "shards of nothing": replace(RIGHT, shard_axes=(("nothing", 0),)),
    "shards of an input": replace(RIGHT, shard_axes=((INPUTS[0], 0),)),
    "shards of a loss": replace(RIGHT, shard_axes=(("loss", 0),)),
    "shards along no axis": replace(RIGHT, shard_axes=((WEIGHTS[0], 2),)),
    "a sum of truth values": of_type("bool"),
    "a sum of truth values that is not said": of_type("bool", reduce=None),
    "a mean of truth values": of_type("bool", reduce="avg"),
    "a mean of integers": of_type("int64", reduce="mean"),
    "the greatest of complex numbers": of_type("complex64", reduce="max"),
    "an accumulator of narrow integers": accumulating("int8"),
    "an accumulator of truth values": accumulating("bool"),
    "shards said twice": replace(RIGHT, shard_axes=((WEIGHTS[0], 0), (WEIGHTS[0], 0))),
}


def test_a_right_plan_is_well_formed():
    require_form(RIGHT)
    require_form(replace(RIGHT, shard_axes=((WEIGHTS[0], 0),)))
    require_form(nodes("all_reduce", op="all_gather", attrs={"dim": 0, "replicas": True, "ranks": (0,)}))
    require_form(of_type("bool", reduce="max"))
    require_form(of_type("int8"))
    require_form(of_type("complex64", reduce="avg"))
    require_form(accumulating("int64"))


@pytest.mark.parametrize("wrong", FAULTS.values(), ids=FAULTS)
def test_what_makes_no_sense_is_refused(wrong):
    with pytest.raises(PlanFileError) as caught:
        require_form(wrong)
    assert caught.value.problem


def test_who_puts_nothing_in_is_told_how_to_say_so():
    with pytest.raises(PlanFileError, match=r"names none it does not have, as in y = broadcast\(\)"):
        require_form(nodes("all_reduce", op="broadcast", inputs=(ABSENT,), attrs={"root": 0, **GROUP}))
