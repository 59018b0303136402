"""What each opcode is as an operator: its attributes out of HLO's, on one device."""

import re
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from verdict.backends.hlo.instruction import ASSIGN, At, named
from verdict.backends.hlo.literals import literal_of
from verdict.backends.hlo.ranges import compared
from verdict.backends.hlo.text import DTYPES, split
from verdict.backends.hlo.values import Known, Leaf, Refused, array_of, whole
from verdict.backends.hlo.windows import dynamic_slice, dynamic_update_slice, gather, scatter
from verdict.backends.torch.trace import Value
from verdict.ops.domain import of_type

ELEMENTWISE = frozenset(
    {
        *("add", "subtract", "multiply", "maximum", "minimum", "power", "negate", "abs", "sign", "sqrt", "rsqrt"),
        *("exponential", "exponential-minus-one", "log", "log-plus-one", "logistic", "tanh", "erf", "sine", "cosine"),
        *("select", "clamp", "floor", "ceil", "round-nearest-even"),
    }
)
"""Opcodes without attributes."""
OF_FLOATS = frozenset({"power"})
"""Opcodes of which no more is known of integers than of other numbers."""
OF_TRUTHS = frozenset({"and", "or", "xor", "not"})
"""Opcodes that work bit by bit."""
MOST_SHIFTED = 32
"""Of how many bits integers may be that are shifted and not known: of more, numbers have no place for all."""
_BITS = {"bfloat16": (8, 7), "float16": (5, 10), "float32": (8, 23), "float64": (11, 52)}
"""Of how many bits the exponents and mantissas of IEEE's types (and of bfloat16) are."""
DIRECTIONS = frozenset({"EQ", "NE", "LT", "LE", "GT", "GE"})
_CUT = re.compile(r"\[(\d+):(\d+)(?::(\d+))?\]")
_WIDTH = re.compile(r"(-?\d+)_(-?\d+)(?:_(\d+))?")


def lowered(at: At) -> Leaf:
    """What an instruction makes of one or more arrays. Raises Refused."""
    opcode = at.each.opcode
    if opcode in ELEMENTWISE:
        return _elementwise(at)
    if opcode in OF_TRUTHS:
        return _bits(at)
    found = _OPCODES.get(opcode)
    if found is None:
        raise Refused("the opcode has no rule")
    return found(at)


def _elementwise(at: At) -> Leaf:
    opcode, dtype = at.each.opcode, DTYPES[array_of(at.each).dtype]
    if opcode in OF_FLOATS and whole(dtype):
        raise Refused("of integers it has no rule")
    kinds = {operand.dtype for operand in at.operands[opcode == "select" :]}
    if kinds != {dtype}:
        raise Refused(f"it makes {dtype} of {' and '.join(sorted(kinds))}")
    if dtype == "bool" and opcode != "select":
        raise Refused("of truth values it has no rule")
    mask = at.operands[0]
    if opcode == "select" and isinstance(mask, Known) and len(set(mask.array.ravel().tolist())) == 1:
        chosen = at.operands[1 if mask.array.ravel()[0] else 2]
        if chosen.shape == array_of(at.each).dims:
            return chosen
    return at.emit(f"hlo.{opcode.replace('-', '_')}")


def _bits(at: At) -> Leaf:
    """Truth values joined, or bits of integers; these turned around only where they are known and have a sign."""
    opcode, dtype = at.each.opcode, DTYPES[array_of(at.each).dtype]
    if dtype == "bool":
        return at.emit(f"hlo.{opcode}")
    if opcode == "not":
        (x,) = at.operands
        if not isinstance(x, Known) or dtype.startswith("u"):
            raise Refused("bits of integers without sign, or that are not known, are not turned")
        return Known(np.asarray(np.invert(x.array), dtype=np.int64), dtype)
    return at.emit(f"hlo.bits_{opcode}")


def _shift(at: At) -> Leaf:
    dtype = DTYPES[array_of(at.each).dtype]
    known = all(isinstance(operand, Known) for operand in at.operands)
    width = int("".join(filter(str.isdigit, dtype)) or 1)
    if not whole(dtype) or dtype == "bool" or (width > MOST_SHIFTED and not known):
        raise Refused(f"bits of {dtype} are not shifted")
    return at.emit(f"hlo.{at.each.opcode.replace('-', '_')}", width=width)


def _bitcast_convert(at: At) -> Leaf:
    dtype, of = DTYPES[array_of(at.each).dtype], at.operands[0].dtype
    if (of, dtype) != ("uint32", "float32"):
        raise Refused(f"the bits of {of} are not taken for {dtype}")
    return at.emit("hlo.bitcast_convert", dtype=dtype)


