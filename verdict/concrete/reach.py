"""Which values can be any numbers, however long the axes are that they were summed along.

A sum of numbers that may be anything may be anything, of three as of three thousand. A sum of numbers within bounds (of
sigmoids, of what is clamped, of a norm's results) reaches further along a longer axis: what it is compared with may lie
beyond all that it is at reduced shapes. So where what was added up of such numbers meets an operator of several cases
(a comparison, a bound, a step), the axes keep their sizes.

Given numbers may be anything. So may be what is linear in something that may; nothing is known of the rest. What was
counted, and is data now beside other data, has bounds, too.
"""

from collections.abc import Iterable

from verdict.concrete.coordinates import Coordinates
from verdict.concrete.states import State
from verdict.concrete.visit import Axis, Visit
from verdict.graph.lockstep import COMMUNICATION
from verdict.ops import FACTS, Flow
from verdict.ops.types import FLOAT, kind

NONE: frozenset[Axis] = frozenset()


def keep_reach(known: Coordinates, visits: Iterable[Visit]) -> None:
    """Keep the axes along which numbers within bounds are added up, and compared."""
    within: dict[int, frozenset[Axis]] = {}
    visits, before = tuple(visits), -1
    while before != (before := sum(1 + len(axes) for axes in within.values())):
        for visit in visits:
            _visit(known, within, visit)


def _visit(known: Coordinates, within: dict[int, frozenset[Axis]], visit: Visit) -> None:
    """within: the logical tensors of numbers that may have bounds, and the axes along which such were added up."""
    op, sources = visit.node.op, {place: known.source(logical) for place, logical in visit.read.items()}
    data = {place for place, logical in sources.items() if known.state(logical) is State.DATA}
    bounded = {place for place in data if sources[place] in within}
    reaching = data - bounded if op in COMMUNICATION else FACTS.reaching(op, visit.node, visit.attrs, data - bounded)
    if reaching and not (visit.flow is Flow.MOVED and bounded):
        return
    axes = NONE.union(*(within[sources[place]] for place in bounded))
    if not FACTS.extreme(op):
        axes |= visit.axes(visit.contracted(bounded))
    if any(known.state(logical) is State.DATA for logical in visit.made.values()):
        axes |= known.counted(visit.read.values())
    kinds = {kind(known.plan.logicals[logical].dtype) for logical in visit.made.values()}
    moved = visit.flow is Flow.MOVED and kinds == {FLOAT}
    if op not in COMMUNICATION and not moved and not FACTS.smooth(op, visit.node, visit.attrs):
        known.keep_axes(axes)
    for logical in visit.made.values():
        within[logical] = within.get(logical, NONE) | axes
