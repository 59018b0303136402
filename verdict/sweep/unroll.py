"""Unrolling: from a plan to its flow, all ranks in lockstep, every microbatch, collectives as what they do to values.

The values of the interpreter are numbers of values of the flow; whatever is done to them is a step.
"""

from collections.abc import Mapping, Sequence
from math import prod
from types import MappingProxyType
from typing import Any

from verdict.graph import ABSENT, ONCE_A_STEP, Interval, Plan, Shape
from verdict.ops.domain import TRUTH
from verdict.ops.shaken import is_real
from verdict.ops.types import kind
from verdict.semantics import Binding, Machine, Operation, Rank, Site, Small
from verdict.sweep.flow import CAST, CONCATENATE, FILL, PIECE, REDUCTIONS, Flow, Given, Place, Step
from verdict.sweep.results import results

MOST_STEPS = 400_000
"""The most nodes of a plan, over all ranks and microbatches: ten thousands take minutes; beyond, nothing is swept."""

CONSTANT = Place(0, ONCE_A_STEP, "constant")


def steps_of(plan: Plan) -> int:
    """How many nodes all ranks run in all microbatches."""
    return plan.replicas * sum(len(plan.segments[call.segment].nodes) for program in plan.programs for call in program)


def elements_of(plan: Plan, small: Small) -> int:
    """How many elements all ranks make in all microbatches."""
    sizes = [prod(small.shape(tensor)) for tensor in range(len(plan.tensors))]
    each = [
        sum(sizes[tensor] for node in segment.nodes for tensor in node.outputs if tensor != ABSENT)
        for segment in plan.segments
    ]
    return plan.replicas * sum(each[call.segment] for program in plan.programs for call in program)


def unroll(
    plan: Plan, small: Small, binding: Binding, given: Sequence[Shape], axes: Mapping[int, int] = MappingProxyType({})
) -> Flow:
    """The flow of `plan` at small shapes. given: the shapes of the single-device plan's logical tensors there. axes: of
    outputs, as `column_axes` says.

    Raises Faulty where the plan cannot be run.
    """
    return unrolled(plan, small, binding, given, axes)[0]


def unrolled(
    plan: Plan, small: Small, binding: Binding, given: Sequence[Shape], axes: Mapping[int, int] = MappingProxyType({})
) -> tuple[Flow, Mapping[tuple[int, int], int]]:
    """The same, and the value of each tensor that a device of the first replica makes for its first microbatch."""
    steps = _Steps(plan)
    machine = Machine(plan, small, binding, dict(enumerate(given)), steps)
    machine.run()
    declared = results(machine, axes)
    kinds, elements = (frozenset(steps.truths), frozenset(steps.reals)), sum(map(prod, steps.shapes))
    flow = Flow(len(steps.shapes), tuple(steps.inputs), tuple(steps.steps), declared, *kinds, elements)
    ranks = [Rank(0, device) for device in range(plan.devices)]
    each = ((rank, {**machine.own.get((rank, 0), {}), **machine.once[rank]}) for rank in ranks)
    return flow, {(rank.device, tensor): value for rank, made in each for tensor, value in made.items()}


class _Steps:
    """Numbers of values as the domain of the interpreter. shapes: of all values. truths: those of truth values; reals:
    those of real numbers that operators make.
    """

    def __init__(self, plan: Plan) -> None:
        self.devices = plan.devices
        self.dtypes = [plan.logicals[tensor.logical].dtype for tensor in plan.tensors]
        self.truths: set[int] = set()
        self.reals: set[int] = set()
        self.shapes: list[Shape] = []
        self.inputs: list[Given] = []
        self.steps: list[Step] = []

    def given(self, logical: int, cuts: tuple[tuple[slice, ...], ...]) -> int:
        """A value that the flow is given: the last of the cuts is a region."""
        value = self._fresh(tuple(cut.stop - cut.start for cut in cuts[-1]))
        self.inputs.append(Given(value, logical, cuts))
        return value

    def fill(self, shape: Shape, number: int) -> int:
        """A constant."""
        return self._emit(FILL, (), {"shape": shape, "number": number}, CONSTANT, shape)

    def apply(
        self, operation: Operation, grads: Sequence[int], forward: Sequence[int], site: Site
    ) -> Sequence[int | None]:
        """One step, with a value for each output."""
        made = tuple(self._fresh(shape) for shape in operation.made)
        node, read = site.step.node, operation.read
        place = self._place(site)
        self.steps.append(Step(node.op, (*grads, *forward), made, operation.attrs, read.grads, place, node.attrs))
        outputs = zip(made, site.step.node.outputs, strict=False)
        self.reals.update(value for value, tensor in outputs if tensor != ABSENT and is_real(self.dtypes[tensor]))
        if not operation.read.is_gradient:
            written = zip(made, site.step.node.outputs, operation.casts, strict=True)
            self.truths.update(value for value, tensor, due in written if not due and self._holds_truths(tensor))
        return made

    def cast(self, value: int, dtype: str, site: Site) -> int:
        """A step of its own."""
        made = self._emit(CAST, (value,), {"dtype": dtype}, self._place(site), self.shapes[value])
        if kind(dtype) == TRUTH:
            self.truths.add(made)
        return made

    def reduce(self, values: Sequence[int], how: str, site: Site) -> int:
        """One step that reads all values."""
        return self._emit(REDUCTIONS[how], tuple(values), {}, self._place(site), self.shapes[values[0]])

    def piece(self, value: int, axis: int, interval: Interval, site: Site) -> int:
        """One step."""
        (start, stop), shape = interval, self.shapes[value]
        attrs = {"axis": axis, "start": start, "stop": stop}
        return self._emit(PIECE, (value,), attrs, self._place(site), (*shape[:axis], stop - start, *shape[axis + 1 :]))

    def join(self, values: Sequence[int], axis: int, site: Site) -> int:
        """One step that reads all values."""
        shape = self.shapes[values[0]]
        size = sum(self.shapes[value][axis] for value in values)
        made = (*shape[:axis], size, *shape[axis + 1 :])
        return self._emit(CONCATENATE, tuple(values), {"axis": axis}, self._place(site), made)

    def shape(self, value: int) -> Shape:
        """That of the value's array."""
        return self.shapes[value]

    def _holds_truths(self, tensor: int) -> bool:
        return tensor != ABSENT and kind(self.dtypes[tensor]) == TRUTH

    def _fresh(self, shape: Shape) -> int:
        self.shapes.append(shape)
        return len(self.shapes) - 1

    def _emit(self, op: str, inputs: tuple[int, ...], attrs: Mapping[str, Any], place: Place, shape: Shape) -> int:
        made = self._fresh(shape)
        self.steps.append(Step(op, inputs, (made,), attrs, 0, place))
        return made

    def _place(self, site: Site) -> Place:
        number = site.rank.replica * self.devices + site.rank.device
        return Place(number, site.step.microbatch, site.step.node.name)
