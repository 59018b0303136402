"""Operators by name, of which something holds that their rules do not say."""

from collections.abc import Mapping
from typing import Any

from verdict.graph import GRAD

MATRICES = frozenset(
    {
        *("linalg_inv_ex", "linalg_lu_factor_ex", "linalg_lu", "lu_unpack", "linalg_lu_solve", "linalg_cholesky_ex"),
        *("cholesky", "cholesky_inverse", "cholesky_solve", "linalg_solve_triangular", "_linalg_det"),
        *("_linalg_slogdet", "linalg_qr", "geqrf", "linalg_householder_product", "_linalg_eigh", "_linalg_svd"),
        *("linalg_pinv", "linalg_matrix_exp"),
    }
)
"""Operators that are unknown functions of whole matrices."""
COMPARING = frozenset({"lt", "le", "gt", "ge", "eq", "ne"})
"""Operators that are false (but for ne, which is true) where an operand is no number."""
NEGATIONS = frozenset({"not", "logical_not", "bitwise_not"})
"""Operators that make of a truth value its opposite."""
BOUNDS = frozenset({"relu", "maximum", "minimum", "amax", "amin", "clamp", "clamp_min", "clamp_max", "abs"})
"""Operators that make no number of what is none; their gradients may put a number in its place."""
UNROUNDED = BOUNDS | {"neg", "hlo.negate"}
"""Operators that make what they read, or are told, but for its sign."""
SMOOTH = frozenset(
    {
        *("sub", "rsub", "square", "lerp", "addcmul", "addcdiv", "addmm", "baddbmm", "div", "reciprocal", "pow", "exp"),
        *("tanh", "sigmoid", "silu", "gelu", "mish", "glu", "erf", "sin", "cos", "expm1", "log_sigmoid_forward"),
        *("var", "var_mean", "logsumexp", "softmax", "_softmax", "_safe_softmax", "log_softmax", "_log_softmax"),
        *("rms_norm", "_fused_rms_norm", "layernorm", "native_layer_norm", "native_group_norm"),
        *("tanh_backward", "sigmoid_backward", "_softmax_backward_data", "_log_softmax_backward_data"),
        *("native_layer_norm_backward", "_fused_rms_norm_backward", "native_group_norm_backward"),
        *("apply_mask", "apply_rotary_emb", "embedding", "constant_pad_nd", "index_add", "scatter", "scatter_add"),
        *("cross_entropy", "nll_loss_forward", "nll_loss_backward", "mse_loss", "binary_cross_entropy_with_logits"),
        *("feedforward", "self_attention", "_scaled_dot_product_flash_attention_for_cpu"),
        *("_scaled_dot_product_flash_attention_for_cpu_backward", "sgd", "dropout", "keyed_dropout"),
    }
)
"""Operators of one formula for all numbers but poles, gradients included.

Neither roots, norms and logarithms, which are the absolute value, or nothing at all, for some numbers.
"""
REACHING = frozenset(
    {
        *("sqrt", "pow", "linalg_vector_norm", "exp", "log", "logsumexp", "relu", "abs"),
        *("apply_mask", "apply_rotary_emb", "lerp", "addcmul", "addcdiv", "addmm", "baddbmm", "index_put"),
    }
)
"""Operators that make anything of numbers that may be anything, but for their sign."""
AT_ZERO = frozenset({"sqrt", "rsqrt", "pow", "linalg_vector_norm", "log", "abs", "relu"})
"""Operators that have cases, and all of them at zero."""
HOMOGENEOUS = AT_ZERO - {"log"} | {"div", "reciprocal", "square"}
"""Operators that make a positive multiple, power or inverse of it of a positive multiple of what they read."""
STEPS = frozenset({"adam", "adamw"})
"""Operators that divide by a root, and add to a weight: they make anything where all inputs but one may be anything."""
PADS = frozenset({"constant_pad_nd", "slice_backward", "select_backward"})
"""Operators that put what they read among elements of one number."""
MOST_FACTOR = 1 << 20
"""The greatest numerator and denominator of a number by which values are known to be multiplied: 0.1 is none such."""
BACKWARD = "_backward"
"""In the names of gradients that are operators of their own; they are linear in what they read first."""
FINITE = frozenset(
    {
        *("softmax", "_softmax", "_safe_softmax", "sigmoid", "tanh", "erf"),
        *("eq", "ne", "lt", "le", "gt", "ge", "sign"),
    }
)
"""Operators that make no infinite number of infinite ones, of either sign: exp does of plus infinity."""
MASKED = {
    "_scaled_dot_product_flash_attention_for_cpu": 3,
    "_scaled_dot_product_flash_attention_for_cpu_backward": 6,
    "exp": 0,
    "_log_softmax_backward_data": 1,
    "nll_loss_backward": 1,
}
"""The position of what may be minus infinity at some places, as a mask is, of which nothing infinite is made."""
GREATER = "maximum"
"""The operator that makes of minus infinity and a finite number the latter."""
CONDITIONS = {"masked_fill": 1, "where": 0}
"""Of operators that make one of what they read, or of a number that is an attribute, where what says which is."""
CHOICES = frozenset(CONDITIONS)
"""These operators."""
FILLS = CHOICES | {"full", "full_like", "scalar_tensor", "fill"}
"""Operators that write a number that is an attribute where it is chosen, or everywhere."""
PRODUCTS = frozenset({"cumprod"})
"""Operators that multiply the elements of an axis."""
FALLING = CHOICES | {"log_softmax", "_log_softmax"}
"""Operators that make no plus infinity where they read minus infinity."""
SCALED = frozenset({"native_layer_norm", "_fused_rms_norm", "layernorm", "rms_norm", "rmsnorm"})
"""Operators that times their results by a weight, where they have one."""
LOOKUPS, LOOKUP_GRADIENTS = frozenset({"aten.embedding"}), frozenset({"aten.embedding_dense_backward"})
"""Operators that read a table and row numbers, and their gradients, which read that of the rows and their numbers."""
HLO = {
    **{f"hlo.{name}": name for name in ("add", "maximum", "minimum", "abs", "log", "sqrt", "rsqrt", "floor", "ceil")},
    **{f"hlo.{name}": name for name in ("sign", "tanh", "erf", "clamp", "constant")},
    "hlo.subtract": "sub",
    "hlo.negate": "neg",
    "hlo.sine": "sin",
    "hlo.cosine": "cos",
    "hlo.convert": "_to_copy",
    "hlo.not": "not",
    "hlo.and": "and",
    "hlo.multiply": "mul",
    "hlo.divide": "div",
    "hlo.power": "pow",
    "hlo.exponential": "exp",
    "hlo.exponential_minus_one": "expm1",
    "hlo.log_plus_one": "log1p",
    "hlo.logistic": "sigmoid",
    "hlo.round_nearest_even": "round",
    "hlo.compare": "lt",
    "hlo.is_finite": "lt",
    "hlo.select": "where",
    "hlo.dot": "matmul",
    "hlo.reduce_add": "sum",
    "hlo.reduce_maximum": "amax",
    "hlo.reduce_minimum": "amin",
    **{f"hlo.{name}": "identity" for name in ("broadcast", "reshape", "transpose", "slice", "reverse", "concatenate")},
    "hlo.pad": "identity",
}
"""Opcodes by the names of operators that are like them in signs, poles and infinite numbers."""


def name_of(op: str) -> str:
    """The name of an operator, without dialect, overload and whether it is a gradient."""
    return op.removesuffix(GRAD).removeprefix("aten.").partition(".")[0]


def named(op: str) -> str:
    """The name of an operator, that of an opcode's like among them."""
    return HLO.get(op) or name_of(op)


def has_cases(name: str, attrs: Mapping[str, Any]) -> bool:
    """Whether attributes make an operator of one formula one of several: quotients that are rounded, roots."""
    if name == "pow":
        return attrs.get("exponent") is None or attrs["exponent"] % 1 != 0
    rounded = attrs.get("rounding_mode", attrs.get("rounding")) is not None
    return rounded or attrs.get("eps") == 0
