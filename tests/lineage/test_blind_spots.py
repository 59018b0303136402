"""Faults that a predecessor accepted, put into a real plan one by one: none of them may be proved.

The plan has two replicas, two pipeline stages (ranks 0, 1 and ranks 2, 3), two tensor ranks, two microbatches.
"""

from dataclasses import replace
from functools import cache

import pytest

from tests.builders import FAST, ask, attrs_of, codes, rewrite_where, with_attrs
from tests.sampled import WHOLE
from tests.shared import HERE, PLANS, REASON
from verdict.backends import load
from verdict.graph import ONCE_A_STEP, Call, Plan
from verdict.options import Options
from verdict.phases import Query, certify, walk

pytestmark = [pytest.mark.skipif(not HERE, reason=REASON), pytest.mark.usefixtures("shared_proofs")]
FAMILY = PLANS / "llama3"
SINGLE, PARALLEL = "dp1_pp1_tp1_nm1", "dp2_pp2_tp2_nm2"


@cache
def plan(layout: str) -> Plan:
    return load(str(FAMILY / f"llama3_default_{layout}_gbs512_ly2_h32_hi4096_sq128.pkl.xz"))


def in_microbatches(node) -> bool:
    return not attrs_of(node).get("replicas")


def narrowed_on_one_rank(right):
    return rewrite_where(right, "all_reduce", lambda node: with_attrs(node, ranks=(0,)), device=0, nth=0)


def narrowed_everywhere(right):
    for device in range(right.devices):
        right = rewrite_where(
            right,
            "all_reduce",
            lambda node, own=(device,): with_attrs(node, ranks=own) if in_microbatches(node) else node,
            device=device,
        )
    return right


def gathered_from_foreign_ranks(right):
    return rewrite_where(right, "all_gather", lambda node: with_attrs(node, ranks=(2, 3)), device=0, nth=0)


def chunks_reversed_on_rank_0(right):
    return rewrite_where(right, "chunk", lambda node: with_attrs(node, ranks=(1, 0)), device=0)


def reducer_on_the_wrong_device(right):
    (reducer,) = [call.segment for call in right.programs[0] if call.microbatch == ONCE_A_STEP]
    moved = right.segments[reducer]._replace(device=1)
    segments = (*right.segments[:reducer], moved, *right.segments[reducer + 1 :])
    first, second, *rest = right.programs
    programs = (first[:-1], (*second, Call(reducer, ONCE_A_STEP)), *rest)
    return replace(right, segments=segments, programs=programs)


def reducer_drops_a_weight(right):
    return rewrite_where(right, "all_reduce", lambda node: node if in_microbatches(node) else None, device=0)


def local_gradients(right, devices):
    """Without the reducers of `devices`: what the backward passes add up is declared instead."""
    reduced = {}

    def forget(node):
        if in_microbatches(node):
            return node
        reduced[node.outputs[0]] = node.inputs[0]
        return None

    for device in devices:
        right = rewrite_where(right, "all_reduce", forget, device=device)
    held = tuple(
        held._replace(tensor=reduced.get(held.tensor, held.tensor)) if held.device in devices else held
        for held in right.gradients
    )
    return replace(right, gradients=held)


def without_reducers_of_device_0(right):
    return local_gradients(right, (0,))


def without_reducers(right):
    return local_gradients(right, range(right.devices))


def other_vocabulary(right):
    return rewrite_where(right, "embedding", lambda node: with_attrs(node, start=100, stop=200))


def shifted_vocabulary(right):
    return rewrite_where(right, "embedding", lambda node: with_attrs(node, start=1, stop=51201))


def transposed_other_shape(right):
    return rewrite_where(right, "transpose", lambda node: with_attrs(node, dim0=2, dim1=3), device=0, nth=0)


def transposed_same_shape(right):
    """(128, 32, 128, 128): batch, sequence and head width are equal, so no full shape tells the axes apart."""

    def other(node):
        return with_attrs(node, dim0=0, dim1=3) if attrs_of(node)["dim0"] == 2 else node

    return rewrite_where(right, "transpose", other)


def swap_calls(right, device, first, second):
    """Exchange the adapters `first` and `second` in all microbatches of a device."""
    one, two = (_main(right, device, name) for name in (first, second))
    other = {one: two, two: one}
    program = tuple(call._replace(segment=other.get(call.segment, call.segment)) for call in right.programs[device])
    return with_program(right, device, program)


def with_program(right, device, program):
    return replace(right, programs=(*right.programs[:device], program, *right.programs[device + 1 :]))


