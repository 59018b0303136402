"""Products of the elements over a dimension, or over all: prod."""

import numpy as np

from verdict.ops import integers
from verdict.ops.aten.form import REQUIRED, Arguments
from verdict.ops.aten.reductions import ALL, asked, over, reduction, shape_of, solid
from verdict.ops.casts import CAST
from verdict.ops.rule import Array, OpRule
from verdict.ops.types import counted, kind


def _product(args: Arguments) -> Array:
    x = asked(args)
    made = solid(x)
    for place in over(args, x.ndim) if x.ndim else (0,):
        made = np.asarray(np.multiply.reduce(made, axis=place, keepdims=True))
    return integers.wrapped(made.reshape(shape_of(args, x)), kind(args["dtype"]))


RULES: tuple[OpRule, ...] = (
    reduction("aten.prod", "y = product of x", _product, ALL, assumptions=(CAST,), types=counted),
    reduction(
        "aten.prod.dim_int",
        "y = product of x over dim",
        _product,
        {"dim": REQUIRED, "keepdim": False, **ALL},
        assumptions=(CAST,),
        types=counted,
    ),
)
