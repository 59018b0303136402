"""Whole numbers and truth values that floats of few bits make of nothing that is given: as their type rounds them.

Proofs are over the real numbers, and what casts round is not compared. But 300 positions that are counted in bfloat16
are not 300 numbers, and the rows that they name, or what they mask, are other ones. What depends on nothing that is
given is known, so it is computed here, as torch does and exactly: where a type holds fewer bits than a whole number
has, a cast stands behind what makes it; integers, truth values and what is made whole are constants where both differ.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from math import prod
from typing import Any

import torch

from verdict.backends.torch.choices import is_discrete, numbers_in
from verdict.backends.torch.known import constants
from verdict.backends.torch.replay import apply, doubled, typed
from verdict.backends.torch.trace import UNKNOWN, UNMODELLED, Step, Trace, Value
from verdict.errors import UsageError
from verdict.graph import ABSENT
from verdict.ops.integers import GREATEST_COUNT, SIGNIFICANT, held

MOST_FOLLOWED = 1 << 20
"""What has more elements is not computed, nor what is made of it: positions and masks of a thousand of them are."""
RECORDED = "aten."
"""How the names of operators begin that torch computes here; what compilers wrote has operators of its own."""
MOST_CONSTANT = 4096
"""Up to so many elements are written out as a constant, as many as a recording may hold of one tensor."""
CASTS = frozenset({"aten._to_copy", "aten.arange"})
"""What rounds whole numbers as the type does by its own rule."""
Pair = tuple[Any, Any]
WHOLE = frozenset({"aten.floor", "aten.ceil", "aten.round", "aten.trunc"})
"""What makes whole numbers of any type."""


def narrowed(trace: Trace) -> Trace:
    """`trace` with the whole numbers and truth values that its known floats make."""
    values = list(trace.values)
    known: dict[int, Pair] = {ABSENT: (None, None)}
    steps = [found for step in trace.steps for found in _followed(step, values, known)]
    return replace(trace, values=tuple(values), steps=tuple(steps))


def _followed(step: Step, values: list[Value], known: dict[int, Pair]) -> Iterator[Step]:
    """The step, and what stands behind or in place of it. known: of each value what torch makes, and what is exact."""
    made = _made(step, values, known) if _is_known(step, values, known) else None
    if made is None:
        yield step
        return
    known |= made
    apart = [value for value, pair in made.items() if _is_whole(step, values[value]) and _differ(*pair)]
    if len(made) == 1 and not apart:
        yield from _behind(step, next(iter(made)), values, known)
    elif not apart:
        yield step
    elif len(made) == 1 and made[apart[0]][0].numel() <= MOST_CONSTANT and made[apart[0]][0].isfinite().all():
        numbers = made[apart[0]][0]
        known[apart[0]] = numbers, numbers.double() if numbers.is_floating_point() else numbers
        yield from constants(values, apart[0], numbers_in(numbers), step.name)
    else:
        reason = f"{step.name} makes whole numbers of floats, as their type rounds them"
        yield Step(UNMODELLED, (), step.outputs, (("reason", reason),), step.name)
        for value in made:
            del known[value]


def _behind(step: Step, value: int, values: list[Value], known: dict[int, Pair]) -> Iterator[Step]:
    """A step that makes one known value, and the cast to its type that rounds whole numbers."""
    as_it_is, exact = known[value]
    found = _rounded(exact, values[value].dtype)
    if found is None or step.op in CASTS:
        known[value] = as_it_is, exact if found is None else found
        yield step
        return
    known[value] = as_it_is, found
    values.append(values[value])
    yield step._replace(outputs=tuple(len(values) - 1 if out == value else out for out in step.outputs))
    yield Step("aten._to_copy", (len(values) - 1,), (value,), (("dtype", values[value].dtype),), step.name)


def _made(step: Step, values: Sequence[Value], known: Mapping[int, Pair]) -> dict[int, Pair] | None:
    """What a step makes of known values, in its types and exactly; None where it takes nothing of the kind."""
    attrs, wide = dict(step.attrs), {name: doubled(value) for name, value in step.attrs}
    try:
        as_it_is = apply(step.op, [known[value][0] for value in step.inputs], attrs)
        exactly = apply(step.op, [known[value][1] for value in step.inputs], wide)
    except UsageError:
        return None
    pairs = zip(step.outputs, as_it_is, exactly, strict=True)
    return {value: (typed(one, values[value].dtype), _wide(other)) for value, one, other in pairs if value != ABSENT}


def _is_known(step: Step, values: Sequence[Value], known: Mapping[int, Pair]) -> bool:
    """Whether a step can be computed: of known values, none of which is memory that nobody wrote to."""
    if step.keep or not step.op.startswith(RECORDED) or step.op in UNKNOWN or "empty" in step.op:
        return False
    sizes = (prod(values[value].shape) for value in step.outputs if value != ABSENT)
    return all(value in known for value in step.inputs) and all(size <= MOST_FOLLOWED for size in sizes)


def _is_whole(step: Step, value: Value) -> bool:
    return is_discrete(value) or step.op in WHOLE


def _differ(one: Any, other: Any) -> bool:
    one, other = one.double(), other.double()
    return bool(((one != other) & ~(one.isnan() & other.isnan())).any())


def _wide(value: Any) -> Any:
    return value.double() if value.is_floating_point() else value


def _rounded(exact: Any, dtype: str) -> Any:
    """Known numbers, the whole ones as the type holds them; None where it holds all of them."""
    if dtype not in SIGNIFICANT:
        return None
    beyond = (exact.abs() > 1 << SIGNIFICANT[dtype]) & (exact.abs() < GREATEST_COUNT) & (exact == exact.trunc())
    if not beyond.any():
        return None
    found = exact.clone()
    found[beyond] = torch.from_numpy(held(exact[beyond].numpy(), dtype))
    return None if torch.equal(found, exact) else found
