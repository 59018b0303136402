"""Whether some, or all, of many truth values hold.

    any   y = 1 - the product of [x is 0]       all   y = the product of [x is not 0]
"""

import numpy as np

from verdict.ops import logic
from verdict.ops.aten.form import Arguments
from verdict.ops.aten.reductions import ONE, extreme, over, reduction, shape_of, solid
from verdict.ops.rule import Array, OpRule
from verdict.ops.types import some


def some_of(args: Arguments) -> Array:
    """Whether some x is not 0."""
    x = args["self"]
    none = _product(args, logic.inverted(logic.truth(solid(x))))
    return logic.inverted(none).reshape(shape_of(args, x))


def every(args: Arguments) -> Array:
    """Whether no x is 0."""
    x = args["self"]
    return _product(args, logic.truth(solid(x))).reshape(shape_of(args, x))


def _product(args: Arguments, x: Array) -> Array:
    rank = args["self"].ndim
    return np.asarray(np.prod(x, axis=over(args, rank) if rank else (0,), keepdims=True), dtype=x.dtype)


RULES: tuple[OpRule, ...] = tuple(
    extreme(reduction(f"aten.{word}{along}", formula, forward, attributes, types=some))
    for word, formula, forward in (("any", "y = [some x is not 0]", some_of), ("all", "y = [no x is 0]", every))
    for along, attributes in (("", {}), (".dim", ONE))
)
