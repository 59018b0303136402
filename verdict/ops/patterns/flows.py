"""What recorded operators do with coordinates along an axis: ids, positions and what is computed of them."""

from verdict.ops.pattern import Flow

_TWO = ("Tensor", "Scalar")
_SMOOTH = (
    "neg", "exp", "log", "log1p", "sin", "cos", "sqrt", "rsqrt", "reciprocal", "square", "sigmoid", "tanh",
    "pow.Tensor_Scalar", "pow.Scalar", "pow.Tensor_Tensor", "mul.Tensor", "mul.Scalar", "div.Tensor", "div.Scalar",
    "rsub.Tensor", "rsub.Scalar", "mm", "bmm",
)  # fmt: skip

FLOWS = {
    **{f"aten.{name}": Flow.SMOOTH for name in _SMOOTH},
    **{f"aten.{name}.{word}": Flow.SHIFTED for name in ("add", "sub") for word in _TWO},
    **{f"aten.{name}.{word}": Flow.COMPARED for name in ("lt", "le", "gt", "ge", "eq", "ne") for word in _TWO},
    **{f"aten.masked_fill.{word}": Flow.MOVED for word in _TWO},
    **{f"aten.where.{word}": Flow.MOVED for word in ("self", "ScalarOther", "ScalarSelf", "Scalar")},
    **{f"aten.{name}": Flow.MOVED for name in ("index_put", "gather", "index_select", "index.Tensor", "_to_copy")},
}
