"""What recorded operators do with coordinates along an axis, and with what is counted along one."""

from verdict.ops.pattern import Flow

_TWO = ("Tensor", "Scalar")
_BOUNDS = ("clamp", "clamp_min", "clamp_max")

FLOWS = {
    **{f"aten.{name}.{word}": Flow.SCALED for name in ("mul", "div") for word in _TWO},
    **{f"aten.{name}.{word}": Flow.SHIFTED for name in ("add", "sub") for word in _TWO},
    **{f"aten.{name}.{word}": Flow.COMPARED for name in ("lt", "le", "gt", "ge", "eq", "ne") for word in _TWO},
    **{f"aten.{name}": Flow.BOUNDED for name in _BOUNDS},
    **{f"aten.masked_fill.{word}": Flow.MOVED for word in _TWO},
    **{f"aten.where.{word}": Flow.MOVED for word in ("self", "ScalarOther", "ScalarSelf", "Scalar")},
    **{f"aten.{name}": Flow.MOVED for name in ("index_put", "gather", "index_select", "index.Tensor", "_to_copy")},
    **{f"aten.{name}": Flow.SCALED for name in ("neg", "nll_loss_backward")},
    **{f"hlo.{name}": Flow.SCALED for name in ("multiply", "divide", "negate")},
    **{f"hlo.{name}": Flow.SHIFTED for name in ("add", "subtract")},
    **{f"hlo.{name}": Flow.MOVED for name in ("select", "gather", "convert")},
    "hlo.compare": Flow.COMPARED,
}
