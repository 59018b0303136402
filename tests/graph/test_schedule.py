"""The schedule: groups, order, peers and deadlock, run to the end for all microbatches."""

from dataclasses import replace

import pytest

from tests.builders import ONCE, Builder, mlp, rewrite_where, with_attrs
from verdict.graph import INPUT, Call, Plan
from verdict.graph.lockstep import Handlers, Step, lockstep
from verdict.graph.schedule import check_schedule


def group(devices=2, op="all_reduce", members=None, microbatches=1, **attrs):
    """Every device puts x into one collective over all of them; `members` gives a device other attributes."""
    b = Builder(devices, 1, microbatches)
    for device in range(devices):
        x = b.tensor("x", (4, 4), INPUT)
        own = {"ranks": tuple(range(devices)), **attrs, **(members or {}).get(device, {})}
        name = own.pop("op", op)
        if own.pop("there", True):
            b.op(device, name, [x], [b.tensor(f"y{device}", (4, 4))], **own)
    return b.plan()


def talk(*programs, shapes=None):
    """Devices that send and receive one tensor a word: ">1 a" sends a to 1, "<0 b" receives b from 0."""
    b = Builder(len(programs))
    for device, words in enumerate(programs):
        for word in words:
            direction, peer, name = word[0], int(word[1]), word[3:]
            tensor = b.tensor(name, (shapes or {}).get(name, (2, 2)))
            if direction == ">":
                b.op(device, "send", [tensor], [], peer=peer)
            else:
                b.op(device, "recv", [], [tensor], peer=peer)
    return b.plan()


def codes(plan: Plan) -> set[str]:
    return {finding.code for finding in check_schedule(plan)}


@pytest.mark.parametrize(
    "plan",
    [
        group(),
        group(3, "all_gather", dim=0),
        group(4, "reduce_scatter", dim=1, channel=7),
        group(2, microbatches=3),
        talk([">1 a", "<1 b"], ["<0 a", ">0 b"]),
        talk([">1 a", ">1 b", "<1 c"], ["<0 a", "<0 b", ">0 c"]),
        mlp(dp=2, tp=2, pp=2, nm=2),
    ],
)
def test_right_schedules_are_silent(plan):
    assert check_schedule(plan) == ()


@pytest.mark.parametrize(
    ("plan", "code"),
    [
        (group(3, members={1: {"there": False}}), "deadlock"),
        (group(2, channel=1, members={1: {"there": False}}), "wrong-group"),
        (group(2, members={0: {"ranks": (1,)}, 1: {"ranks": (1,)}}), "wrong-group"),
        (group(3, members={0: {"ranks": (0,)}}), "deadlock"),
        (group(2, members={1: {"ranks": (1, 0)}}), "wrong-group"),
        (group(2, members={1: {"op": "all_gather", "dim": 0}}), "wrong-collective"),
        (group(2, "all_gather", dim=0, members={1: {"dim": 1}}), "wrong-collective"),
        (group(2, members={1: {"reduce": "avg"}}), "wrong-collective"),
        (group(2, members={1: {"replicas": True}}), "wrong-collective"),
        (group(2, "broadcast", root=0, members={1: {"root": 1}}), "wrong-collective"),
        (group(2, "chunk", dim=0, members={0: {"ranks": (1, 2)}}), "wrong-group"),
        (talk([">1 a"], []), "send-without-receive"),
        (talk([], ["<0 a"]), "receive-without-send"),
        (talk(["<1 b", ">1 a"], ["<0 a", ">0 b"]), "deadlock"),
        (talk([">1 a", ">1 b"], ["<0 b", "<0 a"], shapes={"b": (3, 3)}), "shape-mismatch"),
    ],
)
def test_wrong_schedules_are_told_apart(plan, code):
    assert code in codes(plan)


def test_two_ranks_in_two_orders_meet_in_the_wrong_collective():
    def two(order):
        b = Builder(2)
        for device in (0, 1):
            x = b.tensor("x", (4, 4), INPUT)
            for step in order if device else ("all_reduce", "all_gather"):
                dim = {"dim": 0} if step == "all_gather" else {}
                b.op(device, step, [x], [b.tensor(f"{step}{device}", (4, 4))], ranks=(0, 1), **dim)
        return b.plan()

    assert codes(two(("all_reduce", "all_gather"))) == set()
    assert codes(two(("all_gather", "all_reduce"))) == {"wrong-collective"}


def reducing(forward, backward, last="all_reduce"):
    """Rank 0 reduces three times in one segment; rank 1 in two, so many times in each."""
    b = Builder(2)
    for device, phases in ((0, ["forward"] * 3), (1, ["forward"] * forward + ["backward"] * backward)):
        x = b.tensor("x", (2, 2), INPUT)
        for number, phase in enumerate(phases):
            op = last if (device, number) == (1, 2) else "all_reduce"
            dim = {"dim": 0} if op == "all_gather" else {}
            b.op(device, op, [x], [b.tensor(f"{number} on {device}", (2, 2))], phase, ranks=(0, 1), **dim)
    return b.plan()


