"""Each kind of fault in a generated plan gets a repair, and the repaired plan is proved; right plans get none."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from tests.builders import answer, rewrite, with_attrs
from tests.repair.make import first, pair, repaired
from verdict.graph import ABSENT, ONCE_A_STEP, Call, Node, Plan

pytestmark = pytest.mark.usefixtures("shared_proofs")

Fault = Callable[[Plan], Plan]


def exchanged(plan: Plan, changes: dict[tuple[int, Node], tuple[Node, ...]]) -> Plan:
    """The plan with these nodes, by device, exchanged for others."""
    return rewrite(plan, lambda device, node: changes.get((device, node), (node,)))


def on(plan: Plan, op: str, devices: tuple[int, ...], change: Callable[[Node], tuple[Node, ...]]) -> Plan:
    """The first node of an operator on each of these devices, changed."""
    return exchanged(plan, {(device, first(plan, op, device)): change(first(plan, op, device)) for device in devices})


def copy(node: Node) -> tuple[Node, ...]:
    return (node._replace(op="identity", attrs=()),)


def no_forward_all_reduce(plan: Plan) -> Plan:
    return on(plan, "all_reduce", (2, 3), copy)


def narrowed_all_reduce(plan: Plan) -> Plan:
    plan = on(plan, "all_reduce", (2,), lambda node: (with_attrs(node, ranks=(2,)),))
    return on(plan, "all_reduce", (3,), lambda node: (with_attrs(node, ranks=(3,)),))


def left_alone(plan: Plan) -> Plan:
    return on(plan, "all_reduce", (2,), lambda node: (with_attrs(node, ranks=(2,)),))


def dropped_all_reduce(plan: Plan) -> Plan:
    return on(plan, "all_reduce", (2, 3), lambda node: ())


def doubled_all_reduce(plan: Plan) -> Plan:
    def twice(node: Node) -> tuple[Node, ...]:
        fresh = len(plan.tensors) + dict(node.attrs)["ranks"].index(2)
        return node._replace(outputs=(fresh,)), node._replace(inputs=(fresh,))

    tensors = (*plan.tensors, plan.tensors[first(plan, "all_reduce", 2).outputs[0]])
    return on(replace(plan, tensors=tensors), "all_reduce", (2, 3), twice)


def no_reducers(plan: Plan) -> Plan:
    made = {n.outputs[0]: n.inputs[0] for s in plan.segments for n in s.nodes if dict(n.attrs).get("replicas")}
    kept = tuple(held._replace(tensor=made[held.tensor]) for held in plan.gradients)
    programs = tuple(tuple(call for call in program if call.microbatch != ONCE_A_STEP) for program in plan.programs)
    return replace(plan, gradients=kept, programs=programs)


def added_twice(plan: Plan) -> Plan:
    return on(plan, "linear.grad", (0,), lambda node: (node, node._replace(outputs=(ABSENT, *node.outputs[1:]))))


def no_gradient(plan: Plan) -> Plan:
    return on(plan, "linear.grad", (3,), lambda node: (node._replace(outputs=(*node.outputs[:-1], ABSENT)),))


def crossed_microbatch(plan: Plan) -> Plan:
    program = plan.programs[2]
    node = first(plan, "linear", 2)
    at = next(k for k, call in enumerate(program) if call.microbatch == 1 and node in plan.segments[call.segment].nodes)
    call = program[at]._replace(crossed=((node.inputs[0], 0),))
    return with_program(plan, 2, (*program[:at], call, *program[at + 1 :]))


def with_program(plan: Plan, device: int, program: tuple[Call, ...]) -> Plan:
    return replace(plan, programs=(*plan.programs[:device], program, *plan.programs[device + 1 :]))


def one_backward_less(plan: Plan) -> Plan:
    kept = (c for c in plan.programs[3] if (plan.segments[c.segment].name, c.microbatch) != ("backward", 1))
    return with_program(plan, 3, tuple(kept))


def one_backward_more(plan: Plan) -> Plan:
    again = next(c for c in plan.programs[3] if (plan.segments[c.segment].name, c.microbatch) == ("backward", 1))
    program = plan.programs[3]
    at = program.index(again)
    return with_program(plan, 3, (*program[:at], again, *program[at:]))


def early_reducer(plan: Plan) -> Plan:
    program = plan.programs[0]
    at = next(k for k, call in enumerate(program) if plan.segments[call.segment].name == "backward")
    return with_program(plan, 0, (*program[: at + 1], program[-1], *program[at + 1 : -1]))


def crossed_peers(plan: Plan) -> Plan:
    plan = on(plan, "send", (0, 1), lambda node: (with_attrs(node, peer=5 - dict(node.attrs)["peer"]),))
    return on(plan, "recv", (2, 3), lambda node: (with_attrs(node, peer=1 - dict(node.attrs)["peer"]),))


def wrong_group(plan: Plan) -> Plan:
    return on(plan, "all_reduce", (3,), lambda node: (with_attrs(node, ranks=(2,)),))


def wrong_collective(plan: Plan) -> Plan:
    change = {"reduce": None, "dim": 1}
    return on(plan, "all_reduce", (3,), lambda node: (with_attrs(node._replace(op="all_gather"), **change),))


def gather_in_place(plan: Plan) -> Plan:
    def gather(node: Node) -> tuple[Node, ...]:
        return (with_attrs(node._replace(op="all_gather"), reduce=None, dim=1),)

    return on(plan, "all_reduce", (2, 3), gather)


def skipped_relu(plan: Plan) -> Plan:
    for device in (2, 3):
        relu = first(plan, "relu", device)
        plan = on(plan, "sum", (device,), lambda node: (node._replace(inputs=relu.inputs),))  # noqa: B023
    return plan


FAULTS: tuple[tuple[Fault, str, str], ...] = (
    (no_forward_all_reduce, "missing-reduction", "all_reduce(sum) over ranks 2, 3 in place of"),
    (narrowed_all_reduce, "missing-reduction", "all_reduce(sum) over ranks 2, 3 in place of"),
    (dropped_all_reduce, "broken-data-flow", "all_reduce(sum) over ranks 2, 3 after"),
    (no_reducers, "missing-reduction", "all_reduce(sum) over the replicas of the gradient of"),
    (doubled_all_reduce, "reduced-twice", "its input is whole"),
    (added_twice, "reduced-twice", "does not add to layers.0.weight.grad"),
    (no_gradient, "gradient-missing", "layers.1.weight.grad"),
    (crossed_microbatch, "wrong-input", "every segment reads its own microbatch"),
    (one_backward_less, "microbatch-missing", "backward for microbatch 1 too"),
    (one_backward_more, "microbatch-duplicated", "backward for microbatch 1 once"),
    (early_reducer, "early-reduction", ""),
    (crossed_peers, "wrong-slice", "every receive from the rank that sends its region"),
    (left_alone, "deadlock", "over ranks 2, 3"),
    (wrong_group, "wrong-group", "over ranks 2, 3"),
    (wrong_collective, "wrong-collective", "all_reduce"),
    (gather_in_place, "wrong-group", "all_reduce over ranks 2, 3 in place of all_gather"),
    (skipped_relu, "wrong-input", "relu layers.1.out"),
)
"""A fault, the code of the finding that the repair is for, and words of its sentence."""


@pytest.mark.parametrize(("fault", "code", "words"), FAULTS, ids=lambda value: getattr(value, "__name__", ""))
def test_a_fault_gets_a_repair_that_is_proved(fault: Fault, code: str, words: str) -> None:
    single, right = pair()
    wrong = fault(right)
    assert answer(single, wrong) == "REFUTED"
    proposals = repaired(single, wrong)
    assert proposals
    assert all(proposal.proved for proposal in proposals)
    assert code in {code for proposal in proposals for code in proposal.codes}
    assert any(words in proposal.sentence for proposal in proposals), [p.sentence for p in proposals]
    assert proposals[-1].sentence.endswith("every obligation holds")
    assert answer(single, proposals[0].plan) == "PROVED"


@pytest.mark.parametrize("model", ["mlp", "llama3"])
def test_a_right_plan_gets_no_repair(model: str) -> None:
    single, right = pair(model)
    assert answer(single, right) == "PROVED"
    assert repaired(single, right) == ()


def exchanged_inputs(plan: Plan) -> Plan:
    def exchange(node: Node) -> tuple[Node, ...]:
        return (node._replace(inputs=(node.inputs[1], node.inputs[0], *node.inputs[2:])),)

    return on(plan, "apply_rotary_emb.grad", (2,), exchange)


def other_constant(plan: Plan) -> Plan:
    return on(plan, "div", (1,), lambda node: (with_attrs(node, other=7.0),))


def other_rows(plan: Plan) -> Plan:
    return on(plan, "embedding", (1,), lambda node: (with_attrs(node, start=0, stop=4),))


def narrowed_gradient(plan: Plan) -> Plan:
    """The gradient that enters the first layer of the second stage is not reduced."""
    backward = next(s for s in plan.segments if s.name == "backward" and s.device == 2)
    wrong = next(node for node in backward.nodes if node.op == "all_reduce")
    return rewrite(plan, lambda device, node: copy(node) if node.name == wrong.name and node.op == wrong.op else node)


@pytest.mark.parametrize(
    ("fault", "code", "words"),
    [
        (exchanged_inputs, "wrong-input", "exchange inputs 0 and 1 of apply_rotary_emb.grad"),
        (other_constant, "not-equivalent", "instead of 7.0 in div"),
        (other_rows, "not-equivalent", "start 4 instead of 0 in embedding"),
        (narrowed_gradient, "missing-reduction", "all_reduce(sum) over ranks 2, 3 in place of"),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_a_fault_of_a_transformer_gets_a_repair_that_is_proved(fault: Fault, code: str, words: str) -> None:
    single, right = pair("llama3")
    proposals = repaired(single, fault(right))
    assert [proposal.proved for proposal in proposals] == [True]
    assert code in proposals[0].codes
    assert words in proposals[0].sentence
    assert answer(single, proposals[0].plan) == "PROVED"


def test_two_independent_faults_are_both_repaired_and_proved_together() -> None:
    single, right = pair("llama3")
    proposals = repaired(single, other_constant(narrowed_gradient(right)))
    assert [proposal.proved for proposal in proposals] == [True, True]
    assert {code for proposal in proposals for code in proposal.codes} == {"missing-reduction", "not-equivalent"}
    assert len({id(proposal.plan) for proposal in proposals}) == 1
    assert answer(single, proposals[0].plan) == "PROVED"


def test_a_repair_beside_a_fault_without_one_says_that_others_remain() -> None:
    single, right = pair("llama3")
    norm = first(right, "pow", 2)
    squares = on(right, "pow", (2, 3), lambda node: (node._replace(op="silu", attrs=()),))
    assert norm.op == "pow"
    proposals = repaired(single, other_constant(squares))
    assert [proposal.proved for proposal in proposals] in ([], [False])
    assert all("others remain" in proposal.sentence for proposal in proposals)


def test_a_batch_that_does_not_match_gets_no_repair() -> None:
    single, right = pair()
    assert repaired(single, replace(right, replicas=4, mesh=())) == ()


def test_no_attempt_no_repair() -> None:
    single, right = pair()
    assert repaired(single, no_forward_all_reduce(right), attempts=0) == ()