def _divide(at: At) -> Leaf:
    if not whole(at.operands[0].dtype):
        return at.emit("hlo.divide")
    divisor = at.operands[1]
    if not isinstance(divisor, Known) or not divisor.array.all():
        raise Refused("integers are divided by what is not known, or by 0")
    return at.emit("hlo.divide", rounding="trunc")


def _remainder(at: At) -> Leaf:
    divisor = at.operands[1]
    if not (isinstance(divisor, Known) and divisor.array.all()):
        raise Refused("it has no rule but for integers that are divided by known ones other than 0")
    return at.emit("hlo.remainder")


def _compare(at: At) -> Leaf:
    direction = at.each.attrs.get("direction", "")
    if direction not in DIRECTIONS:
        raise Refused(f"the direction {direction} is not known")
    if at.each.attrs.get("type", "") == "TOTALORDER":
        raise Refused("the total order of floating-point numbers, in which -0 is less than 0, has no rule")
    shape = array_of(at.each).dims
    known = compared(direction, *(at.recording.span(operand) for operand in at.operands))
    scalars = [value for value in map(at.recording.scalar, at.operands) if value is not None]
    if known is None and shape == () and len(scalars) == len(at.operands) == 2:
        known = compared(direction, (scalars[0], scalars[0]), (scalars[1], scalars[1]))
    if known is not None and all(operand.shape == shape for operand in at.operands):
        return Known(np.full(shape, int(known), dtype=np.int64), "bool")
    return at.emit("hlo.compare", direction=direction)


def _convert(at: At) -> Leaf:
    dtype = DTYPES[array_of(at.each).dtype]
    saturates = whole(dtype) and dtype != "bool" and not whole(at.operands[0].dtype)
    return at.emit("hlo.convert", dtype=dtype, saturate=saturates)


def _constant(at: At) -> Leaf:
    shape = array_of(at.each)
    dtype = DTYPES[shape.dtype]
    try:
        values = literal_of(at.each.literal, dtype, shape.dims)
    except ValueError as error:
        raise Refused(str(error)) from None
    if whole(dtype) and all(-(1 << 62) <= value < 1 << 62 for value in values):
        return Known(np.asarray(values, dtype=np.int64).reshape(shape.dims), dtype)
    return at.recording.constant(values, shape.dims, dtype)


def _iota(at: At) -> Leaf:
    shape = array_of(at.each)
    return at.emit(
        "hlo.iota", size=shape.dims, dim=int(at.each.attrs.get("iota_dimension", "0")), dtype=DTYPES[shape.dtype]
    )


def _broadcast(at: At) -> Leaf:
    return at.emit("hlo.broadcast", size=array_of(at.each).dims, dims=at.numbers("dimensions"))


def _reshape(at: At) -> Leaf:
    return at.emit("hlo.reshape", size=array_of(at.each).dims)


def _bitcast(at: At) -> Leaf:
    shape = array_of(at.each)
    if at.operands[0].shape != shape.dims or at.operands[0].dtype != DTYPES[shape.dtype]:
        raise Refused("it takes the same memory in another shape: layouts are not read")
    return at.operands[0]


def _reduce_precision(at: At) -> Leaf:
    """What jax puts before values that a policy of checkpoints saves: with all bits of the type, nothing is rounded."""
    least = _BITS.get(at.operands[0].dtype)
    bits = [at.each.attrs.get(key, "") for key in ("exponent_bits", "mantissa_bits")]
    if least is None or any(not found.isdecimal() or int(found) < due for found, due in zip(bits, least, strict=True)):
        raise Refused("it rounds to fewer bits than its type has")
    return _bitcast(at)


def _slice(at: At) -> Leaf:
    cuts = [_CUT.fullmatch(part) for part in split(at.each.attrs.get("slice", "").strip("{}"))]
    found = [cut.groups() for cut in cuts if cut is not None]
    if len(found) < len(cuts):
        raise Refused("its slice is of no known form")
    starts, limits = (tuple(int(cut[k]) for cut in found) for k in (0, 1))
    return at.emit("hlo.slice", starts=starts, limits=limits, strides=tuple(int(cut[2] or 1) for cut in found))


