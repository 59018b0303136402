"""Coordinates in tensors: ids, positions and what is computed of them, while whole plans are reduced.

An integer that names an element of an axis shrinks as the axis does, and so does a number that it is compared with
or that is subtracted from it: `ids < 16032` is `ids < 3` where 128,256 rows of a table have become 24. A tensor of
coordinates has a variable of its own, joined with the axes that it names elements of. Where one meets an operator of
which it is not known what it does with coordinates, or a number that cannot shrink, the axis keeps its size.

    given      ids of the data, as they come         positions   counted in the program
    shifted    sums and differences of coordinates   numbers     smooth functions of positions (angles)
    constant   the same for all inputs               data        everything else
"""

from collections.abc import Iterable, Mapping, Sequence
from enum import Enum
from fractions import Fraction
from typing import Any

from verdict.concrete.factors import Factors, Scales
from verdict.graph import ABSENT, INPUT, Node, Plan
from verdict.graph.lockstep import COMMUNICATION
from verdict.ops import FACTS, FLOWS, RULES, Attributes, Flow, Pattern

NUMBERS = ("other", "value", "self", "alpha")
"""Attributes that are numbers in the place of a tensor."""
BOUND = {"lt": 0, "ge": 0, "le": 1, "gt": 1}
"""From the number that coordinates are compared with to the boundary that is meant."""


class State(Enum):
    """What the elements of a tensor are."""

    CONSTANT = "constant"
    ZERO = "zero"
    DATA = "data"
    GIVEN = "given"
    POSITIONS = "positions"
    SHIFTED = "shifted"
    SHIFTED_POSITIONS = "shifted positions"
    NUMBERS = "numbers"


IDS = frozenset({State.GIVEN, State.POSITIONS, State.SHIFTED, State.SHIFTED_POSITIONS})
FOLLOWED = IDS | {State.NUMBERS}
COUNTED = frozenset({State.POSITIONS, State.SHIFTED_POSITIONS, State.NUMBERS})


