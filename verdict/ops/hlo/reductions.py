"""reduce: over some dimensions, by the operator that its computation is. An initial value is an operator of its own."""

from dataclasses import replace

from verdict.ops.aten.reductions import OVER, amax, amin, extreme, reduction, summed
from verdict.ops.aten.truths import every, some_of
from verdict.ops.hlo.form import SOURCE
from verdict.ops.rule import Law
from verdict.ops.types import like_first, truth

DIM = {**OVER, "dtype": None}

RULES = tuple(
    replace(rule, source=SOURCE)
    for rule in (
        reduction("hlo.reduce_add", "y = sum of x over dim", summed, DIM, Law.SUM, (0,), types=like_first),
        *(
            extreme(reduction(f"hlo.reduce_{word}", formula, forward, of_none=False, few=True, types=like_first))
            for word, formula, forward in (
                ("maximum", "y = the greatest of x over dim", amax),
                ("minimum", "y = the smallest of x over dim", amin),
            )
        ),
        extreme(reduction("hlo.reduce_and", "y = [no x over dim is 0]", every, types=truth)),
        extreme(reduction("hlo.reduce_or", "y = [some x over dim is not 0]", some_of, types=truth)),
    )
)
