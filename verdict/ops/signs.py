"""Signs and poles of operators: which make no negative numbers, which none at all, and which make numbers of those."""

from collections.abc import Hashable, Mapping, Sequence, Set
from math import isfinite
from typing import Any

from verdict.graph import GRAD
from verdict.ops import FACTS, RULES
from verdict.ops.names import BOUNDS, CHOICES, COMPARING, FINITE, MATRICES, SMOOTH, named
from verdict.ops.types import COMPLEX, FLOAT, cast, kind

LIMITS: Mapping[str, tuple[str, ...]] = {
    **{"clamp": ("min", "max"), "clamp_min": ("min",), "clamp_max": ("max",)},
    **dict.fromkeys(("hardtanh", "hardtanh_backward"), ("min_val", "max_val")),
    **dict.fromkeys(("ge", "gt", "le", "lt"), ("other",)),
}
"""The attributes of operators that bound what they read, or that it is compared with."""
NOT_NEGATIVE, POSITIVE = 1, 2
"""Signs: a greater number says more; 0 says nothing."""

NEVER_NEGATIVE = frozenset(
    {
        *("lt", "exp", "sigmoid", "softmax", "_softmax", "_safe_softmax", "square", "abs"),
        *("zeros", "zeros_like", "ones", "ones_like", "linalg_vector_norm"),
    }
)
"""Operators that make no negative number of any."""
KEEP_SIGNS = frozenset(
    {
        *("add", "accumulate", "sum", "mul", "div", "matmul", "mm", "bmm", "maximum", "amax", "mean"),
        *("rsqrt", "reciprocal", "sqrt", "expm1", "log1p", "minimum", "amin", "floor", "ceil", "round", "clamp"),
        *("identity", "clone", "to", "float", "_to_copy", "pow"),
    }
)
"""Operators that make no negative number of numbers that are not negative, attributes included."""
FACTORS = {"mul": (0, 1), "addcmul": (1, 2)}
"""Operators that multiply two of their inputs, and add what else they read."""
POLES = {
    **dict.fromkeys(("reciprocal", "log", "log2", "log10", "log1p", "rsqrt"), 0),
    **{"div": 1, "true_divide": 1, "addcdiv": 2, "fmod": 1, "remainder": 1},
}
"""Operators that make no number, or an infinite one, where the input at this position is zero."""
POWERS = frozenset({"aten.pow.Tensor_Tensor", "hlo.power"})
"""Powers of which both numbers are read."""
ORDERING = frozenset({"topk", "sort"})
"""Operators whose first output has elements of the first input, and whose second one says where they are."""
ABSORBING = FINITE | {
    *("exp", "expm1", "exp2", "silu", "gelu", "mish", "softplus", "log_sigmoid_forward", "atan", "rsqrt", "reciprocal"),
    *("where", "masked_fill", "relu", "threshold_backward", "hardtanh", "elu", "leaky_relu", "clamp", "clamp_min"),
    *("clamp_max", "maximum", "minimum", "max", "min", "amax", "amin", "index_put", "nan_to_num", "logsumexp", "isnan"),
    *("log_softmax", "_log_softmax", "isinf", "isfinite", "logical_not", "floor", "ceil", "trunc", "round", "nonzero"),
    *("hardsigmoid", "hardswish", "hardsigmoid_backward", "hardswish_backward", "celu", "heaviside"),
    *("logaddexp", "logcumsumexp", "atan2", "copysign", "signbit", "argmax", "argmin", *ORDERING, *MATRICES),
}
"""Operators that may make a number of what is infinite, or none."""
COUNTING = frozenset({"cross_entropy", "nll_loss_forward", "nll_loss_backward"})
"""Operators that divide by how many elements they count, which may be none."""
EVERYWHERE = (SMOOTH | FINITE | NEVER_NEGATIVE) - {"addcdiv", "div", "reciprocal", "pow"} - COUNTING | {
    *("and", "or", "xor", "__and__", "__or__", "__xor__", "not", "all", "any", "argmax", "argmin", "sort", "topk"),
    *("bitwise_and", "bitwise_not", "bitwise_or", "bitwise_xor", "logical_and", "logical_not", "logical_or"),
    *("_adaptive_avg_pool2d", "_adaptive_avg_pool2d_backward", "avg_pool2d", "avg_pool2d_backward", "max_pool2d"),
    *("max_pool2d_with_indices", "max_pool2d_with_indices_backward", "convolution", "convolution_backward"),
    *("_to_copy", "to", "float", "logical_xor", "celu", "clamp", "clamp_max", "clamp_min", "maximum", "minimum"),
    *("~cast", "constant", "create_mask", "full_like", "new_full", "new_ones", "new_zeros", "fill", "one_hot", "zero"),
    *("empty_like", "new_empty", "new_empty_strided", "cumsum", "cumprod", "prod", "dot", "mv", "neg", "linear"),
    *("matmul", "mm", "bmm", "mul", "add", "sum", "mean", "amax", "amin", "max", "min", "floor", "ceil", "round"),
    *("trunc", "elu", "elu_backward", "exp2", "gather", "index", "index_put", "index_select", "take_ids"),
    *("gelu_backward", "glu_backward", "hardsigmoid", "hardsigmoid_backward", "hardswish", "hardswish_backward"),
    *("hardtanh", "hardtanh_backward", "heaviside", "huber_loss", "huber_loss_backward", "leaky_relu", "relu"),
    *("leaky_relu_backward", "log_sigmoid_backward", "logaddexp", "logcumsumexp", "masked_fill", "where"),
    *("mish_backward", "mse_loss_backward", "silu_backward", "smooth_l1_loss", "smooth_l1_loss_backward"),
    *("softplus", "softplus_backward", "threshold_backward", "embedding_dense_backward", "tril", "triu"),
    *("diagonal_backward", "select_backward", "slice_backward", "binary_cross_entropy", "sgn", "identity"),
    *("atan", "atan2", "copysign", "signbit", "gate", "moe_gmm"),
}
"""Operators that make a number of any numbers, their gradients included."""
OPCODES = frozenset(
    {
        *(f"hlo.{name}" for name in ("and", "or", "xor", "not", "bits_and", "bits_or", "bits_xor", "reduce_and")),
        *(f"hlo.{name}" for name in ("convert", "gather", "scatter", "scatter_add", "dynamic_slice", "topk", "sort")),
        *("hlo.dynamic_update_slice", "hlo.reduce_or", "hlo.scatter_maximum", "hlo.scatter_minimum"),
    }
)
"""XLA's opcodes, beside those that are called as operators are, that make a number of any numbers."""
NORMS = frozenset({"layernorm", "native_layer_norm", "native_layer_norm_backward", "native_group_norm"}) | {
    *("native_group_norm_backward", "rms_norm", "_fused_rms_norm", "_fused_rms_norm_backward"),
}
"""Operators that divide by a root of what is not negative and of a number that is stated."""
CHOOSING = CHOICES | {"hlo.select"}
"""Operators that make one of what they read, or of a number that is an attribute, as another input says."""
ADDING = frozenset({"hlo.add", "hlo.subtract"})
"""XLA's opcodes that add."""
STRICT = frozenset(
    {
        *("exp", "sigmoid", "sum", "mean", "mul", "div", "matmul", "rsqrt", "reciprocal", "sqrt", "amax"),
        *("add", "maximum", "identity", "clone", "to", "_to_copy", "abs", "square", "pow"),
    }
)
"""Operators that make positive numbers of positive ones."""
ABOVE_ZERO = frozenset({"exp", "sigmoid", "softmax", "_softmax", "_safe_softmax"})
"""Operators that make positive numbers of any finite ones."""
PICKING = {"gather": 0, "index": 0, "index_select": 0, "embedding": 0}
"""Operators that hand on elements of the input at this position, which the others choose."""
LEAVING_OUT = {"embedding", "scatter", "scatter_add", "index_add", "dropout", "keyed_dropout"} | COUNTING
"""Operators of one formula that need not read all that they are given."""
ARITHMETIC = (SMOOTH - LEAVING_OUT) | {
    *("log", "log2", "log10", "log1p", "rsqrt", "sqrt", "matmul", "mm", "bmm", "mul", "neg", "linear", "dot", "mv"),
    *("add", "sum", "mean", "cumsum", "identity", "clone", "convolution", "convolution_backward", "silu_backward"),
    *("gelu_backward", "mish_backward", "glu_backward", "softplus_backward", "mse_loss_backward", "float"),
}
"""Operators that make no number of what is none, nor do their gradients."""


