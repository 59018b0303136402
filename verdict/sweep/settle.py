"""Elements of a single-device step that are constants for all values, or equal each other for all values.

Numbers suggest them, the step executed on terms decides: a masked position's weight is zero, and where the loss is a
plain sum all rows of the last weight's gradient are one row.
"""

from collections.abc import Collection, Mapping, Sequence
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from verdict.graph import ABSENT
from verdict.inputs import Domain
from verdict.ops import Array
from verdict.solver import Term, Terms, constants
from verdict.solver.term import Kind as TermKind
from verdict.sweep.claim import MOST_ELEMENTS, Cone
from verdict.sweep.elements import Elements, Ids, Kind
from verdict.sweep.flow import CANNOT
from verdict.sweep.prove import Execution
from verdict.sweep.trace import Keys, Trace, Traces, reads_infinite

STEADY = (0.0, 1.0, float("-inf"))
"""Values that, on all seeds the same, are looked at as constants."""
DIGITS = 10
"""Elements whose values agree so far on all seeds are looked at as equal."""


def settle(
    trace: Trace, number: int, values: list[list[Array | None]], elements: Elements, keys: Keys,
    integers: Mapping[int, Domain],
) -> None:  # fmt: skip
    """Give elements that a step makes the numbers of the constants, or of the earlier ones of it, that they are.

    integers: what the elements of given logical tensors of integers may be: compared with the ends of their range they
    are constants, too.
    Nothing is settled of what reads what may be infinite: symbols are real numbers.
    """
    if reads_infinite(trace, number) or not _is_small(trace, number):
        return
    step = trace.flow.steps[number]
    blocks = [block for ids in trace.reads[number] for block in elements.blocks_of(ids)]
    limited = any(block.kind is Kind.GIVEN and block.owner in integers for block in blocks)
    from_constants = limited or any(block.kind is Kind.CONSTANT for block in blocks)
    read = {block.constant for block in blocks if block.kind is Kind.CONSTANT}
    for position, value in enumerate(step.outputs):
        ids = trace.ids[value] if value != ABSENT else None
        if ids is None:
            continue
        seeds = [np.asarray(seed[value]) for seed in values]
        steady, groups = _steady(seeds, from_constants), _alike(seeds)
        if not steady.any() and not groups:
            continue
        terms = terms_of(trace, number, elements, keys, integers)
        if terms is None:
            return
        own = terms[position]
        if own is not None:
            settled = _handed_on(_constant(ids, seeds, steady, own, elements), own, read, elements)
            trace.ids[value] = _merged(settled, groups, own)


def _steady(seeds: Sequence[Array], from_constants: bool) -> npt.NDArray[np.bool_]:
    """Where an array may be constant. It takes a constant to make one, or a limited integer, of what a step reads."""
    found = np.zeros(seeds[0].shape, dtype=bool)
    for constant in STEADY if from_constants else ():
        found |= np.logical_and.reduce([array == constant for array in seeds])
    return found


def _alike(seeds: Sequence[Array]) -> list[npt.NDArray[np.int64]]:
    """Flat positions of elements that have the same values on all seeds, for all values that occur more than once.

    Not of those that are always zero: they may be constants, but as variables they are rows of a gradient that no
    integer happened to name.
    """
    rows = np.stack([array.ravel() for array in seeds], axis=1)
    with np.errstate(all="ignore"):
        scale = 10.0 ** (DIGITS - np.ceil(np.log10(np.maximum(np.abs(rows), 1e-300))))
        rounded = np.where(np.isfinite(rows) & (rows != 0), np.round(rows * scale) / scale, rows)
    found, inverse, counts = np.unique(rounded, axis=0, return_inverse=True, return_counts=True)
    groups = np.flatnonzero((counts > 1) & found.any(axis=1))
    return [np.flatnonzero(inverse.ravel() == group) for group in groups]


def _constant(ids: Ids, seeds: Sequence[Array], steady: npt.NDArray[np.bool_], terms: Array, elements: Elements) -> Ids:
    settled = ids.copy()
    places = [tuple(place) for place in np.argwhere(steady)]
    due = [float(seeds[0][place]) for place in places]
    for place, constant, holds in zip(places, due, _are([terms[place] for place in places], due), strict=True):
        if holds:
            settled[place] = elements.constant(_exactly(constant))
    return settled


def _handed_on(ids: Ids, terms: Array, read: Collection[Fraction | float], elements: Elements) -> Ids:
    """Elements that are one of the constants that are `read`, whatever else is given, such as the -1e30 of what a mask
    covers, have the number of that: a rank that knows its mask has it as a constant.
    """
    flat = ids.ravel()
    for place, term in enumerate(terms.ravel().tolist() if read else ()):
        if isinstance(term, int | Fraction) and term in read:
            flat[place] = elements.constant(Fraction(term))
    return flat.reshape(ids.shape)


def _merged(ids: Ids, groups: Sequence[npt.NDArray[np.int64]], terms: Array) -> Ids:
    """Elements that are one and the same term have the number of the first of them."""
    flat, values = ids.ravel(), terms.ravel()
    for group in groups:
        first: dict[Term, int] = {}
        for place in group.tolist():
            if isinstance(values[place], Term):
                flat[place] = first.setdefault(values[place], int(flat[place]))
    return flat.reshape(ids.shape)


def _is_small(trace: Trace, number: int) -> bool:
    """Whether a step neither reads nor makes so much that executing it on terms would take long."""
    made = (ids for ids in trace.made[number] if ids is not None)
    return all(sum(ids.size for ids in side) <= MOST_ELEMENTS for side in (trace.reads[number], made))


def terms_of(
    trace: Trace, number: int, elements: Elements, keys: Keys, integers: Mapping[int, Domain]
) -> Sequence[Array | None] | None:
    """What a single-device step makes of symbols; None where it is too large, or cannot be executed on them."""
    if not _is_small(trace, number):
        return None
    traces = Traces(elements, trace, trace, integers, keys)
    try:
        return Execution(traces, Cone((), (number,)), Terms()).step(Kind.SINGLE, number)
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
