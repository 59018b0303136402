"""Following the elements of a flow from step to step: constants, moves, and what a step computes anew."""

from collections.abc import Mapping, Sequence
from fractions import Fraction

import numpy as np

from verdict.graph import ABSENT
from verdict.ops import RULES, Array
from verdict.solver import Term, Terms, constants
from verdict.solver.term import Kind as TermKind
from verdict.sweep.claim import Cone
from verdict.sweep.elements import Elements, Ids, Kind, of_numbers
from verdict.sweep.flow import CANNOT, GRAD, Flow, Step, apply
from verdict.sweep.moves import Moves
from verdict.sweep.prove import Execution
from verdict.sweep.trace import Keys, Trace, Traces

STEADY = (0.0, 1.0, float("-inf"))
"""Values that, on all seeds the same, are looked at as constants."""


class Follower:
    """What following both flows shares: the elements, the moves that are known, the keys of operators."""

    def __init__(self, elements: Elements, keys: Keys) -> None:
        self.elements, self.keys = elements, keys
        self.moves = Moves()

    def outputs(self, step: Step, reads: tuple[Ids, ...]) -> tuple[Ids | None, ...] | None:
        """The elements of the outputs of a step that computes nothing new; None for one that does."""
        moved = self.moves.of(self.keys.of(step), step, reads, self.elements)
        return self._constants(step, reads) if moved is None else moved

    def _constants(self, step: Step, reads: tuple[Ids, ...]) -> tuple[Ids | None, ...] | None:
        values = [self.elements.constants(ids) for ids in reads]
        inputs = []
        for ids, numbers in zip(reads, values, strict=True):
            if numbers is None:
                return None
            array = np.empty(ids.size, dtype=object)
            array[:] = numbers
            inputs.append(array.reshape(ids.shape))
        try:
            made = apply(step, inputs)
        except CANNOT:
            return None
        found = [None if array is None else of_numbers(self.elements, np.asarray(array, object)) for array in made]
        if any(ids is None and array is not None for ids, array in zip(found, made, strict=True)):
            return None
        return tuple(found)


def follow_single(flow: Flow, given: Mapping[int, Ids], values: list[list[Array | None]], follower: Follower) -> Trace:
    """The elements of the single-device flow. given: those of each given logical tensor. values: of each seed."""
    trace = Trace(flow, [None] * flow.values)
    take_given(trace, given)
    for number, step in enumerate(flow.steps):
        reads = tuple(present(trace, value) for value in step.inputs)
        known = follower.outputs(step, reads)
        made: list[Ids | None] = []
        for position, value in enumerate(step.outputs):
            array = values[0][value] if value != ABSENT else None
            fresh = array is not None and known is None
            shape = array.shape if array is not None else ()
            made.append(follower.elements.block(Kind.SINGLE, number, position, shape) if fresh else None)
        trace.reads.append(reads)
        trace.made.append(tuple(made))
        for position, value in enumerate(step.outputs):
            if value != ABSENT:
                trace.ids[value] = known[position] if known is not None else made[position]
        if known is None:
            _settle(trace, number, values, follower)
    return trace


def take_given(trace: Trace, given: Mapping[int, Ids]) -> None:
    """The elements of what a plan is given."""
    for item in trace.flow.given:
        ids = given[item.logical]
        for slices in item.slices:
            ids = ids[slices]
        trace.ids[item.value] = ids


def present(trace: Trace, value: int) -> Ids:
    """The elements of a value that a step reads."""
    ids = trace.ids[value]
    if ids is None:
        raise ValueError("nothing is made where an input is wanted")
    return ids


def _settle(trace: Trace, number: int, values: list[list[Array | None]], follower: Follower) -> None:
    """What a step makes that is constant for all values (the weight of a masked position) is that constant.

    It takes a constant to make one, of what it reads.
    """
    step = trace.flow.steps[number]
    reads = [block for ids in trace.reads[number] for block in follower.elements.blocks_of(ids)]
    if all(block.kind is not Kind.CONSTANT for block in reads):
        return
    for position, value in enumerate(step.outputs):
        ids = trace.ids[value] if value != ABSENT else None
        if ids is None:
            continue
        seeds = [seed[value] for seed in values]
        steady = np.zeros(ids.shape, dtype=bool)
        for constant in STEADY:
            steady |= np.logical_and.reduce([np.asarray(array) == constant for array in seeds])
        if not steady.any():
            continue
        terms = _terms_of(trace, number, position, follower)
        if terms is None:
            return
        settled = ids.copy()
        places = list(zip(*np.nonzero(steady), strict=True))
        due = [float(np.asarray(seeds[0])[place]) for place in places]
        for place, constant, holds in zip(places, due, _are([terms[place] for place in places], due), strict=True):
            if holds:
                settled[place] = follower.elements.constant(_exactly(constant))
        trace.ids[value] = settled


def _terms_of(trace: Trace, number: int, position: int, follower: Follower) -> Array | None:
    traces = Traces(follower.elements, trace, trace, {}, follower.keys)
    try:
        return Execution(traces, Cone((), (number,)), Terms()).step(Kind.SINGLE, number)[position]
    except CANNOT:
        return None


def _exactly(value: float) -> Fraction | float:
    return value if value == float("-inf") else Fraction(value)


def _are(terms: Sequence[object], values: Sequence[float]) -> list[bool]:
    """Whether what was executed on terms is that value for all values of the variables."""
    found = [_is_number(term, value) for term, value in zip(terms, values, strict=True)]
    open_ = [
        (k, term)
        for k, term in enumerate(terms)
        if isinstance(term, Term) and not found[k] and values[k] != float("-inf")
    ]
    proved = constants([term for _, term in open_], [Fraction(values[k]) for k, _ in open_])
    for (k, _), holds in zip(open_, proved, strict=True):
        found[k] = holds
    return found


def _is_number(term: object, value: float) -> bool:
    if isinstance(term, Term):
        return term.kind is TermKind.MINUS_INFINITY and value == float("-inf")
    return isinstance(term, int | Fraction | float) and float(term) == value


def choices_of(flow: Flow, trace: Trace, values: list[Array | None]) -> dict[int, int]:
    """For given logical tensors of integers that name elements: of how many."""
    found: dict[int, int] = {}
    owners = {item.value: item.logical for item in flow.given}
    for step in flow.steps:
        rule = RULES.get(step.op)
        if rule is None or step.op.endswith(GRAD):
            continue
        if not rule.indices:
            if len(step.inputs) == 1 and step.inputs[0] in owners and len(step.outputs) == 1:
                owners[step.outputs[0]] = owners[step.inputs[0]]
            continue
        shapes = [array.shape for array in (values[value] for value in step.inputs) if array is not None]
        sizes = {atom.name: atom.size for atom in rule.axes(shapes, step.attrs).atoms}
        for position, atom in rule.indices.items():
            if position < len(step.inputs) and step.inputs[position] in owners and atom in sizes:
                logical = owners[step.inputs[position]]
                found[logical] = min(found.get(logical, sizes[atom]), sizes[atom])
    return found
