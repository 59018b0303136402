"""Results of the single-device plan that mean nothing: agreeing with them proves nothing.

A loss that is never anything but zero, or not defined; a weight that does not influence the loss though a gradient of
it is declared; a gradient that does not come from the loss, or is zero whatever the values are. What depends on what
is read off the wiring. What is zero, or not defined, is asked of the operators' own rules: each distinct node is run
at its smallest shapes, with zeros where it reads zeros: on random numbers, and where these leave a doubt on symbols; of
large ones, those that read zeros or one value twice.
"""

import math
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from verdict.errors import ShapeError
from verdict.graph import WEIGHT
from verdict.lineage import Meaning, Reference
from verdict.lineage.reference import Bases, Partner
from verdict.ops import FACTS, Array
from verdict.solver import Kind, SolverError, Term, Terms
from verdict.stage.bounds import cuts_of
from verdict.stage.execute import Side
from verdict.stage.numbers import Drawn, TooLarge
from verdict.stage.shrink import Shrunk, count, shrink

MOST_ELEMENTS = 1_000
"""Up to so many elements, a node is run though nothing that it reads is known."""
SEED, CLEARLY = 1, 1e-6
"""Of the random numbers on which a node is run first, and from where on a number of theirs is no rounding of zero."""
UNDEFINED = (ZeroDivisionError, OverflowError)
"""What an operator raises that is run on exact numbers outside of its domain."""
CANNOT = (ShapeError, SolverError, ValueError)
"""What it raises where it cannot be run on symbols."""


class Vacuous(NamedTuple):
    """What means nothing, and why."""

    where: str
    reason: str


class _Known(NamedTuple):
    """Of every base: whether it is always zero, whether it is never defined, and which given bases it depends on."""

    zero: set[int]
    undefined: set[int]
    sources: dict[int, int]

    def is_zero(self, value: Bases) -> bool:
        """A sum of what is zero is zero."""
        return all(base in self.zero for base in value)

    def of(self, value: Bases) -> int:
        """The given bases that a formal sum depends on, one bit for each."""
        found = 0
        for base in value:
            found |= self.sources[base]
        return found


def vacuous(reference: Reference) -> Iterator[Vacuous]:
    """What the declared losses and gradients of the single-device plan leave without a meaning."""
    known = _known(reference)
    plan = reference.plan
    influence = 0
    for held in plan.losses:
        value = reference.values.get(held.tensor, ())
        influence |= known.of(value)
        name = plan.logicals[plan.tensors[held.tensor].logical].name
        if known.undefined & set(value):
            yield Vacuous(f"loss {name}", "it is never defined (nothing to compare)")
        elif known.is_zero(value):
            yield Vacuous(f"loss {name}", "it is zero whatever the values are (nothing to compare)")
    seeds = sum({1 << base for seed in plan.seeds for base in reference.values.get(seed, ())})
    for held in plan.gradients:
        logical = plan.tensors[held.weight].logical
        weight, value = plan.logicals[logical], reference.values.get(held.tensor, ())
        if weight.kind != WEIGHT or not value:
            continue
        if known.is_zero(value):
            yield Vacuous(f"weight {weight.name}", "its gradient is zero whatever the values are (nothing to compare)")
        elif seeds and not known.of(value) & seeds:
            yield Vacuous(f"weight {weight.name}", "its gradient does not come from the loss (nothing to compare)")
        elif plan.losses and not influence & (1 << reference.given.get(logical, len(reference.bases))):
            yield Vacuous(f"weight {weight.name}", "the loss does not depend on it, though it has a gradient")


def _known(reference: Reference) -> _Known:
    known = _Known(set(), set(), {})
    ran: dict[tuple[object, ...], Sequence[Array | None] | None] = {}
    for index, base in enumerate(reference.bases):
        if base.node < 0:
            known.sources[index] = 1 << index
    for partner in reference.partners:
        sources = 0
        for value in partner.inputs:
            sources |= known.of(value)
        zeros = tuple(known.is_zero(value) for value in partner.inputs)
        key = (partner.signature, zeros)
        if key not in ran:
            made = _run(partner, zeros, reference.columns)
            ran[key] = () if _lacks(partner, made) and _somewhere(partner, zeros, reference.columns) else made
        made = ran[key]
        undefined = made is None or any(known.undefined & set(value) for value in partner.inputs)
        for position, output in enumerate(partner.outputs):
            if output < 0:
                continue
            known.sources[output] = sources
            if undefined or made is None or (partner.inputs and _has_no_value(made, position)):
                known.undefined.add(output)
            elif _zero(made, position):
                known.zero.add(output)
    return known