class Coordinates:
    """The coordinates of one plan, while its nodes are followed in their order."""

    def __init__(self, plan: Plan, factors: Factors) -> None:
        self._plan, self._factors = plan, factors
        self._variable = [factors.new() for _ in plan.logicals]
        self._state: dict[int, State] = {}
        self._sources: dict[int, frozenset[int]] = {}
        self._sizes: list[tuple[int, int]] = []
        self._cuts: list[tuple[int, int]] = []
        self._size: dict[int, int] = {}
        self._reduced: dict[tuple[object, ...], tuple[int, dict[str, int]]] = {}
        self._counted: list[int] = []
        self._from_start = True
        for number, logical in enumerate(plan.logicals):
            if logical.kind == INPUT and logical.dtype.startswith(("int", "uint")):
                self._state[number] = State.GIVEN

    def join(self, mine: int, other: "Coordinates", theirs: int) -> None:
        """A logical tensor of this plan is one of the other plan."""
        self._factors.join(self._variable[mine], other._variable[theirs])

    def follow(self, key: tuple[object, ...], node: Node, pattern: Pattern, atoms: Mapping[str, int]) -> None:
        """What a node makes of what it reads."""
        named = set(pattern.along)
        for position, atom in pattern.along.items():
            self._names(self._logical(node.inputs[position]), pattern, atoms, atom)
        read = [self._logical(t) for position, t in enumerate(node.inputs) if t != ABSENT and position not in named]
        made = [self._logical(tensor) for tensor in node.outputs if tensor != ABSENT]
        state = self._made(key, node, read, made, dict(node.attrs))
        if pattern.made and pattern.made in atoms:
            state = self._counts(dict(node.attrs), pattern, atoms, made)
        for logical in made:
            self._set(logical, state)

    def exchange(self, messages: Iterable[tuple[int, int]]) -> None:
        """What arrives is what was sent; coordinates that are sent keep their values."""
        for one, other in messages:
            left, right = self._logical(one), self._logical(other)
            self._factors.join(self._variable[left], self._variable[right])
            for logical in (left, right):
                if self._state.get(logical) in FOLLOWED:
                    self._freeze(logical)

    def settle(self) -> None:
        """Positions that do not all begin at zero have one scale."""
        if not self._from_start:
            for variable in self._counted[1:]:
                self._factors.join(self._counted[0], variable)
        for variable, size in self._sizes:
            root = self._factors.find(variable)
            self._size[root] = max(size, self._size.get(root, 1))

    def constrain(self, scales: Scales) -> None:
        """Say what numbers coordinates are compared with."""
        for variable, coordinate in self._cuts:
            size = self._size.get(self._factors.find(variable))
            if size is None:
                self._factors.freeze(variable)
            else:
                scales.cut(variable, max(size, coordinate), (coordinate, size))

    def reduced(self, key: tuple[object, ...], scales: Scales, attrs: Attributes) -> dict[str, Any]:
        """The attributes of a node with the numbers among them that are coordinates reduced."""
        if key not in self._reduced:
            return dict(attrs)
        variable, offsets = self._reduced[key]
        size = self._size.get(self._factors.find(variable))
        scale = scales.scale(variable, size) if size is not None else Fraction(1)
        return {**attrs, **{name: _scaled(attrs[name], offset, scale) for name, offset in offsets.items()}}

    def _logical(self, tensor: int) -> int:
        return self._plan.tensors[tensor].logical

    def _origins(self, logical: int) -> frozenset[int]:
        """The variables of the coordinates that a tensor is made of."""
        return self._sources.get(logical, frozenset((self._variable[logical],)))

    def _freeze(self, logical: int) -> None:
        for variable in self._origins(logical):
            self._factors.freeze(variable)

    def _set(self, logical: int, state: State) -> None:
        """A tensor that is made twice, in two ways, keeps its values."""
        if self._state.setdefault(logical, state) is not state:
            self._freeze(logical)
            followed = {state, self._state[logical]} & FOLLOWED
            self._state[logical] = State.NUMBERS if followed else State.DATA

    def _names(self, logical: int, pattern: Pattern, atoms: Mapping[str, int], atom: str) -> None:
        """The integers of a tensor name elements of an atom."""
        if atom not in atoms:
            return
        variable, state = self._variable[logical], self._state.get(logical, State.DATA)
        if state is State.ZERO:
            return
        if state not in IDS:
            self._freeze(logical)
            self._factors.freeze(atoms[atom])
            return
        self._factors.join(variable, atoms[atom])
        self._sizes.append((atoms[atom], _size(pattern, atom)))

    def _counts(self, attrs: Attributes, pattern: Pattern, atoms: Mapping[str, int], made: Sequence[int]) -> State:
        """Positions along the axis that is made."""
        variable = atoms[pattern.made]
        for logical in made:
            self._factors.join(self._variable[logical], variable)
        self._sizes.append((variable, _size(pattern, pattern.made)))
        if attrs.get("step", 1) != 1:
            return State.NUMBERS
        self._counted.append(variable)
        self._from_start = self._from_start and not attrs.get("start", 0)
        return State.POSITIONS

    def _made(
        self, key: tuple[object, ...], node: Node, read: Sequence[int], made: Sequence[int], attrs: Attributes
    ) -> State:
        states = [self._state.get(logical, State.DATA) for logical in read]
        followed = [k for k, state in zip(read, states, strict=True) if state in FOLLOWED and not self._truth(k)]
        flow = _flow(node, attrs)
        if not followed:
            return _unfollowed(node, flow, states, attrs)
        kinds = {self._state[logical] for logical in followed}
        others = {s for k, s in zip(read, states, strict=True) if k not in followed and not self._truth(k)}
        if flow is Flow.MOVED and not (State.DATA in others and kinds & IDS) and self._plain(others, attrs, kinds):
            if State.DATA in others:
                return State.DATA
            if State.NUMBERS in kinds:
                return self._computed(followed, made)
            return self._joined([*followed, *made], _together(kinds))
        if flow is Flow.COMPARED and kinds <= IDS and self._compared(key, node, followed, others, attrs, kinds):
            self._joined(followed, State.SHIFTED)
            return State.DATA
        if flow is Flow.SHIFTED and kinds <= IDS and not others and self._shifted(key, followed, attrs):
            counted = kinds <= COUNTED
            return self._joined([*followed, *made], State.SHIFTED_POSITIONS if counted else State.SHIFTED)
        if flow in (Flow.SHIFTED, Flow.SMOOTH) and kinds <= COUNTED:
            return State.DATA if State.DATA in others else self._computed(followed, made)
        for logical in followed:
            self._freeze(logical)
        return State.DATA

    def _truth(self, logical: int) -> bool:
        return self._plan.logicals[logical].dtype == "bool"

    def _computed(self, followed: Sequence[int], made: Sequence[int]) -> State:
        """Numbers that are made of coordinates."""
        sources = frozenset[int]().union(*(self._origins(logical) for logical in followed))
        for logical in made:
            self._sources[logical] = sources | self._sources.get(logical, frozenset())
        return State.NUMBERS

    def _joined(self, logicals: Sequence[int], state: State) -> State:
        for logical in logicals[1:]:
            self._factors.join(self._variable[logicals[0]], self._variable[logical])
        return state

    def _plain(self, others: set[State], attrs: Attributes, kinds: set[State]) -> bool:
        """Whether what coordinates are mixed with is zero, which every scale keeps."""
        if not kinds & IDS:
            return True
        return State.CONSTANT not in others and all(attrs.get(name) in (None, 0) for name in NUMBERS[:3])

    def _compared(
        self, key: tuple[object, ...], node: Node, followed: Sequence[int], others: set[State], attrs: Attributes,
        kinds: set[State],
    ) -> bool:  # fmt: skip
        """Whether the scale can keep a comparison: with a boundary, or with a number that no coordinate is."""
        if others - {State.ZERO}:
            return False
        number, word = attrs.get("other"), node.op.split(".")[1]
        if number is None:
            return not others or word in BOUND
        if not isinstance(number, int) or isinstance(number, bool):
            return False
        if word not in BOUND:
            return number < 0 and kinds <= {State.GIVEN, State.POSITIONS}
        return self._cut(key, followed, {"other": BOUND[word]}, number + BOUND[word])

    def _shifted(self, key: tuple[object, ...], followed: Sequence[int], attrs: Attributes) -> bool:
        number = attrs.get("other")
        if attrs.get("alpha", 1) != 1:
            return False
        if number is None:
            return True
        if not isinstance(number, int) or isinstance(number, bool):
            return False
        return self._cut(key, followed, {"other": 0}, number)

    def _cut(self, key: tuple[object, ...], followed: Sequence[int], offsets: dict[str, int], coordinate: int) -> bool:
        variable = self._variable[followed[0]]
        self._cuts.append((variable, abs(coordinate)))
        self._reduced[key] = variable, offsets
        return True