@pytest.mark.parametrize("cut", [0, 1, 2, 3])
def test_collectives_that_follow_each_other_may_be_cut_into_segments_anywhere(cut):
    assert check_schedule(reducing(cut, 3 - cut)) == ()
    assert codes(reducing(cut, 3 - cut, "all_gather")) == {"wrong-collective"}


@pytest.mark.parametrize(("forward", "backward"), [(2, 0), (1, 1), (0, 2), (4, 0), (2, 2)])
def test_one_collective_too_few_or_too_many_is_seen_however_they_are_cut(forward, backward):
    assert codes(reducing(forward, backward)) == {"deadlock"}


def test_microbatches_in_another_order_on_one_rank():
    plan = mlp(tp=2, nm=2)
    first, second, *rest = plan.programs[1]
    wrong = replace(plan, programs=(plan.programs[0], (second, first, *rest)))
    assert "wrong-order" in codes(wrong)


def test_a_message_of_another_microbatch():
    plan = mlp(pp=2, nm=2)
    first, second, *rest = plan.programs[1]
    wrong = replace(plan, programs=(plan.programs[0], (second, first, *rest)))
    assert "wrong-order" in codes(wrong)


def test_partners_that_change_between_microbatches():
    """Rank 0 sends a then b; in microbatch 1 its two segments run the other way round. Both have one shape."""
    b = Builder(2, 1, 2)
    a, c = b.tensor("a", (2, 2), INPUT), b.tensor("c", (2, 2), INPUT)
    b.op(0, "send", [a], [], peer=1)
    b.op(0, "send", [c], [], "backward", peer=1)
    for name in ("p", "q"):
        b.op(1, "recv", [], [b.tensor(name, (2, 2))], peer=0)
    plan = b.plan()
    right = replace(plan, programs=((Call(0, 0), Call(1, 0), Call(0, 1), Call(1, 1)), plan.programs[1]))
    wrong = replace(plan, programs=((Call(0, 0), Call(1, 0), Call(1, 1), Call(0, 1)), plan.programs[1]))
    assert codes(right) == set()
    assert codes(wrong) == {"wrong-order"}


def test_all_that_is_stuck_is_one_finding_with_its_extent():
    plan = group(4, members={0: {"there": False}})
    (finding,) = check_schedule(plan)
    assert (finding.code, finding.extent) == ("deadlock", 3)


def test_a_reducer_once_a_step_does_not_meet_one_of_a_microbatch():
    b = Builder(2)
    for device, phase in ((0, "forward"), (1, ONCE)):
        x = b.tensor("x", (2, 2), INPUT)
        b.op(device, "all_reduce", [x], [b.tensor(f"y{device}", (2, 2))], phase, ranks=(0, 1))
    assert codes(b.plan()) == {"wrong-order"}


def test_narrowing_one_group_of_a_real_schedule_is_seen():
    plan = mlp(tp=2, pp=2, nm=2)
    wrong = rewrite_where(plan, "all_reduce", lambda node: with_attrs(node, ranks=(0,)), device=0, nth=0)
    assert check_schedule(plan) == ()
    assert codes(wrong) >= {"deadlock"}


def test_lockstep_delivers_in_order_and_counts_every_step():
    plan = talk([">1 a", ">1 b"], ["<0 a", "<0 b"])
    seen = []
    programs = [[Step(n, 0) for n in s.nodes] for d in (0, 1) for s in plan.segments if s.device == d and s.nodes]
    handlers = Handlers(
        local=lambda device, step: None,
        send=lambda device, step: step.node.inputs[0],
        receive=lambda device, step, value, sent: seen.append((value, sent.node.inputs[0])),
        meet=lambda members: None,
    )
    walk = lockstep(programs, handlers)
    assert walk == ((), ())
    assert seen == [(0, 0), (1, 1)]


def test_a_deadlock_names_the_circle_of_ranks_that_wait_for_each_other():
    around = [["<3 a"], ["<2 b", ">3 c"], ["<3 d", ">1 b"], ["<1 c", ">2 d", ">0 a"]]
    (finding,) = check_schedule(talk(*around))
    assert finding.code == "deadlock"
    assert finding.extent == 4
    assert finding.where == "recv b@recv on rank 1, microbatch 0"
    assert finding.notes == (
        "rank 1 waits at recv b@recv, microbatch 0, for rank 2",
        "rank 2 waits at recv d@recv, microbatch 0, for rank 3",
        "rank 3 waits at recv c@recv, microbatch 0, for rank 1",
    )


def test_a_rank_that_waits_for_one_that_has_ended_is_in_no_circle():
    (finding,) = check_schedule(group(4, members={0: {"there": False}}))
    assert finding.notes == ()