def nonnegative(op: str, attrs: Mapping[str, Any], read: bool, square: bool = False) -> bool:
    """Whether a node makes no negative number.

    read: that nothing that it reads is negative. square: that nothing is but its `factors`, which are one value.
    """
    name, base = named(op), attrs.get("self")
    even = name == "pow" and (attrs.get("exponent") in (2, 4, 6) or (isinstance(base, int | float) and base > 0))
    numbers = (value for value in attrs.values() if isinstance(value, int | float) and not isinstance(value, bool))
    kept = (square or (read and name in KEEP_SIGNS)) and all(value >= 0 for value in numbers)
    written = name == "constant" and all(value >= 0 for value in attrs["values"])
    bounded = _bound(op, attrs) is not None
    return not op.endswith(GRAD) and (even or name in NEVER_NEGATIVE or kept or written or bounded)


def factors(op: str, attrs: Mapping[str, Any]) -> tuple[int, ...]:
    """The positions of the two inputs that are multiplied, element by element; none where no two are."""
    return () if op.endswith(GRAD) or "other" in attrs else FACTORS.get(named(op), ())


def pole(op: str, attrs: Mapping[str, Any]) -> int | None:
    """The position, but for gradients, of the input that must not be zero; None where any may."""
    name = named(op)
    exponent = attrs.get("exponent")
    if op == "hlo.power":
        return 0
    if name == "pow" and isinstance(exponent, int | float) and exponent < 0:
        return 0
    if "other" in attrs and name in POLES:
        return 0 if attrs.get("reflected") or POLES[name] == 0 else None
    return POLES.get(name)


