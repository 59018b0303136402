"""A difference made certain: by exact rationals where both values are, else by disjoint intervals."""

from collections.abc import Sequence
from fractions import Fraction

from verdict.outcome import Mismatch
from verdict.solver.evaluate import Exact, ExactValues, Special
from verdict.solver.intervals import Interval, middle, separate
from verdict.solver.obligation import Element, Point

_PRECISIONS = (128, 512)
"""Bits of the intervals that tell values apart, the second for what overlaps at the first; after it nothing is sure."""
_NOT_A_NUMBER = float("nan")


def certainly_different(elements: Sequence[Element], point: Point, limit: int = 64) -> tuple[Mismatch, ...]:
    """The elements that certainly differ at `point`, at most `limit` of them; none if nothing is certain.

    An element at which the parallel side alone is undefined differs too (its value is NaN), provided that all
    of `elements` are defined on the single side.
    """
    terms = elements[0].single.terms
    values = ExactValues(terms.below([side for e in elements for side in (e.single, e.parallel)]), point)
    found: dict[Element, Mismatch] = {}
    open_elements = []
    for element in elements:
        single, parallel = values.exact[element.single], values.exact[element.parallel]
        if not (_known(single) and _known(parallel)):
            open_elements.append(element)
        elif single != parallel:
            found[element] = _mismatch(element, single, parallel)
    for bits in _PRECISIONS if open_elements else ():
        intervals = values.intervals(bits)
        for element in open_elements:
            x, y = intervals[element.single], intervals[element.parallel]
            single, parallel = values.exact[element.single], values.exact[element.parallel]
            if x is None or y is None:
                apart = Special.MINUS_INFINITY in (single, parallel) and (x is None) != (y is None)
            else:
                apart = separate(x, y)
            if apart:
                found[element] = _mismatch(element, single, parallel, x, y)
        open_elements = [element for element in open_elements if element not in found]
    found.update(_undefined(elements, values))
    return tuple(found[element] for element in elements if element in found)[:limit]


def _known(value: Exact) -> bool:
    return isinstance(value, Fraction) or value is Special.MINUS_INFINITY


def certainly_defined(elements: Sequence[Element], point: Point) -> frozenset[Element]:
    """The elements of which both sides certainly have a value at `point`."""
    terms = elements[0].single.terms
    values = ExactValues(terms.below([side for e in elements for side in (e.single, e.parallel)]), point)
    defined = {term for term, value in values.exact.items() if _known(value)}
    open_elements = list(elements)
    for bits in (None, *_PRECISIONS):
        if bits is not None:
            defined |= {term for term, interval in values.intervals(bits).items() if interval is not None}
        open_elements = [e for e in open_elements if not {e.single, e.parallel} <= defined]
        if not open_elements:
            break
    return frozenset(elements) - frozenset(open_elements)


def _undefined(elements: Sequence[Element], values: ExactValues) -> dict[Element, Mismatch]:
    suspects = [e for e in elements if values.exact[e.parallel] is Special.UNDEFINED]
    if not suspects or any(values.exact[e.single] is Special.UNDEFINED for e in elements):
        return {}
    intervals = values.intervals(_PRECISIONS[0])
    if any(intervals[element.single] is None for element in elements):
        return {}
    return {e: _mismatch(e, values.exact[e.single], Special.UNDEFINED, intervals[e.single]) for e in suspects}


def _mismatch(element: Element, single: Exact, parallel: Exact, x: Interval = None, y: Interval = None) -> Mismatch:
    return Mismatch(element.goal, element.index, _number(single, x), _number(parallel, y))


def _number(value: Exact, interval: Interval) -> Fraction | float:
    if isinstance(value, Fraction):
        return value
    if value is Special.MINUS_INFINITY:
        return -float("inf")
    return _NOT_A_NUMBER if value is Special.UNDEFINED else middle(interval)
