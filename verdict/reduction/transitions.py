"""What nodes make of the values that are followed while whole plans are reduced. See states.py.

`ids < 16032` is `ids < 3` where 128,256 rows of a table have become 24. Where coordinates meet an operator of which it
is not known what it does with them, or a number that cannot shrink, the axis keeps its size. So it does where what was
counted along it meets anything but sums, products and whole numbers that it is compared with.
"""

from collections.abc import Collection, Mapping, Sequence

from verdict.ops import FACTS, Attributes, Flow, Law
from verdict.ops.domain import BITS
from verdict.ops.types import is_whole
from verdict.reduction.added import FAR, MOST_TERMS, WIDE
from verdict.reduction.coordinates import Coordinates
from verdict.reduction.states import CONSTANT, COUNTS, FEW, IDS, PLAIN, State, together
from verdict.reduction.visit import Axis, Visit

NUMBERS = ("other", "value", "self")
"""Attributes that are numbers in the place of a tensor."""
LIMITS = ("other", "min", "max")
"""Attributes that numbers are compared with."""
BOUND = {"lt": 0, "ge": 0, "le": 1, "gt": 1}
"""From the number that coordinates are compared with to the boundary that is meant."""
CLAMPS = {"min": 0, "max": 1}
"""From the numbers that coordinates are clamped to to the boundaries that are meant."""
TRUTHS = (None, 0, 1)
"""What such an attribute is where truth values stay truth values."""
HOLDING = ("int64", "int32", "float64", "float32")
"""Types that hold all coordinates."""
NONE: frozenset[Axis] = frozenset()

Made = tuple[State, frozenset[Axis]]
"""What is made, and the axes along which it was counted."""


def follow(known: Coordinates, visit: Visit) -> None:
    """Note what a node makes of what it reads."""
    for position, atom in visit.pattern.along.items():
        if atom in visit.atoms:
            known.name(known.logical(visit.node.inputs[position]), *visit.axes([atom]))
        if atom in visit.pattern.single:
            _apart(known, visit, known.logical(visit.node.inputs[position]), atom)
        if atom in visit.pattern.ends:
            known.clamp(known.logical(visit.node.inputs[position]))
    for position, atoms in visit.pattern.around.items():
        if known.state(visit.read[position]) is not State.ZERO:
            known.keep_axes(visit.axes(atoms))
    state, axes = _made(known, visit)
    known.counts.follow(visit, _beside(known, visit))
    counting = FACTS.counted(visit.node.op)
    for output in visit.made:
        if output in counting:
            known.set(visit, output, State.COUNT, visit.axes(visit.contracted(visit.pattern.along)))
        else:
            known.set(visit, output, state, axes)
        if known.plan.logicals[visit.made[output]].dtype in BITS and state not in COUNTS:
            known.keep_axes(visit.axes(visit.contracted(visit.read)))


def _beside(known: Coordinates, visit: Visit) -> list[int]:
    """The variables of data that a node compares positions with."""
    read = [logical for logical in visit.read.values() if known.state(logical) in IDS]
    compares = visit.flow is Flow.COMPARED and len(read) > 1
    return [known.variable(logical) for logical in read if compares and known.state(logical) not in CONSTANT]


def _apart(known: Coordinates, visit: Visit, ids: int, atom: str) -> None:
    """An element of an axis is unlike the others: so it stays where ids, as they are given, name elements."""
    if known.state(ids) is State.GIVEN:
        known.part(ids, visit.pattern.single[atom])
    else:
        known.keep_axes(visit.axes([atom]))


def _made(known: Coordinates, visit: Visit) -> Made:
    if visit.pattern.made and visit.pattern.made in visit.atoms:
        return _positions(known, visit), NONE
    states = {position: known.state(logical) for position, logical in visit.read.items()}
    named = {known.state(known.logical(visit.node.inputs[position])) for position in visit.pattern.along}
    if {*states.values(), *named} <= CONSTANT:
        return _constant(known, visit, states), NONE
    known_numbers = [position for position, state in states.items() if state is State.TABLE]
    if known_numbers:
        known.read_as_numbers(visit, known_numbers)
    if any(state in IDS for state in states.values()):
        return _of_ids(known, visit, states)
    if any(state in COUNTS for state in states.values()):
        return _of_counts(known, visit, states)
    return _of_few(known, visit, states)


def _positions(known: Coordinates, visit: Visit) -> State:
    """Positions along the axis that is made."""
    (axis,) = visit.axes([visit.pattern.made])
    whole = visit.attrs.get("step", 1) == 1
    known.count_from(visit.made.values(), axis, visit.attrs.get("start", 0) if whole else None)
    return State.POSITIONS if whole else State.TABLE


