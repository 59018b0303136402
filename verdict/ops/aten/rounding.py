"""Real numbers brought to whole ones: floor, ceil, trunc, and round, which of two takes the even one."""

from functools import partial

from verdict.ops import integers
from verdict.ops.aten.elementwise import each
from verdict.ops.rule import OpRule

FORMULAS = {
    "floor": "y = the greatest integer up to x",
    "ceil": "y = the least integer from x on",
    "trunc": "y = x without its fraction",
    "round": "y = the nearest integer, of two the even one",
}

RULES: tuple[OpRule, ...] = tuple(
    each(f"aten.{name}", "self", formula, partial(integers.rounded, name), assumptions=(integers.ROUNDED,))
    for name, formula in FORMULAS.items()
)
