"""Whole numbers and truth values that floats of few bits make of nothing that is given: as their type rounds them.

Proofs are over the real numbers, and what casts round is not compared. But 300 positions that are counted in bfloat16
are not 300 numbers, and the rows that they name, or what they mask, are other ones. What depends on nothing that is
given is known, so it is computed here, as torch does and exactly: where a type holds fewer bits than a whole number
has, a cast stands behind what makes it; integers, truth values and what is made whole are constants where both differ,
and where they are made of what is no fraction, as buckets of distances are made of logarithms.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from math import prod
from typing import Any

import numpy as np
import torch

from verdict.backends.torch.choices import is_discrete, numbers_in
from verdict.backends.torch.known import constants
from verdict.backends.torch.replay import apply, doubled, typed
from verdict.backends.torch.trace import COMMUNICATION, UNKNOWN, UNMODELLED, Step, Trace, Value
from verdict.errors import ShapeError, UsageError
from verdict.graph import ABSENT
from verdict.ops import RULES, Array
from verdict.ops.elements import is_number
from verdict.ops.integers import GREATEST_COUNT, SIGNIFICANT, held

MOST_FOLLOWED = 1 << 20
"""What has more elements is not computed, nor what is made of it: positions and masks of a thousand of them are."""
MOST_CONSTANT = 4096
"""Up to so many elements are written out as a constant, as many as a recording may hold of one tensor. So many are
computed with fractions, more of them in 64 bits."""
CASTS = frozenset({"aten._to_copy", "aten.arange"})
"""What rounds whole numbers as the type does by its own rule."""
UNFIT = (ArithmeticError, AttributeError, IndexError, ShapeError, TypeError, ValueError)
"""What a rule raises that makes nothing of known numbers."""
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
    rough = len(made) == 1 and any(_is_rough(known[value][1]) for value in step.inputs if value != ABSENT)
    whole = [value for value in made if _is_whole(step, values[value])]
    apart = [v for v in whole if _differ(*made[v]) or (rough and made[v][0].numel() <= MOST_CONSTANT)]
    if len(made) == 1 and not apart:
        yield from _behind(step, next(iter(made)), values, known)
    elif not apart:
        yield step
    elif len(made) == 1 and made[apart[0]][0].numel() <= MOST_CONSTANT and made[apart[0]][0].isfinite().all():
        numbers = made[apart[0]][0]
        known[apart[0]] = numbers, numbers.double().numpy() if numbers.is_floating_point() else numbers.numpy()
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
    try:
        as_it_is = apply(step.op, [known[value][0] for value in step.inputs], dict(step.attrs))
        exactly = _by_rule(step, values, known) or _in_64_bits(step, values, known)
    except UsageError:
        return None
    pairs = zip(step.outputs, as_it_is, exactly, strict=True)
    return {value: (typed(one, values[value].dtype), other) for value, one, other in pairs if value != ABSENT}


def _by_rule(step: Step, values: Sequence[Value], known: Mapping[int, Pair]) -> list[Array] | None:
    """What the operator's rule makes of few numbers, as a proof does; None where it makes no numbers of these."""
    outputs = [values[value].shape if value != ABSENT else None for value in step.outputs]
    inputs = [known[value][1] for value in step.inputs if value != ABSENT]
    rule, sizes = RULES.get(step.op), [*(prod(shape or ()) for shape in outputs), *(x.size for x in inputs)]
    if rule is None or max(sizes, default=0) > MOST_CONSTANT:
        return None
    try:
        made = [np.asarray(each) for each in rule.forward(inputs, dict(step.attrs))]
    except UNFIT:
        return None
    shaped = [shape for shape in outputs if shape is not None] == [each.shape for each in made]
    numbers = shaped and None not in outputs and all(is_number(x) for each in made for x in each.flat)
    return made if numbers else None


def _in_64_bits(step: Step, values: Sequence[Value], known: Mapping[int, Pair]) -> list[Array | None]:
    inputs = [None if value == ABSENT else _tensor(known[value][1], values[value].dtype) for value in step.inputs]
    found = apply(step.op, inputs, {name: doubled(value) for name, value in step.attrs})
    return [None if x is None else x.double().numpy() if x.is_floating_point() else x.numpy() for x in found]


def _tensor(exact: Array | None, dtype: str) -> Any:
    """Exact numbers as a tensor; of a type that is no float it has theirs."""
    wide = doubled(dtype)
    return typed(torch.from_numpy(np.asarray(exact, dtype=np.float64 if wide == "float64" else np.int64)), str(wide))


def _is_known(step: Step, values: Sequence[Value], known: Mapping[int, Pair]) -> bool:
    """Whether a step can be computed: of known values, none of which is memory that nobody wrote to."""
    if step.keep or step.op in COMMUNICATION or step.op in UNKNOWN or "empty" in step.op:
        return False
    made = [values[value] for value in step.outputs if value != ABSENT]
    plain = not any(each.dtype.startswith(("complex", "float8")) or prod(each.shape) > MOST_FOLLOWED for each in made)
    return plain and all(value in known for value in step.inputs)


def _is_whole(step: Step, value: Value) -> bool:
    return is_discrete(value) or step.op in WHOLE


def _is_rough(exact: Array) -> bool:
    """Whether numbers are no fractions, as logarithms are none: proofs know their values as floats alone."""
    return exact.size <= MOST_CONSTANT and any(isinstance(x, float) and x % 1 > 0 for x in exact.flat)


def _differ(made: Any, exact: Array) -> bool:
    """Whether torch makes other whole numbers than these."""
    if exact.dtype.kind == "O":
        return any(one != other for one, other in zip(made.reshape(-1).tolist(), exact.flat, strict=True))
    found = made.double().numpy()
    return bool(((found != exact) & ~(np.isnan(found) & np.isnan(exact))).any())


def _rounded(exact: Any, dtype: str) -> Array | None:
    """Known numbers, the whole ones as the type holds them; None where it holds all of them."""
    if dtype not in SIGNIFICANT:
        return None
    wide = np.abs(np.asarray(exact, dtype=np.float64))
    beyond = (wide > 1 << SIGNIFICANT[dtype]) & (wide < GREATEST_COUNT) & (wide == np.trunc(wide))
    if not beyond.any():
        return None
    found = exact.copy()
    found[beyond] = held(exact[beyond], dtype)
    return None if (found == exact).all() else found