def _constant(known: Coordinates, visit: Visit, states: Mapping[int, State]) -> State:
    """What a node makes of constants."""
    kinds = frozenset(states.values())
    if not states:
        return _filled(visit)
    if visit.contracted(position for position, state in states.items() if state is not State.ZERO):
        return State.TABLE
    if kinds <= PLAIN:
        moved = visit.flow is Flow.MOVED and not visit.attrs
        zero = kinds == {State.ZERO} and (
            moved or FACTS.keeps_zeros(visit.node.op, len(visit.node.inputs), visit.attrs)
        )
        return State.ZERO if zero else State.UNIFORM if State.EXACT not in kinds else State.EXACT
    return State.TABLE if State.TABLE in kinds else _of_ids(known, visit, states)[0]


def _filled(visit: Visit) -> State:
    """What is made of attributes and shapes alone: one number, where it is made index by index and may shrink."""
    if any(atom.least >= atom.size or atom.law is not Law.EACH for atom in visit.pattern.axes.atoms):
        return State.EXACT
    given = [visit.attrs[name] for name in ("s", "fill_value", "values") if name in visit.attrs]
    flat = given[0] if given and isinstance(given[0], tuple) else given
    zero = all(value == 0 for value in flat) if given else FACTS.zero(visit.node.op, visit.attrs)
    return State.ZERO if zero else State.UNIFORM


def _of_ids(known: Coordinates, visit: Visit, states: Mapping[int, State]) -> Made:
    """What a node makes of coordinates."""
    ids = {position: state for position, state in states.items() if state in IDS}
    kinds, others = frozenset(ids.values()), frozenset(states.values()) - IDS
    logicals = [visit.read[position] for position in ids]
    constant = kinds <= CONSTANT
    if visit.flow is Flow.MOVED and _moved(known, visit, states):
        known.join([*logicals, *visit.made.values()])
        known.move(visit, logicals)
        return together(kinds), NONE
    if visit.flow is Flow.COMPARED and _compared(known, visit, logicals, others, kinds):
        known.join(logicals)
        return (State.EXACT if constant and others <= CONSTANT else State.TRUTH), NONE
    if visit.flow is Flow.SHIFTED and not others and _shifted(known, visit, logicals):
        known.join([*logicals, *visit.made.values()])
        known.add(visit, logicals)
        return (State.OFFSET if constant else State.SHIFTED), NONE
    if visit.flow is Flow.BOUNDED and not constant and not others and _clamped(known, visit, logicals):
        known.join([*logicals, *visit.made.values()])
        known.move(visit, logicals)
        return State.SHIFTED, NONE
    if constant and others <= CONSTANT:
        return State.TABLE, NONE
    if constant:
        known.read_as_numbers(visit, ids)
        return _of_few(known, visit, {position: state for position, state in states.items() if position not in ids})
    for logical in logicals:
        known.keep(logical)
    known.keep_axes(visit.axes(visit.contracted(ids)))
    return State.TRUTH if known.dtypes(visit) == {"bool"} else State.DATA, NONE


def _moved(known: Coordinates, visit: Visit, states: Mapping[int, State]) -> bool:
    """Whether coordinates are only put elsewhere, beside nothing but zeros, in a type that holds them."""
    beside = {
        state
        for position, state in states.items()
        if state not in IDS and known.plan.logicals[visit.read[position]].dtype != "bool"
    }
    return beside <= {State.ZERO} and known.dtypes(visit) <= set(HOLDING) and _plain(visit.attrs)


def _compared(
    known: Coordinates, visit: Visit, logicals: Sequence[int], others: Collection[State], kinds: frozenset[State]
) -> bool:
    """Whether the scale can keep a comparison: with a boundary, with the first coordinate, or with what is none."""
    if set(others) - {State.ZERO} or not known.are_few(logicals):
        return False
    number, word = visit.attrs.get("other"), visit.node.op.split(".")[1]
    if number is None:
        known.meet(logicals)
        return not others or word in BOUND
    if not _is_whole(number):
        return False
    if word not in BOUND:
        if not kinds <= {State.GIVEN, State.POSITIONS}:
            return False
        known.part(logicals[0], number)
    if word in BOUND or number > 0:
        known.cut(visit, logicals[0], {"other": BOUND.get(word, 0)})
    return True


def _clamped(known: Coordinates, visit: Visit, logicals: Sequence[int]) -> bool:
    """Whether coordinates are clamped to whole numbers alone, with which the scale keeps them."""
    offsets = {name: offset for name, offset in CLAMPS.items() if visit.attrs.get(name) is not None}
    numbers = [visit.attrs[name] for name in offsets]
    if not offsets or len(visit.read) > 1 or not all(map(_is_whole, numbers)) or not known.are_few(logicals):
        return False
    known.cut(visit, logicals[0], offsets)
    known.clamp(logicals[0])
    return True


def _shifted(known: Coordinates, visit: Visit, logicals: Sequence[int]) -> bool:
    """Whether coordinates are added up, or a whole number is added to them, in a type that holds all sums."""
    number = visit.attrs.get("other", 0)
    near = _is_whole(number) and abs(number) < FAR and known.added(*logicals).total() < MOST_TERMS
    if visit.attrs.get("alpha", 1) != 1 or not known.are_few(logicals) or not (near and known.dtypes(visit) <= WIDE):
        return False
    if "other" in visit.attrs:
        known.cut(visit, logicals[0], {"other": 0})
    elif len(logicals) > 1:
        known.meet(logicals, summed=True)
    return True