def sign(
    op: str, attrs: Mapping[str, Any], read: Sequence[int], inputs: Sequence[Hashable], finite: bool, output: int = 0
) -> int:
    """What is known of the signs of an output of a node, from those of what it reads.

    inputs: what tells values apart. finite: whether nothing that it reads may be infinite.
    """
    known = _sign(op, attrs, read, inputs, output)
    return known if finite else min(known, NOT_NEGATIVE)


def _sign(op: str, attrs: Mapping[str, Any], read: Sequence[int], inputs: Sequence[Hashable], output: int) -> int:
    least, rule, name = min(read, default=0), RULES.get(op), named(op)
    if name in ORDERING and not op.endswith(GRAD):
        return read[0] if output == 0 else NOT_NEGATIVE
    if name in PICKING and not op.endswith(GRAD):
        return read[PICKING[name]]
    if rule is not None and rule.zero(attrs):
        return NOT_NEGATIVE
    if rule is not None and (puts := rule.linear_together(len(read))) and attrs.get("alpha", 1) >= 0:
        return min(read[k] for k in puts)
    if rule is not None and read and (rule.moves or rule.copies):
        return min(least, NOT_NEGATIVE) if op == "pad" or not _of_floats(attrs) else least
    if lifts(op, [one == POSITIVE for one in read]) or _above_zero(_bound(op, attrs)):
        return POSITIVE
    at = factors(op, attrs)
    square = len({inputs[k] for k in at}) == 1 and all(one for k, one in enumerate(read) if k not in at)
    if not nonnegative(op, attrs, least > 0, square):
        return 0
    adds = FACTS.is_sum(op) and attrs.get("alpha") != 0
    lifted = adds and (max(read, default=0) == POSITIVE or _above_zero(attrs.get("other")))
    return POSITIVE if lifted or positive(op, attrs, least == POSITIVE) else NOT_NEGATIVE


def adds_up(op: str) -> bool:
    """Whether a node adds up what it reads along the dimensions `dim`."""
    return named(op) == "sum" and not op.endswith(GRAD)


def divisible(op: str) -> int:
    """The least sign of what a node with a pole may be given there, that it makes a number of it: log1p adds one."""
    return NOT_NEGATIVE if named(op) == "log1p" else POSITIVE


def may_fail(op: str, attrs: Mapping[str, Any], read: Sequence[int], grads: int = 0) -> bool:
    """Whether a node may make no number of numbers of these signs, the first `grads` of them gradients.

    It may where nothing else is known of it.
    """
    name, at = named(op), pole(op, attrs)
    known = [*read[grads:], 0]
    exponent = 0.5 if name == "sqrt" else attrs.get("exponent")
    if at is not None:
        return known[min(at, len(known) - 1)] < divisible(op)
    if (name == "pow" and _above_zero(attrs.get("self"))) or (op in POWERS and known[0] == POSITIVE):
        return False
    if name in ("sqrt", "pow") and isinstance(exponent, int | float):
        due = POSITIVE if op.endswith(GRAD) else NOT_NEGATIVE
        return not float(exponent).is_integer() and known[0] < due
    if name == "linalg_vector_norm":
        return op.endswith(GRAD)
    if name in NORMS and attrs.get("eps") == 0:
        return True
    if name in POLES and attrs.get("other"):
        return False
    if name in COUNTING:
        return attrs.get("ignore_index") is not None and attrs.get("reduction", "mean") in (1, "mean")
    return not _carries(op) and name not in EVERYWHERE and op not in OPCODES


