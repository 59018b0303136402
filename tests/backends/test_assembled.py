"""Recordings of ranks whose programs differ: which of their tensors are one."""

from verdict.backends.torch.assemble import plan_of
from verdict.backends.torch.trace import Bound, Step, Trace, Value

ROWS = Value((4, 2), "float32")


def recording(rank, *steps):
    """What a rank makes of one input, step by step; each reads what the one before made. steps: operators and names."""
    made = tuple(Step(op, (number,), (number + 1,), (), name) for number, (op, name) in enumerate(steps))
    bound = (
        Bound("input", "x", 0, ROWS.shape, ((0, 4), (0, 2))),
        Bound("output", "y", len(steps), ROWS.shape, ((0, 4), (0, 2))),
    )
    return Trace(rank, 2, (ROWS,) * (len(steps) + 1), made, bound)


def made_by(plan, rank):
    """What the nodes of a rank make, by their operators and names, in order."""
    nodes = plan.segments[rank].nodes
    return [(node.op, node.name, plan.tensors[node.outputs[0]].logical) for node in nodes if node.op != "dataloader"]


def test_tensors_of_ranks_are_one_where_the_same_line_makes_them():
    one = recording(0, ("aten.exp", "a.py:1"), ("aten.exp", "a.py:2"), ("aten.neg", "a.py:3"), ("aten.exp", "a.py:4"))
    other = recording(1, ("aten.exp", "a.py:2"), ("aten.neg", "a.py:3"), ("aten.exp", "a.py:4"))
    plan = plan_of([one, other], "two ranks")
    assert made_by(plan, 0)[1:] == made_by(plan, 1)
    assert len({name for name, *_ in plan.logicals}) == len(plan.logicals)


def test_tensors_of_ranks_are_others_where_other_lines_make_them():
    one = recording(0, ("aten.exp", "a.py:1"), ("aten.exp", "a.py:2"), ("aten.neg", "a.py:3"))
    other = recording(1, ("aten.exp", "a.py:9"), ("aten.exp", "a.py:2"), ("aten.neg", "a.py:3"))
    plan = plan_of([one, other], "two ranks")
    assert made_by(plan, 0)[0][2] != made_by(plan, 1)[0][2]
    assert made_by(plan, 0)[1:] == made_by(plan, 1)[1:]
    assert len({name for name, *_ in plan.logicals}) == len(plan.logicals)


def test_what_a_line_makes_again_and_again_is_told_apart():
    steps = [("aten.exp", "a.py:1")] * 3 + [("aten.neg", "a.py:2")]
    plan = plan_of([recording(0, *steps), recording(1, *steps)], "two ranks")
    assert made_by(plan, 0) == made_by(plan, 1)
    assert len({logical for *_, logical in made_by(plan, 0)}) == 4
