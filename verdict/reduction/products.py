"""Products of what is picked from axes, as of counts: none is zero only where each of them has an element of its own.

    load[e] = sum over t of [ids[t] = e];  load[0] * load[1] * .. * load[31]        32 tokens, at least
    load[0] * (load[0] - 1) * .. * (load[0] - 5), which is zero of fewer than six    6 tokens, at least

So as many elements are kept of an axis as sums of few values along it are multiplied: polynomials of a degree that are
equal for as many values are one. Of two factors that are data each, and of truth values, what both have is counted
once.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from math import prod

from verdict.graph import ABSENT
from verdict.ops import FACTS, Flow
from verdict.ops.choices import added_at, exponent, multiplies_along
from verdict.reduction.coordinates import Coordinates
from verdict.reduction.factors import Factors
from verdict.reduction.scales import Scales
from verdict.reduction.states import COUNTS, FEW, IDS, State
from verdict.reduction.visit import Axis, Visit

Picked = Mapping[Axis, Counter[int]]
"""By axis the forms of sums along it, and how often each is a factor."""

DATA = frozenset({State.DATA})

Join = Callable[[Counter[int], Counter[int]], Counter[int]]
SUM: Join = Counter.__add__
"""All factors of both, as of a product with a count."""
EACH: Join = Counter.__or__
"""Those of both once."""


def _most(one: Counter[int], other: Counter[int]) -> Counter[int]:
    """Those of the one that has the most, as of what is added up."""
    return max(one, other, key=Counter.total)


def sources_of(known: Coordinates, visit: Visit) -> list[int]:
    """The logical tensors that a node reads; of what arrives, the one that was sent."""
    return [known.source(known.logical(tensor)) for tensor in visit.node.inputs if tensor != ABSENT]


def takes_part(known: Coordinates, visit: Visit, logical: int) -> bool:
    """Whether a node takes some of the elements of what it reads: those of another part are another sum."""
    shapes = known.plan.logicals
    most = max((prod(shapes[read].shape) for read in visit.read.values()), default=0)
    return visit.flow is Flow.MOVED and prod(shapes[logical].shape) < most


def keep_products(known: Coordinates, factors: Factors, visits: Sequence[Visit], scales: Scales) -> None:
    """Say how many elements of each axis are needed where sums along it are multiplied."""
    found: dict[int, Picked] = {}
    before = -1
    while before != (before := len(found)):  # what is sent may be made behind where it arrives
        for visit in visits:
            _follow(known, factors, visit, found)
    for axis, forms in _joined(found.values(), _most).items():
        scales.least(axis.variable, axis.size, min(forms.total() + 1, axis.size))


def _follow(known: Coordinates, factors: Factors, visit: Visit, found: dict[int, Picked]) -> None:
    """Note the sums that are factors of what a node makes."""
    sources = sources_of(known, visit)
    read = [found[source] for source in sources if source in found]
    summed = {Axis(factors.find(axis.variable), axis.size) for axis in _sums(known, visit)}
    if not (read or summed):
        return
    data = sum(known.state(source) is State.DATA for source in sources)
    if added_at(visit.node.op, visit.attrs, len(visit.node.inputs)):
        here = _joined(read, _most)
    else:
        numbers = [found[source] for source in sources if source in found and known.state(source) in COUNTS | DATA]
        here = _joined((_joined(numbers, EACH if data > 1 else SUM), *read), EACH)
    if not data:
        here = _raised(here, exponent(visit.node.op, visit.attrs))
    for logical in visit.made.values():
        one = Counter((known.counts.form(logical),))
        parts = dict.fromkeys(here, one) if takes_part(known, visit, logical) else here
        found[logical] = _joined((parts, dict.fromkeys(summed, one)), EACH)
    if multiplies_along(visit.node.op):
        known.keep_axes(here)


def _sums(known: Coordinates, visit: Visit) -> frozenset[Axis]:
    """The axes along which a node adds up what integers, or truth values, choose."""
    few = [position for position, logical in visit.read.items() if known.state(logical) in FEW | IDS]
    if FACTS.extreme(visit.node.op) or not (few or visit.pattern.along):
        return frozenset()
    made = {name for dims in visit.pattern.axes.outputs for dim in dims for name in dim}
    return visit.axes(visit.contracted(few or visit.read) - made)


def _raised(here: Picked, power: int) -> Picked:
    return {axis: Counter({form: often * power for form, often in forms.items()}) for axis, forms in here.items()}


def _joined(each: Iterable[Picked], join: Join) -> Picked:
    """The sums that are factors of what is made of several."""
    found: dict[Axis, Counter[int]] = {}
    for one in each:
        for axis, forms in one.items():
            found[axis] = join(found[axis], forms) if axis in found else forms
    return found
