"""Signs and poles of operators: which make no negative numbers, which none at all, and which make numbers of those."""

from collections.abc import Mapping, Sequence, Set
from typing import Any

from verdict.graph import GRAD
from verdict.ops.facts import name_of
from verdict.ops.names import FINITE, HLO

NEVER_NEGATIVE = frozenset(
    {
        *("lt", "exp", "sigmoid", "softmax", "_softmax", "_safe_softmax", "square", "abs"),
        *("zeros", "zeros_like", "ones", "ones_like"),
    }
)
"""Operators that make no negative number of any."""
KEEP_SIGNS = frozenset(
    {
        *("add", "accumulate", "sum", "mul", "div", "matmul", "mm", "bmm", "maximum", "amax", "mean"),
        *("rsqrt", "reciprocal", "sqrt", "expm1", "log1p", "minimum", "amin", "floor", "ceil", "round", "clamp"),
        *("identity", "clone", "to", "float"),
    }
)
"""Operators that make no negative number of numbers that are not negative, attributes included."""
FACTORS = {"mul": (0, 1), "addcmul": (1, 2)}
"""Operators that multiply two of their inputs, and add what else they read."""
POLES = {
    **dict.fromkeys(("reciprocal", "log", "log2", "log10", "log1p", "rsqrt"), 0),
    **{"div": 1, "true_divide": 1, "addcdiv": 2},
}
"""Operators that make no number, or an infinite one, where the input at this position is zero."""
ABSORBING = FINITE | {
    *("exp", "expm1", "exp2", "silu", "gelu", "mish", "softplus", "log_sigmoid_forward", "atan", "rsqrt", "reciprocal"),
    *("where", "masked_fill", "relu", "threshold_backward", "hardtanh", "elu", "leaky_relu", "clamp", "clamp_min"),
    *("clamp_max", "maximum", "minimum", "max", "min", "amax", "amin", "index_put", "nan_to_num", "logsumexp", "isnan"),
    *("log_softmax", "_log_softmax", "isinf", "isfinite", "logical_not", "floor", "ceil", "trunc", "round", "nonzero"),
    *("hardsigmoid", "hardswish", "hardsigmoid_backward", "hardswish_backward", "celu", "heaviside"),
    *("logaddexp", "logcumsumexp"),
}
"""Operators that may make a number of what is infinite, or none."""
ROOTS = frozenset({"sqrt", "acos", "asin", "acosh", "atanh", "log1p", "logit", "erfinv", "pow", "std", "cholesky"})
"""Operators that make no number of some numbers, beside those with poles; a power where its exponent is no integer."""
COMPARING = frozenset({"lt", "le", "gt", "ge", "eq", "ne"})
"""Operators that are false (but for ne, which is true) where an operand is no number."""
STRICT = frozenset(
    {
        *("exp", "sigmoid", "sum", "mean", "mul", "div", "matmul", "rsqrt", "reciprocal", "sqrt", "amax"),
        *("add", "maximum", "identity", "clone", "to"),
    }
)
"""Operators that make positive numbers of positive ones; the first two of any."""


def nonnegative(op: str, attrs: Mapping[str, Any], read: bool, square: bool = False) -> bool:
    """Whether a node makes no negative number.

    read: that nothing that it reads is negative. square: that nothing is but its `factors`, which are one value.
    """
    name, base = _named(op), attrs.get("self")
    even = name == "pow" and (attrs.get("exponent") in (2, 4, 6) or (isinstance(base, int | float) and base > 0))
    numbers = (value for value in attrs.values() if isinstance(value, int | float) and not isinstance(value, bool))
    kept = (square or (read and name in KEEP_SIGNS)) and all(value >= 0 for value in numbers)
    written = name == "constant" and all(value >= 0 for value in attrs["values"])
    return not op.endswith(GRAD) and (even or name in NEVER_NEGATIVE or kept or written)


def factors(op: str, attrs: Mapping[str, Any]) -> tuple[int, ...]:
    """The positions of the two inputs that are multiplied, element by element; none where no two are."""
    return () if op.endswith(GRAD) or "other" in attrs else FACTORS.get(_named(op), ())


def pole(op: str, attrs: Mapping[str, Any]) -> int | None:
    """The position, but for gradients, of the input that must not be zero; None where any may."""
    name = _named(op)
    exponent = attrs.get("exponent")
    if op == "hlo.power":
        return 0
    if name == "pow" and isinstance(exponent, int | float) and exponent < 0:
        return 0
    if "other" in attrs and name in POLES:
        return 0 if attrs.get("reflected") or POLES[name] == 0 else None
    return POLES.get(name)


def may_fail(op: str, attrs: Mapping[str, Any]) -> bool:
    """Whether a node makes no number of some numbers, whatever is known of their signs."""
    exponent = attrs.get("exponent")
    whole = isinstance(exponent, int) or (isinstance(exponent, float) and exponent.is_integer())
    return pole(op, attrs) is not None or (_named(op) in ROOTS and not whole)


def compares(op: str) -> bool:
    """Whether a node compares two values."""
    return _named(op) in COMPARING


def absorbs(op: str, attrs: Mapping[str, Any], positions: Set[int], grads: int) -> bool:
    """Whether a node may make a number of what is infinite, or no number, at some positions of its inputs."""
    name, at = _named(op), pole(op, attrs)
    return bool(positions) and (name in ABSORBING or (at is not None and grads + at in positions))


def positive(op: str, attrs: Mapping[str, Any], read: bool) -> bool:
    """Whether a node makes positive numbers; read: that all that it reads are."""
    name, base = _named(op), attrs.get("self")
    power = name == "pow" and isinstance(base, int | float) and base > 0
    written = name == "constant" and all(value > 0 for value in attrs["values"])
    return not op.endswith(GRAD) and (power or written or name in {"exp", "sigmoid"} or (read and name in STRICT))


def is_sum(op: str) -> bool:
    """Whether an opcode adds what it reads."""
    return op == "hlo.add"


def lifts(op: str, read: Sequence[bool]) -> bool:
    """Whether a node makes positive numbers as some of what it reads is positive, whatever the rest is."""
    name = _named(op)
    return any(read) if name == "maximum" else op == "hlo.power" and read[0]


def _named(op: str) -> str:
    """The name of an operator, that of an opcode's like among them."""
    return HLO.get(op) or name_of(op)