def _of_counts(known: Coordinates, visit: Visit, states: Mapping[int, State]) -> Made:
    """What a node makes of counts: a number that stands beside data, or a truth value that keeps the axis long."""
    few = [position for position, state in states.items() if state in FEW]
    axes = known.counted(visit.read[position] for position in few)
    kinds = frozenset(states.values())
    alone = kinds == {State.COUNT}
    if visit.contracted(few):
        if kinds <= COUNTS and _is_sum_of_all(visit, few):
            return State.COUNT if alone else State.WEIGHED, axes | visit.axes(visit.contracted(few))
    elif _is_rounded(known, visit, kinds):
        pass
    elif visit.flow is Flow.MOVED and kinds <= FEW | PLAIN:
        return State.COUNT if alone and _plain(visit.attrs) else State.WEIGHED, axes
    elif visit.flow in (Flow.SHIFTED, Flow.SCALED):
        return State.DATA if State.DATA in kinds else State.WEIGHED, axes
    elif visit.flow in (Flow.COMPARED, Flow.BOUNDED) and alone and _limited(known, visit, axes):
        return State.TRUTH if visit.flow is Flow.COMPARED else State.COUNT, axes
    known.keep_axes(axes | visit.axes(visit.contracted(few)))
    return State.DATA, NONE


def _is_rounded(known: Coordinates, visit: Visit, kinds: Collection[State]) -> bool:
    """Whether a node makes whole numbers of quotients of counts, all of which may be zero at reduced shapes."""
    whole = any(map(is_whole, known.dtypes(visit)))
    given = all(is_whole(known.plan.logicals[logical].dtype) for logical in visit.read.values())
    return FACTS.rounds(visit.node.op, visit.attrs) or (whole and not given and State.WEIGHED in kinds)


def _limited(known: Coordinates, visit: Visit, axes: frozenset[Axis]) -> bool:
    """Whether counts are compared with whole numbers alone; then their axes keep more elements than these."""
    limits = [visit.attrs[name] for name in LIMITS if visit.attrs.get(name) is not None]
    if not limits or len(visit.read) > 1 or not all(map(_is_whole, limits)):
        return False
    (logical,) = visit.read.values()
    for limit in limits:
        known.counts.compare(axes, logical, limit)
    return True


def _of_few(known: Coordinates, visit: Visit, states: Mapping[int, State]) -> Made:
    """What a node makes of numbers of which there are few, and data. Truth values that are added up along axes that
    data does not have are counted.
    """
    few = [position for position, state in states.items() if state not in (State.DATA, State.ZERO)]
    data = [position for position, state in states.items() if state is State.DATA]
    alone = visit.contracted(few) - visit.contracted(data)
    if alone and not FACTS.extreme(visit.node.op):
        if _is_sum_of_all(visit, few):
            truths = {states[position] for position in few} == {State.TRUTH}
            return State.COUNT if truths else State.WEIGHED, visit.axes(visit.contracted(few))
        known.keep_axes(visit.axes(alone))
    for position in few if alone else ():
        known.counts.compare(visit.axes(alone), visit.read[position], 0)
    dtypes = known.dtypes(visit)
    if data and not any(map(is_whole, dtypes)):
        return State.DATA, NONE
    return State.TRUTH if dtypes == {"bool"} or _stay_truths(visit, states) else State.LEVEL, NONE


def _stay_truths(visit: Visit, states: Mapping[int, State]) -> bool:
    """Whether zeros and ones are only put elsewhere, or multiplied by each other, element by element."""
    attrs = visit.attrs
    if not set(states.values()) <= {State.TRUTH, State.ZERO} or any(attrs.get(name) not in TRUTHS for name in NUMBERS):
        return False
    arity = len(visit.node.inputs)
    product = FACTS.is_product(visit.node.op, arity, attrs) and not visit.contracted(states)
    return visit.flow is Flow.MOVED or FACTS.copies(visit.node.op, arity, len(visit.node.outputs)) or product


def _is_sum_of_all(visit: Visit, positions: Collection[int]) -> bool:
    """Whether a node does nothing to the only thing that it reads but to add it up along some axes."""
    atoms = visit.contracted(positions)
    laws = {atom.law for atom in visit.pattern.axes.atoms if atom.name in atoms}
    return laws == {Law.SUM} and len(visit.read) == 1


def _plain(attrs: Attributes) -> bool:
    """Whether no number but zero, which every scale keeps, is put in the place of a tensor."""
    return all(attrs.get(name) in (None, 0) for name in NUMBERS)


def _is_whole(number: object) -> bool:
    return isinstance(number, int) and not isinstance(number, bool)