def _flow(node: Node, attrs: Attributes) -> Flow:
    if node.op in COMMUNICATION or FACTS.adds_to(node.op, attrs):
        return Flow.UNKNOWN
    rule = RULES[node.op.removesuffix(".grad")]
    return FLOWS.get(node.op, Flow.MOVED if rule.moves and not node.op.endswith(".grad") else Flow.UNKNOWN)


def _unfollowed(node: Node, flow: Flow, states: Sequence[State], attrs: Attributes) -> State:
    """What a node makes of constants and data."""
    if State.DATA in states:
        return State.DATA
    given = [attrs[name] for name in ("s", "fill_value", "values") if name in attrs]
    if not states and given:
        flat = given[0] if isinstance(given[0], tuple) else given
        return State.ZERO if all(value == 0 for value in flat) else State.CONSTANT
    if node.op.split(".")[1:2] == ["zeros"] or (flow is Flow.MOVED and set(states) == {State.ZERO} and not attrs):
        return State.ZERO
    return State.CONSTANT


def _together(kinds: set[State]) -> State:
    if len(kinds) == 1:
        return next(iter(kinds))
    return State.SHIFTED_POSITIONS if kinds <= COUNTED else State.SHIFTED


def _size(pattern: Pattern, name: str) -> int:
    return next(atom.size for atom in pattern.axes.atoms if atom.name == name)


def _scaled(number: int, offset: int, scale: Fraction) -> int:
    """The reduced number of which the boundary is number + offset."""
    found = (number + offset) * scale
    if found.denominator != 1:
        raise ValueError(f"the coordinate {number + offset} shrinks to {found}")
    return int(found) - offset