def _lacks(partner: Partner, made: Sequence[Array | None] | None) -> bool:
    """Whether some output of a node that reads something has no value."""
    if made is None:
        return True
    return bool(partner.inputs) and any(_has_no_value(made, position) for position in range(len(partner.outputs)))


def _somewhere(partner: Partner, zeros: Sequence[bool], columns: int) -> bool:
    """Whether all outputs of a node have values where one more of its inputs is zero: a mask that hides nothing."""
    for position, zero in enumerate(zeros):
        more = (*zeros[:position], True, *zeros[position + 1 :])
        made = None if zero else _run(partner, more, columns)
        if made and not _lacks(partner, made):
            return True
    return False


def _run(partner: Partner, zeros: Sequence[bool], columns: int) -> Sequence[Array | None] | None:
    """What a node makes of zeros and symbols; None where it is not defined there, nothing where that is not asked."""
    meaning = partner.meaning
    if FACTS.zero(partner.node.op, dict(partner.node.attrs)):
        return tuple(np.zeros(1, dtype=object) for _ in partner.outputs)
    if meaning.problem:
        return ()
    try:
        return _applied(meaning, zeros, columns)
    except UNDEFINED:
        return None
    except CANNOT:
        return ()


def _applied(meaning: Meaning, zeros: Sequence[bool], columns: int) -> Sequence[Array | None]:
    shrunk = shrink(meaning, cuts_of(meaning, [], []), columns)
    alias = meaning.signature.alias
    if not any(zeros) and len(set(alias)) == len(alias) and count(meaning, shrunk) > MOST_ELEMENTS:
        return ()
    if _seen(meaning, shrunk, zeros):
        return ()
    side = Side(meaning, shrunk, Terms())
    inputs = [np.zeros(x.shape, dtype=object) if zero else x for x, zero in zip(side.inputs, zeros, strict=True)]
    return side.apply(inputs, side.attrs)


def _seen(meaning: Meaning, shrunk: Shrunk, zeros: Sequence[bool]) -> bool:
    """Whether random numbers show that every output is defined, and has elements that are not zero."""
    try:
        with np.errstate(all="ignore"):
            side = Drawn(meaning, shrunk, np.random.default_rng(SEED))
            inputs = [np.zeros_like(x) if zero else x for x, zero in zip(side.inputs, zeros, strict=True)]
            made = side.apply(inputs, side.attrs)
    except (TooLarge, ArithmeticError, IndexError, *CANNOT):
        return False
    arrays = [np.asarray(array, dtype=float) for array in made if array is not None]
    return all(np.isfinite(array).all() and (np.abs(array) > CLEARLY).any() for array in arrays)


def _numbers(made: Sequence[Array | None], position: int) -> list[float] | None:
    """The values of the elements of an output, if all of them have one that is known; NaN where not defined."""
    found = made[position] if position < len(made) else None
    if found is None or not found.size:
        return None
    values = [_value(element) for element in np.asarray(found, dtype=object).flat]
    known = [value for value in values if value is not None]
    return known if len(known) == len(values) else None


def _value(element: Any) -> float | None:
    """The value that an element has wherever it is defined, where it is known."""
    if not isinstance(element, Term):
        return float(element)
    if element.kind is Kind.UNDEFINED:
        return math.nan
    if element.kind is Kind.CONSTANT:
        return float(element.data)
    if element.kind is Kind.SUM:
        value, coefficients = element.data
        return None if any(coefficients.values()) else float(value)
    return None


def _zero(made: Sequence[Array | None], position: int) -> bool:
    found = _numbers(made, position)
    return found is not None and not any(found)


def _has_no_value(made: Sequence[Array | None], position: int) -> bool:
    """Whether some element is not defined, or all are infinite; a mask may hold minus infinity."""
    found = _numbers(made, position)
    return found is not None and (any(map(math.isnan, found)) or not any(map(math.isfinite, found)))