def divides(op: str, attrs: Mapping[str, Any]) -> bool:
    """Whether all that a node makes no number of is a divisor that is zero."""
    exponent = attrs.get("exponent")
    power = op != "hlo.power" and isinstance(exponent, int | float) and float(exponent).is_integer()
    return named(op) in {"div", "true_divide", "reciprocal", "addcdiv"} | COUNTING or (named(op) == "pow" and power)


def strict(op: str) -> bool:
    """Whether what a node makes of what is no number is none, either; False where nobody says so: what chooses among
    its inputs, compares or orders them, or counts, may make a number of it.
    """
    strictly = ARITHMETIC if op.endswith(GRAD) else ARITHMETIC | BOUNDS
    return _carries(op) or named(op) in strictly


def compares(op: str) -> bool:
    """Whether a node compares two values."""
    return named(op) in COMPARING


def orders(op: str) -> bool:
    """Whether a node puts values in order: numbers stay numbers beside what is none."""
    return named(op) in ORDERING


def limits(op: str, attrs: Mapping[str, Any]) -> Mapping[str, float]:
    """The numbers among a node's attributes that bound what it reads first, or that it is compared with. Zero is no
    such: what is known by its sign is often known to lie on one side of it.
    """
    found = {name: attrs.get(name) for name in LIMITS.get(named(op), ())}
    return {name: float(x) for name, x in found.items() if isinstance(x, int | float) and isfinite(x) and x}


def absorbs(op: str, attrs: Mapping[str, Any], positions: Set[int], grads: int) -> bool:
    """Whether a node may make a number of what is infinite, or no number, at some positions of its inputs."""
    name, at = named(op), pole(op, attrs)
    whole = name in ("to", "_to_copy") and kind(attrs.get("dtype") or FLOAT) not in (FLOAT, COMPLEX)
    return bool(positions) and (name in ABSORBING or whole or (at is not None and grads + at in positions))


def keeps_places(op: str, makes: bool) -> bool:
    """Whether the numbers that a node reads do not say at which places it makes infinite ones: what chooses makes them,
    or they are moved, cast or added to. makes: whether it makes infinite numbers of finite ones.
    """
    rule = RULES.get(op)
    moved = rule is not None and (rule.moves or rule.copies or rule.additive or rule.types is cast)
    return named(op) in CHOOSING or (not makes and (moved or op in ADDING))


def positive(op: str, attrs: Mapping[str, Any], read: bool) -> bool:
    """Whether a node makes positive numbers of finite ones; read: that all that it reads are."""
    name, base = named(op), attrs.get("self")
    power = name == "pow" and isinstance(base, int | float) and base > 0
    written = name == "constant" and all(value > 0 for value in attrs["values"])
    zero = (name == "mul" and attrs.get("other") == 0) or (name == "pow" and base == 0)
    kept = read and name in STRICT and _of_floats(attrs) and not zero
    return not op.endswith(GRAD) and (power or written or name in ABOVE_ZERO or kept)


def _bound(op: str, attrs: Mapping[str, Any]) -> float | None:
    """The number that is not negative, and that a node makes at least; None where it has none."""
    bounds: list[Any] = [attrs[name] for name in ("min", "max") if attrs.get(name) is not None]
    bounded = named(op) in ("clamp", "clamp_min") and not op.endswith((GRAD, ".Tensor"))
    return min(bounds) if bounded and attrs.get("min") is not None and min(bounds) >= 0 else None


def lifts(op: str, read: Sequence[bool]) -> bool:
    """Whether a node makes positive numbers as some of what it reads is positive, whatever the rest is."""
    name = named(op)
    return any(read) if name == "maximum" else op == "hlo.power" and read[0]


def _carries(op: str) -> bool:
    """Whether a node, or the one that it is the gradient of, does nothing but to move and to add what it reads."""
    rule = RULES.get(op.removesuffix(GRAD))
    return rule is not None and rule.drops is None and (rule.moves or rule.adds or rule.copies or rule.sums)


def _of_floats(attrs: Mapping[str, Any]) -> bool:
    """Whether a node cuts nothing off to make integers."""
    return kind(attrs.get("dtype") or FLOAT) == FLOAT


def _above_zero(value: Any) -> bool:
    return isinstance(value, int | float) and value > 0
