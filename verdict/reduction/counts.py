"""What is counted along axes, and compared with numbers: how many elements these keep for that.

Conditions on counts hold of all elements of an axis as they hold of some of them: of as many of each count as the
number that it is compared with, and one more. Two counts need not share any, and all may lie between the same two cuts,
so that as many are kept there as all counts need. What every rank counts in the same way is one count. Where ids are
counted by what they name (rows of each expert) no element is counted twice: of so many counts each needs its own.
"""

from collections.abc import Callable, Iterable, Mapping
from math import prod
from typing import Any, NamedTuple

from verdict.graph import Node, Plan
from verdict.graph.lockstep import COMMUNICATION
from verdict.ops.choices import tells_equal
from verdict.ops.domain import BITS
from verdict.reduction.factors import Factors
from verdict.reduction.scales import Scales
from verdict.reduction.states import State
from verdict.reduction.visit import Axis, Visit

EACH_WAY = 2
"""How many elements more than a number an axis keeps that is counted and compared with it: less, as many, and more."""
MORE = 1
"""How many elements more than a number show that a count is more than it."""

Form = tuple[Any, ...]


class Compared(NamedTuple):
    """What was counted along an axis and compared with a number. form: of the count. needed: how many elements that
    takes. beside: the variables of data that the positions along an axis were compared with for it.
    """

    axis: Axis
    form: int
    number: int
    needed: int
    beside: frozenset[int]


class Counts:
    """The counts of one plan. source: of a logical tensor the one that was sent where it arrives."""

    def __init__(self, plan: Plan, source: Callable[[int], int]) -> None:
        self._plan, self._source = plan, source
        self._forms: dict[int, int] = {}
        self._numbers: dict[Form, int] = {}
        self._beside: dict[int, frozenset[int]] = {}
        self._apart: set[int] = set()
        self._compared: list[Compared] = []

    def follow(self, visit: Visit, beside: Iterable[int] = ()) -> None:
        """Note how what a node makes is computed. beside: the variables of data that positions are compared with; those
        that are equal are no others.
        """
        beside = frozenset(beside)
        read = [self._source(self._plan.tensors[tensor].logical) for tensor in visit.node.inputs if tensor >= 0]
        form = (visit.node.op, _attributes(visit.node), *map(self.form, read))
        found = beside.union(*(self._beside.get(logical, frozenset()) for logical in read))
        is_one = visit.pattern.along or (beside and tells_equal(visit.node.op, visit.attrs))
        if is_one or not self._apart.isdisjoint(read):
            self._apart.update(visit.made.values())
        for position, logical in visit.made.items():
            self._forms.setdefault(logical, self._number((*form, position)))
            if found:
                self._beside[logical] = self._beside.get(logical, frozenset()) | found

    def compare(self, axes: Iterable[Axis], logical: int, number: int) -> None:
        """A tensor, counted along some axes, is compared with a number."""
        source = self._source(logical)
        beside, form = self._beside.get(source, frozenset()), self.form(source)
        needed = (abs(number) + MORE) * (prod(self._plan.logicals[logical].shape) if source in self._apart else 1)
        self._compared.extend(Compared(axis, form, abs(number), needed, beside) for axis in axes)

    def form(self, logical: int) -> int:
        """How a tensor is computed: one number for what is computed in one way from the same."""
        if logical not in self._forms:
            self._forms[logical] = self._number((self._plan.logicals[logical].name,))
        return self._forms[logical]

    def constrain(self, factors: Factors, scales: Scales, cut: frozenset[int]) -> None:
        """Let axes keep what their counts need. Where positions are compared with data that is compared with numbers,
        too, which are at other places at reduced shapes, they keep all. cut: the factors of such data.
        """
        most: dict[int, dict[int, tuple[Axis, int]]] = {}
        for axis, form, number, needed, beside in self._compared:
            scales.least(axis.variable, axis.size, number + EACH_WAY)
            root = factors.find(axis.variable)
            if root in cut and root in map(factors.find, beside):
                factors.freeze(axis.variable)
            each = most.setdefault(root, {})
            if needed > each.get(form, (axis, 0))[1]:
                each[form] = axis, needed
        for counted in most.values():
            for axis, needed in counted.values():
                scales.witnessed(axis.variable, axis.size, needed)

    def _number(self, form: Form) -> int:
        return self._numbers.setdefault(form, len(self._numbers))


def wraps(dtype: str, state: State, axes: Iterable[Axis]) -> bool:
    """Whether a type may be too narrow for what is counted in it along full axes."""
    bits = BITS.get(dtype)
    if bits is None or state is State.WEIGHED:
        return bits is not None
    return prod(axis.size for axis in axes) >= 1 << bits - 1


def _attributes(node: Node) -> Mapping[str, Any] | tuple[Any, ...]:
    """The attributes of a node; of communication how it reduces, and not among whom."""
    return tuple(pair for pair in node.attrs if node.op not in COMMUNICATION or pair[0] == "reduce")