def receives_of_one_shape_swapped(right):
    """An activation and its cast to another format."""
    return swap_calls(right, 2, "adapter 502", "adapter 532")


def receives_of_other_shapes_swapped(right):
    return swap_calls(right, 2, "adapter 397", "adapter 432")


def microbatches_in_another_order_on_rank_3(right):
    other = {0: 1, 1: 0, ONCE_A_STEP: ONCE_A_STEP}
    return with_program(right, 3, tuple(c._replace(microbatch=other[c.microbatch]) for c in right.programs[3]))


def _main(right, device, name):
    return next(k for k, s in enumerate(right.segments) if s.device == device and s.name.startswith(name))


def fed_with_another_microbatch(right):
    device = 2
    main = _main(right, device, "segment 270")
    received = right.segments[main].nodes[0].inputs[0]
    program = tuple(
        call._replace(crossed=((received, 0),)) if (call.segment, call.microbatch) == (main, 1) else call
        for call in right.programs[device]
    )
    return with_program(right, device, program)


def last_backward_missing(right):
    main = _main(right, 0, "segment 269")
    program = tuple(call for call in right.programs[0] if (call.segment, call.microbatch) != (main, 1))
    return with_program(right, 0, program)


def duplicate_node(right):
    return rewrite_where(right, "pow", lambda node: (node, node), device=2, nth=0)


def loss_of_another_activation(right):
    (node,) = [n for n in right.segments[_main(right, 2, "segment 270")].nodes if n.op == "sum"]
    before = {n.outputs[0]: n for segment in right.segments for n in segment.nodes if len(n.outputs) == 1}
    head = before[before[node.inputs[0]].inputs[0]]
    assert head.op == "linear"
    return rewrite_where(right, "sum", lambda node: node._replace(inputs=head.inputs[:1]))


def loss_is_a_mean(right):
    return rewrite_where(right, "sum", lambda node: node._replace(op="mean"))


FAULTS = (
    narrowed_on_one_rank,
    narrowed_everywhere,
    gathered_from_foreign_ranks,
    chunks_reversed_on_rank_0,
    reducer_on_the_wrong_device,
    reducer_drops_a_weight,
    without_reducers_of_device_0,
    without_reducers,
    other_vocabulary,
    shifted_vocabulary,
    transposed_other_shape,
    transposed_same_shape,
    receives_of_other_shapes_swapped,
    microbatches_in_another_order_on_rank_3,
    fed_with_another_microbatch,
    last_backward_missing,
    duplicate_node,
    loss_of_another_activation,
    loss_is_a_mean,
)
HARMLESS = (receives_of_one_shape_swapped,)
"""Over the real numbers no value changes. To the walk it is a fault; numbers say otherwise, and the sweep proves it."""
EXPECTED = {
    chunks_reversed_on_rank_0: "wrong-order",
    reducer_drops_a_weight: "gradient-missing",
    without_reducers: "missing-reduction",
    transposed_other_shape: "shape-mismatch",
    transposed_same_shape: "wrong-constant",
    other_vocabulary: "shape-mismatch",
    loss_is_a_mean: "mean-instead-of-sum",
    narrowed_on_one_rank: "wrong-group",
    gathered_from_foreign_ranks: "wrong-group",
    without_reducers_of_device_0: "missing-reduction",
    receives_of_other_shapes_swapped: "wrong-order",
    microbatches_in_another_order_on_rank_3: "wrong-order",
    fed_with_another_microbatch: "wrong-input",
    last_backward_missing: "microbatch-missing",
    duplicate_node: "broken-data-flow",
    loss_of_another_activation: "wrong-input",
}


def test_the_plan_itself_is_proved():
    assert ask(plan(SINGLE), plan(PARALLEL)).verdict.name == "PROVED"


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.__name__)
def test_no_fault_is_proved(fault):
    report = ask(plan(SINGLE), fault(plan(PARALLEL)), causes=fault in EXPECTED)
    found = codes(report)
    assert report.verdict.name != "PROVED"
    assert fault not in EXPECTED or EXPECTED[fault] in found


@pytest.mark.parametrize("fault", HARMLESS, ids=lambda fault: fault.__name__)
def test_what_changes_no_value_is_not_refuted(fault):
    """The sweep proves it, which takes half a minute: the suite asks up to the numbers alone."""
    query = Query(plan(SINGLE), fault(plan(PARALLEL)), Options(solver=FAST))
    examined = walk(query)
    assert examined.report.verdict.name == "REFUTED"
    assert certify(query, examined).report.verdict.name == "UNKNOWN"
    assert not WHOLE or ask(query.single, query.parallel).verdict.name == "PROVED"