def _pad(at: At) -> Leaf:
    words = at.each.attrs.get("padding", "")
    widths = [_WIDTH.fullmatch(word) for word in words.split("x")] if words else []
    found = [tuple(map(int, (low, high, among or 0))) for low, high, among in (w.groups() for w in widths if w)]
    if len(found) < len(widths):
        raise Refused(f"its padding {words[:40]} is of no known form")
    low, high, interior = (tuple(width[k] for width in found) for k in range(3))
    return at.emit("hlo.pad", low=low, high=high, interior=interior)


def _dot(at: At) -> Leaf:
    keys = {"lhs_batch": "lhs_batch_dims", "rhs_batch": "rhs_batch_dims"}
    keys |= {"lhs_contracting": "lhs_contracting_dims", "rhs_contracting": "rhs_contracting_dims"}
    if "sparsity" in at.each.attrs or at.each.attrs.get("algorithm", "dot_f32_f32_f32") != "dot_f32_f32_f32":
        raise Refused("its algorithm or sparsity has no rule")
    attrs: dict[str, Any] = {name: at.numbers(key) for name, key in keys.items()}
    return at.emit("hlo.dot", tuple(_widened(at, operand) for operand in at.operands), **attrs)


def _widened(at: At, operand: Leaf) -> Leaf:
    """An operand of a product whose sums are integers of more bits than it has, as one of these."""
    dtype = DTYPES[array_of(at.each).dtype]
    own, due = of_type(operand.dtype), of_type(dtype)
    ends = () if own is None else (own.low, own.high)
    if dtype == operand.dtype or due is None or not all(end is not None and due.holds(end) for end in ends or (None,)):
        return operand
    attrs = {"dtype": dtype, "saturate": False}
    return at.recording.emit("hlo.convert", (operand,), Value(operand.shape, dtype), named(at.each), attrs)


def _reduce(at: At) -> Leaf:
    if len(at.operands) != 2:
        raise Refused("a reduction of several arrays has no rule")
    x, begin = at.operands
    how, dims, shape = at.reducer(), at.numbers("dimensions"), array_of(at.each)
    if how == ASSIGN or any(x.shape[dim] == 0 for dim in dims if 0 <= dim < len(x.shape)):
        raise Refused("it reduces no elements, or by no operator that is known")
    dtype = DTYPES[shape.dtype]
    attrs: dict[str, Any] = {"dim": dims}
    if how == "add" and whole(dtype):
        attrs["dtype"] = dtype
    made = at.emit(f"hlo.reduce_{how}", (x,), **attrs) if dims else x
    if _is_neutral(at, begin, how):
        return made
    attrs = {"size": shape.dims, "dims": ()}
    spread = at.recording.emit("hlo.broadcast", (begin,), Value(shape.dims, dtype), named(at.each), attrs)
    return at.emit(f"hlo.{how}", (made, spread))


def _is_neutral(at: At, begin: Leaf, how: str) -> bool:
    """Whether an initial value changes nothing."""
    value = at.recording.scalar(begin)
    neutral: Mapping[str, object] = {"add": 0, "and": 1, "or": 0}
    infinite = {"maximum": float("-inf"), "minimum": float("inf")}
    return value is not None and value == {**neutral, **infinite}.get(how)


def _custom_call(at: At) -> Leaf:
    target = at.each.attrs.get("custom_call_target", "").strip('"')
    if target not in ("Sharding", "xla.sdy.FuncResultSharding"):
        raise Refused(f"a custom call of {target or 'no name'} has no rule")
    return _bitcast(at)


_OPCODES: Mapping[str, Callable[[At], Leaf]] = {
    "divide": _divide,
    "remainder": _remainder,
    "compare": _compare,
    "convert": _convert,
    "is-finite": lambda at: at.emit("hlo.is_finite"),
    "bitcast-convert": _bitcast_convert,
    "shift-left": _shift,
    "shift-right-logical": _shift,
    "constant": _constant,
    "iota": _iota,
    "broadcast": _broadcast,
    "reshape": _reshape,
    "bitcast": _bitcast,
    "copy": _bitcast,
    "reduce-precision": _reduce_precision,
    "transpose": lambda at: at.emit("hlo.transpose", dims=at.numbers("dimensions")),
    "reverse": lambda at: at.emit("hlo.reverse", dims=at.numbers("dimensions")),
    "concatenate": lambda at: at.emit("hlo.concatenate", dim=(*at.numbers("dimensions"), 0)[0]),
    "slice": _slice,
    "pad": _pad,
    "dot": _dot,
    "reduce": _reduce,
    "dynamic-slice": dynamic_slice,
    "dynamic-update-slice": dynamic_update_slice,
    "gather": gather,
    "scatter": scatter,
    "custom-call": _custom_call,
}
