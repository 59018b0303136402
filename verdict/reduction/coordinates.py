"""What is known of the values of one plan while it is reduced: states, coordinates along axes, and what keeps them.

A tensor of coordinates has a variable of its own, joined with the axes that it names elements of. What is counted along
an axis, and compared with a number, keeps more elements of it than that number; counted in a type in which it might
wrap around, all of them. See states.py for what is followed, transitions.py for what nodes make of it, reach.py for
what may be any number.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from verdict.graph import INPUT, Plan
from verdict.ops import FACTS, Attributes
from verdict.reduction.added import NUMBER, POSITION, Signs, coordinates, most_of
from verdict.reduction.counts import Counts, wraps
from verdict.reduction.factors import Factors
from verdict.reduction.scales import Scales
from verdict.reduction.states import CONSTANT, COUNTS, IDS, POSITIONS, State, given_state
from verdict.reduction.visit import Axis, Visit

MOST_ADDED = 2
"""Up to so many coordinates are added up and compared whichever they are: both choices of shapes show i + i < n, but
not i + i + i <= j, nor other multiples that are beyond few elements."""
ENDS = 2
"""How many elements more are kept between cuts where coordinates are clamped: the first and the last stand for many."""
PARTED = 1
"""How many elements more are kept between cuts where the first one is unlike those beside it."""


class Coordinates:
    """What is known of the values of one plan.

    messages: pairs of logical tensors, one that is sent and one that arrives so, or what is made of it.
    tables: for nodes by their signature, the positions at which they read as numbers what is made from no input.
    """

    def __init__(self, plan: Plan, factors: Factors, messages: Sequence[tuple[int, int]]) -> None:
        self.plan = plan
        self.tables: dict[tuple[object, ...], frozenset[int]] = {}
        self._factors = factors
        self._variable = [factors.new() for _ in plan.logicals]
        self._state: dict[int, State] = {}
        self._counted: dict[int, frozenset[Axis]] = {}
        self._sources: dict[int, frozenset[int]] = {}
        self._added: dict[int, Counter[int]] = {}
        self._met: list[tuple[int, Counter[int]]] = []
        self._clamped: list[int] = []
        self._parted: list[int] = []
        self._sizes: list[Axis] = []
        self._cuts: list[tuple[int, int]] = []
        self._signs = Signs()
        self._summed: list[int] = []
        self._size: dict[int, int] = {}
        self._reduced: dict[tuple[object, ...], tuple[int, dict[str, int]]] = {}
        self._even: set[Axis] = set()
        self._terms: list[tuple[int, int]] = []
        self._starts: list[int] = []
        self._from_start = True
        self._assumed: set[int] = set()
        self.messages = [(self.logical(one), self.logical(other)) for one, other in messages]
        self._arrives = {other: one for one, other in self.messages if one != other}
        self.counts = Counts(plan, self.source)
        given = ((number, given_state(each.dtype)) for number, each in enumerate(plan.logicals) if each.kind == INPUT)
        self._state.update((number, state) for number, state in given if state is not None)

    def logical(self, tensor: int) -> int:
        """The logical tensor that a tensor is a share of."""
        return self.plan.tensors[tensor].logical

    def dtypes(self, visit: Visit) -> set[str]:
        """The types of what a node makes."""
        return {self.plan.logicals[logical].dtype for logical in visit.made.values()}

    def state(self, logical: int) -> State:
        """What is known of a logical tensor; of what arrives, what is known of what was sent."""
        sent = self._arrives.get(logical)
        if logical not in self._state and sent is not None:
            if sent in self._state:
                self._counted[logical] = self._counted.get(sent, frozenset())
                self._state[logical] = self._state[sent]
            else:
                self._assumed.add(logical)
        return self._state.get(logical, State.DATA)

    def variable(self, logical: int) -> int:
        """The variable of the coordinates that a logical tensor holds."""
        return self._variable[logical]

    def source(self, logical: int) -> int:
        """The logical tensor that was sent where this one arrives; itself where it does not."""
        return self._arrives.get(logical, logical)

    def counted(self, logicals: Iterable[int]) -> frozenset[Axis]:
        """The axes along which some tensors were counted."""
        return frozenset[Axis]().union(*(self._counted.get(logical, frozenset()) for logical in logicals))

    def set(self, visit: Visit, output: int, state: State, counted: frozenset[Axis] = frozenset()) -> None:
        """Say what an output of a node is. A tensor that is made twice, in two ways, keeps its values.

        counted: the axes along which it was counted.
        """
        logical = visit.made[output]
        before = self._state.setdefault(logical, state)
        self._counted[logical] = self._counted.get(logical, frozenset()) | counted
        if state in COUNTS:
            self.even(self._counted[logical])
            if wraps(self.plan.logicals[logical].dtype, state, self._counted[logical]):
                self.keep_axes(self._counted[logical])
        if state in CONSTANT:
            above = (self._sources.get(read, frozenset()) for read in visit.read.values())
            self._sources[logical] = self._sources.get(logical, frozenset()).union(visit.atoms.values(), *above)
        if before is not state:
            self.keep(logical)
            self._state[logical] = State.TABLE if {before, state} <= CONSTANT else State.DATA

    def read_as_numbers(self, visit: Visit, positions: Iterable[int]) -> None:
        """A node reads tables as numbers at these positions."""
        self.tables[visit.key] = self.tables.get(visit.key, frozenset()) | frozenset(positions)

    def name(self, logical: int, axis: Axis) -> None:
        """The integers of a tensor name elements of an axis."""
        state = self.state(logical)
        if state is State.ZERO:
            return
        if state not in IDS:
            self.keep(logical)
            self._factors.freeze(axis.variable)
            return
        self._factors.join(self._variable[logical], axis.variable)
        self._sizes.append(axis)

    def count_from(self, logicals: Iterable[int], axis: Axis, start: int | None) -> None:
        """Tensors hold the positions along an axis, from `start` on; None where they are numbers of another step."""
        for logical in logicals:
            self._factors.join(self._variable[logical], axis.variable)
            self._added[logical] = Counter([POSITION] if start == 0 else [POSITION, NUMBER])
        self._sizes.append(axis)
        if start is not None:
            self._starts.append(axis.variable)
            self._from_start = self._from_start and not start

    def join(self, logicals: Sequence[int]) -> None:
        """Coordinates that meet are along one axis."""
        for logical in logicals[1:]:
            self._factors.join(self._variable[logicals[0]], self._variable[logical])

    def join_other(self, mine: int, other: "Coordinates", theirs: int) -> None:
        """A logical tensor of this plan is one of the other plan."""
        self._factors.join(self._variable[mine], other._variable[theirs])

    def added(self, *logicals: int) -> Counter[int]:
        """The coordinates, and numbers, that are added up in tensors, each as often as it is."""
        found = Counter[int]()
        for logical in logicals:
            source, given = self.source(logical), self.state(logical) not in POSITIONS
            found += self._added.get(source, Counter([source if given else POSITION]))
        return found

    def add(self, visit: Visit, logicals: Sequence[int]) -> None:
        """What a node makes is the sum, or the difference, of coordinates, or of one and a number."""
        found = self.added(*logicals) + Counter([NUMBER] if len(logicals) == 1 else ())
        self._terms.append((self._variable[logicals[0]], found.total()))
        self._put(visit, found)
        signs = self._signs.together(logicals, not FACTS.is_sum(visit.node.op))
        self._signs.put(visit.made.values(), signs)
        self._sum(logicals[0], signs)

    def move(self, visit: Visit, logicals: Sequence[int]) -> None:
        """What a node makes are coordinates, elsewhere: of several tensors, those of one of them."""
        found = Counter[int]()
        for logical in logicals:
            found |= self.added(logical)
        self._put(visit, found)
        self._signs.put(visit.made.values(), self._signs.most(logicals))

    def _put(self, visit: Visit, found: Counter[int]) -> None:
        for logical in visit.made.values():
            self._added[logical] = self._added.get(logical, Counter()) | found

    def are_few(self, logicals: Sequence[int]) -> bool:
        """Whether coordinates that meet are few, or each is another one. A multiple of one of them is beyond axes of
        few elements, whichever multiple it is.
        """
        met = coordinates(self.added(*logicals))
        return met.total() <= MOST_ADDED or max(met.values()) == 1

    def meet(self, logicals: Sequence[int], summed: bool = False) -> None:
        """Coordinates are compared with each other; summed: added up, or subtracted.

        Of m of them, any order occurs within m elements: so many are kept between cuts. Where a sum reaches the next
        cut, what is missing to that has a place in the order, too: twice as many.
        """
        added = self.added(*logicals)
        found = coordinates(added)
        self._terms.append((self._variable[logicals[0]], added.total()))
        self._met.append((self._variable[logicals[0]], found + found if summed else found))
        if not summed:
            self._sum(logicals[0], self._signs.together(logicals, True))

    def _sum(self, logical: int, signs: tuple[int, int]) -> None:
        """Note where coordinates are added up, not only subtracted: i + j < 1001 is not i + j < 1000 where i = j."""
        if max(signs) > 1:
            self._summed.append(self._variable[logical])

    def cut(self, visit: Visit, logical: int, offsets: Mapping[str, int]) -> None:
        """Attributes of a node, by name, are coordinates less these offsets, and shrink as the coordinates do."""
        variable = self._variable[logical]
        self._cuts.extend((variable, abs(visit.attrs[name] + offset)) for name, offset in offsets.items())
        self._reduced[visit.key] = variable, dict(offsets)

    def clamp(self, logical: int) -> None:
        """Coordinates beyond some are taken for these."""
        self._clamped.append(self._variable[logical])

    def part(self, logical: int, element: int) -> None:
        """One of all coordinates is unlike those beside it; a negative number is none of them."""
        if not element:
            self._parted.append(self._variable[logical])
        elif element > 0:
            self._cuts += [(self._variable[logical], element), (self._variable[logical], element + 1)]

    def keep(self, logical: int) -> None:
        """Keep all values of a tensor: those that coordinates are, the axes it was counted along or made of."""
        self._factors.freeze(self._variable[logical])
        for variable in self._sources.get(logical, ()):
            self._factors.freeze(variable)
        self.keep_axes(self._counted.get(logical, ()))

    def even(self, axes: Iterable[Axis]) -> None:
        """Let axes shrink alike."""
        self._even.update(axes)

    def keep_axes(self, axes: Iterable[Axis]) -> None:
        """Keep the sizes of axes."""
        for axis in axes:
            self._factors.freeze(axis.variable)

    def finish(self) -> None:
        """Coordinates and tables that are sent or declared keep their values, as does what arrives unexpectedly."""
        for left, right in self.messages:
            self._factors.join(self._variable[left], self._variable[right])
            states = {self._state.get(left, State.DATA), self._state.get(right, State.DATA)}
            if states & (IDS | {State.TABLE}) or (right in self._assumed and states != {State.DATA}):
                self.keep(left)
                self.keep(right)
        for held in self.plan.declared:
            logical = self.logical(held.tensor)
            if self._state.get(logical) in IDS | {State.TABLE}:
                self.keep(logical)

    def settle(self) -> None:
        """Positions that do not all begin at zero have one scale."""
        if not self._from_start:
            for variable in self._starts[1:]:
                self._factors.join(self._starts[0], variable)
        for variable, size in self._sizes:
            root = self._factors.find(variable)
            self._size[root] = max(size, self._size.get(root, 1))

    def met(self) -> dict[int, Counter[int]]:
        """By factor, the coordinates along it that are compared with each other."""
        return most_of((self._factors.find(variable), found) for variable, found in self._met)

    def constrain(self, scales: Scales) -> None:
        """Say what numbers coordinates and counts are compared with."""
        for variable, coordinate in self._cuts:
            size = self._size.get(self._factors.find(variable))
            if size is None:
                self._factors.freeze(variable)
            else:
                scales.cut(variable, max(size, coordinate), (coordinate, size))
        cut = frozenset(self._factors.find(variable) for variable, _ in self._cuts)
        self.counts.constrain(self._factors, scales, cut)
        for variable in self._summed:
            if self._factors.find(variable) in cut:
                self._factors.freeze(variable)
        for axis in self._even:
            scales.even(*axis)
        for variable, terms in self._terms:
            scales.added(variable, terms)
        met = self.met()
        clamped, parted = (set(map(self._factors.find, those)) for those in (self._clamped, self._parted))
        for root in met.keys() | clamped | parted:
            if root in self._size:
                most = max(met.get(root, Counter()).total(), 1) + ENDS * (root in clamped) + PARTED * (root in parted)
                scales.between(root, self._size[root], most)

    def reduced(self, key: tuple[object, ...], scales: Scales, attrs: Attributes) -> dict[str, Any]:
        """The attributes of a node with the numbers among them that are coordinates reduced."""
        variable, offsets = self._reduced.get(key, (0, {}))
        size = self._size.get(self._factors.find(variable), 0)
        bounds = {name: attrs[name] + offset for name, offset in offsets.items()}
        return {**attrs, **{n: scales.small(variable, max(size, abs(at)), at) - offsets[n] for n, at in bounds.items()}}

    def axis_of(self, logical: int) -> Axis | None:
        """The axis along which the integers of a tensor are coordinates, when all has been said."""
        variable = self._variable[logical]
        size = self._size.get(self._factors.find(variable))
        return None if size is None else Axis(variable, size)
