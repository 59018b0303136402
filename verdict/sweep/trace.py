"""Both flows as element numbers: which elements every step reads, and which it makes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from verdict.inputs import Domain
from verdict.ops import RULES
from verdict.ops.domain import TRUTH, Integers, of_type
from verdict.ops.kinds import is_infinite
from verdict.sweep.elements import Block, Elements, Ids, Kind
from verdict.sweep.flow import Flow, Step

COUNTS = Integers(1)
"""What counts something, and is not zero."""

Part = tuple[Kind, int, Ids]
"""Elements that one step makes, or that are given: of what kind, by which step or logical tensor, which ones."""


@dataclass(slots=True)
class Trace:
    """One flow. ids: the elements of each value, as far as it has come. reads: of each step, what it reads.

    made: of each step, for each output the numbers of what it computes (before any of them was found to be another).
    above: for each step, as bits, the single-device steps from which what it reads is computed.
    infinite: of the elements of the single-device flow, those that may be infinite. rising: of these, those that may
    be plus infinity. failing: of the single-device flow, as bits, the steps that may make what is no number. absorbed:
    those of them of which a later step may make numbers again. doubtful: the given tensors that need not hold numbers.
    positive: those of numbers greater than zero.
    divided: the steps behind a division, which are numbers but where a divisor is zero. divisions: the steps that
    divide by zero nowhere where anything is compared. counts: the steps and outputs that count something there,
    one at least.
    """

    flow: Flow
    ids: list[Ids | None]
    reads: list[tuple[Ids, ...]] = field(default_factory=list)
    made: list[tuple[Ids | None, ...]] = field(default_factory=list)
    above: list[int] = field(default_factory=list)
    infinite: set[int] = field(default_factory=set)
    rising: set[int] = field(default_factory=set)
    failing: int = 0
    absorbed: int = 0
    divided: int = 0
    doubtful: frozenset[int] = frozenset()
    positive: frozenset[int] = frozenset()
    divisions: frozenset[int] = frozenset()
    counts: frozenset[tuple[int, int]] = frozenset()


def above(trace: Trace, reads: tuple[Ids, ...], elements: Elements) -> int:
    """The single-device steps from which some elements are computed, as bits."""
    owners = {block.owner for ids in reads for block in elements.blocks_of(ids) if block.kind is Kind.SINGLE}
    found = 0
    for owner in owners:
        found |= trace.above[owner] | 1 << owner
    return found


def reads_infinite(trace: Trace, number: int) -> frozenset[int]:
    """The positions at which a single-device step reads what may be infinite."""
    if not trace.infinite:
        return frozenset()
    return frozenset(k for k, ids in enumerate(trace.reads[number]) if not trace.infinite.isdisjoint(ids.flat))


def reads_rising(trace: Trace, number: int) -> bool:
    """Whether a single-device step reads what may be plus infinity."""
    return any(not trace.rising.isdisjoint(ids.flat) for ids in trace.reads[number]) if trace.rising else False


def makes_infinite(attrs: Mapping[str, Any], reads: Sequence[Ids], elements: Elements) -> bool:
    """Whether a step has an infinite attribute, or reads an infinite constant."""
    if any(is_infinite(*pair) for pair in attrs.items()):
        return True
    blocks = (block for ids in reads for block in elements.blocks_of(ids))
    return any(block.kind is Kind.CONSTANT and block.constant == float("-inf") for block in blocks)


class Keys:
    """A number for each operator with its attributes, the same for equal ones."""

    def __init__(self) -> None:
        self._known: dict[tuple[object, ...], int] = {}

    def of(self, step: Step) -> int:
        """The number of the operator and attributes of `step`."""
        key = (step.op, step.grads, len(step.outputs), frozen(step.attrs))
        return self._known.setdefault(key, len(self._known))


def frozen(attrs: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    """Attributes as a hashable value."""
    return tuple(sorted((name, repr(value)) for name, value in attrs.items()))


@dataclass(frozen=True, slots=True)
class Traces:
    """The single-device and the parallel trace, the elements of both, and what is known of given elements.

    integers: what the elements of given logical tensors of integers may be. doubtful: the claims, by the numbers of
    results, whose two sides must be no numbers at the same inputs. positive: elements that are greater than zero on
    all seeds, and are drawn so. read: the elements that steps read by what makes them, as far as that was asked.
    """

    elements: Elements
    single: Trace
    parallel: Trace
    integers: Mapping[int, Domain]
    keys: Keys
    doubtful: frozenset[int] = frozenset()
    positive: Ids = field(default_factory=lambda: np.zeros(0, np.int64), compare=False)
    read: dict[tuple[Kind, int], tuple[Part, ...]] = field(default_factory=dict, compare=False)

    def within(self, block: Block) -> Integers | None:
        """Which integers the elements of a block are that a single-device step makes; None where that is not known."""
        if block.kind is not Kind.SINGLE:
            return None
        step = self.single.flow.steps[block.owner]
        if step.outputs[block.output] in self.single.flow.truths:
            return of_type(TRUTH)
        if (block.owner, block.output) in self.single.counts:
            return COUNTS
        rule = RULES.get(step.op)
        if rule is None or rule.within is None:
            return None
        return rule.within([ids.shape for ids in self.single.reads[block.owner]], step.attrs).get(block.output)

    def are_whole(self, block: Block) -> bool:
        """Whether the elements of a block are known to be some integers: given ones, or such that a step chooses."""
        return (block.kind is Kind.GIVEN and block.owner in self.integers) or self.within(block) is not None

    def is_positive(self, block: Block) -> bool:
        """Whether the elements of a block are given, and numbers greater than zero wherever they are numbers."""
        return block.kind is Kind.GIVEN and block.owner in self.single.positive

    def is_absorbed(self, element: int) -> bool:
        """Whether an element may be no number of which a number is made again."""
        return self._is_among(element, self.single.absorbed)

    def may_fail(self, element: int) -> bool:
        """Whether an element, of the single-device plan or given, may be no number."""
        return self._is_among(element, self.single.failing)

    def _is_among(self, element: int, steps: int) -> bool:
        block = self.elements.of(element)
        if block.kind is Kind.GIVEN:
            return block.owner in self.single.doubtful
        return block.kind is Kind.SINGLE and bool(steps >> block.owner & 1)
