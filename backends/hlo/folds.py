"""Reductions by any computation of scalars, of several arrays (argmax) or over windows (cumsum, pooling), and map.

The computation is evaluated on whole arrays, one piece after the other from the initial values on: whatever order XLA
takes, it must make the same of each for a module to have one meaning.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from itertools import product
from math import prod
from typing import NamedTuple

from verdict.backends.hlo.instruction import ASSIGN, At, named, reducer_of
from verdict.backends.hlo.opcodes import ELEMENTWISE, OF_TRUTHS
from verdict.backends.hlo.text import Array, Computation, Instruction, Tuple
from verdict.backends.hlo.values import Found, Leaf, Refused
from verdict.backends.torch.trace import Value

POINTWISE = ELEMENTWISE | OF_TRUTHS | {"compare", "convert", "divide", "remainder", "is-finite"}
INLINE = frozenset({"parameter", "tuple", "get-tuple-element"})
FOLDED = frozenset({"reduce", "reduce-window", "map"})
"""Opcodes that name a computation of scalars."""
NEUTRAL = {"add": 0, "multiply": 1, "maximum": float("-inf"), "minimum": float("inf"), "and": 1, "or": 0}
"""What changes nothing."""
MOST_PIECES = 1024
"""The most pieces that one reduction joins: each is a few nodes."""
_WINDOW = re.compile(r"(\w+)=([^\s}]+)")

Evaluate = Callable[[Computation, Sequence[Found]], Found]


class Window(NamedTuple):
    """One dimension of a window. base, dilation: how far elements of the array, and of the window, stand apart."""

    size: int
    stride: int
    low: int
    high: int
    base: int
    dilation: int
    reversed: bool

    def made(self, length: int) -> int:
        """How many places the window has along a dimension of that length."""
        padded = self.low + self.high + (length - 1) * self.base + 1 if length else self.low + self.high
        reach = (self.size - 1) * self.dilation + 1
        return 0 if padded < reach else (padded - reach) // self.stride + 1


def is_of_one_operator(at: At) -> bool:
    """Whether an instruction is a reduction of one array by a single operator, for which there are rules: those by
    "and" and "or" are of truth values, not of the bits of integers.
    """
    found = at.module.computations.get(at.each.attrs.get("to_apply", "").lstrip("%"))
    how = None if found is None else reducer_of(found)
    bitwise = how in OF_TRUTHS and at.operands[:1] and at.operands[0].dtype != "bool"
    return at.each.opcode == "reduce" and len(at.operands) == 2 and how not in (None, ASSIGN) and not bitwise


def folded(at: At, evaluate: Evaluate) -> Found:
    """What an instruction of FOLDED makes. Raises Refused."""
    computation = at.module.computations.get(at.each.attrs.get("to_apply", "").lstrip("%"))
    if computation is None or not at.operands:
        raise Refused("its computation is none of the module")
    parts = at.each.shape.parts if isinstance(at.each.shape, Tuple) else (at.each.shape,)
    dims = {part.dims for part in parts if isinstance(part, Array)}
    if len(dims) != 1 or not all(isinstance(part, Array) for part in parts):
        raise Refused("its results are no arrays of one shape")
    (shape,) = dims
    alike = lifted(computation, shape)
    if at.each.opcode == "map":
        return evaluate(alike, at.operands)
    count = len(at.operands) // 2
    arrays, begin = at.operands[:count], at.operands[count:]
    if len(begin) != count or len(parts) != count or any(value.shape != () for value in begin):
        raise Refused("it has not one initial value for each array")
    if len({array.shape for array in arrays}) > 1:
        raise Refused("its arrays differ in shape")
    if at.each.opcode == "reduce-window" and (count > 1 or not _is_neutral(at, computation, begin[0])):
        raise Refused("what stands around its array is not known to change nothing")
    made = _rows(at, arrays, shape) if at.each.opcode == "reduce" else _windows(at, arrays, begin, shape)
    state: Found = tuple(emit(at, "broadcast", (x,), shape, size=shape, dims=()) for x in begin)
    for piece in made:
        found = evaluate(alike, (*_several(state), *piece))
        state = found if isinstance(at.each.shape, Tuple) else (found,)
    return state if isinstance(at.each.shape, Tuple) else _several(state)[0]


def lifted(computation: Computation, shape: tuple[int, ...]) -> Computation:
    """A computation of scalars as one of arrays of a shape, element by element. Raises Refused."""
    found: list[Instruction] = []
    for each in computation.instructions:
        if each.opcode == "constant":
            scalar = each._replace(name=f"{each.name}.scalar")
            found += [scalar, each._replace(opcode="broadcast", operands=(scalar.name,), attrs={"dimensions": "{}"})]
        elif each.opcode in POINTWISE | INLINE:
            found.append(each)
        else:
            raise Refused(f"its computation has {each.opcode} {each.name}, which is not known of single numbers")
        found[-1] = found[-1]._replace(shape=_spread(each.shape, shape))
    (root,) = (each for each in found if each.name == computation.root.name)
    return Computation(computation.name, tuple(found), root)


def _is_neutral(at: At, computation: Computation, begin: Leaf) -> bool:
    """Whether a computation is one operator, and an initial value changes nothing."""
    root = computation.root
    known = [each.name for each in computation.instructions if each.opcode == "parameter"]
    single = len(computation.instructions) == 3 and sorted(root.operands) == sorted(known)
    return single and NEUTRAL.get(root.opcode) == at.recording.scalar(begin)


def _spread(found: Array | Tuple, shape: tuple[int, ...]) -> Array | Tuple:
    if isinstance(found, Tuple):
        return Tuple(tuple(_spread(part, shape) for part in found.parts))
    if found.dims != ():
        raise Refused("its computation is not one of single numbers")
    return Array(found.dtype, shape)


def windows_of(at: At, rank: int) -> tuple[Window, ...]:
    """The window, by dimension. Raises Refused."""
    named_ = dict(_WINDOW.findall(at.each.attrs.get("window", "")))
    unknown = named_.keys() - {"size", "stride", "pad", "lhs_dilate", "rhs_dilate", "rhs_reversal"}
    if unknown:
        raise Refused(f"its window has {', '.join(sorted(unknown))}, which is not known")

    def of(key: str, usual: str) -> list[str]:
        words: list[str] = named_[key].split("x") if key in named_ else [usual] * rank
        form = r"-?\d+_-?\d+" if key == "pad" else r"\d+"
        if len(words) != rank or not all(re.fullmatch(form, word) for word in words):
            raise Refused(f"the {key} of its window is of no known form")
        return words

    sizes, strides, base, dilation = (of(key, "1") for key in ("size", "stride", "lhs_dilate", "rhs_dilate"))
    pads = [tuple(map(int, word.split("_"))) for word in of("pad", "0_0")]
    turned = of("rhs_reversal", "0")
    made = tuple(
        Window(int(size), int(stride), low, high, int(wide), int(apart), bool(int(back)))
        for size, stride, (low, high), wide, apart, back in zip(
            sizes, strides, pads, base, dilation, turned, strict=True
        )
    )
    if any(min(one.size, one.stride, one.base, one.dilation) < 1 for one in made):
        raise Refused("its window has nothing in some dimension")
    return made


def padded(at: At, x: Leaf, value: Leaf, windows: Sequence[Window]) -> Leaf:
    """An array with what a window needs around and among its elements."""
    if all(one.low == one.high == 0 and one.base == 1 for one in windows):
        return x
    low, high, interior = (tuple(row) for row in zip(*((w.low, w.high, w.base - 1) for w in windows), strict=True))
    made = zip(x.shape, windows, strict=True)
    shape = tuple(one.low + n + max(n - 1, 0) * (one.base - 1) + one.high for n, one in made)
    if any(n < 0 for n in shape):
        raise Refused("its padding takes more off than there is")
    return emit(at, "pad", (x, value), shape, low=low, high=high, interior=interior)


def taken(at: At, x: Leaf, place: Sequence[int], windows: Sequence[Window], shape: Sequence[int]) -> Leaf:
    """What one place of a window sees, wherever the window is: a slice of the array of that shape."""
    starts = tuple(k * one.dilation for k, one in zip(place, windows, strict=True))
    strides = tuple(one.stride for one in windows)
    limits = tuple(s + max((n - 1) * t + 1, 0) for s, n, t in zip(starts, shape, strides, strict=True))
    return emit(at, "slice", (x,), tuple(shape), starts=starts, limits=limits, strides=strides)


def _windows(
    at: At, arrays: Sequence[Leaf], begin: Sequence[Leaf], shape: tuple[int, ...]
) -> Iterator[tuple[Leaf, ...]]:
    """For each place of the window what all windows have there."""
    windows = windows_of(at, len(shape))
    if tuple(one.made(n) for one, n in zip(windows, arrays[0].shape, strict=True)) != shape:
        raise Refused(f"its shape {list(shape)} is not that of its window")
    require_few(prod(one.size for one in windows))
    whole = [padded(at, x, value, windows) for x, value in zip(arrays, begin, strict=True)]
    for place in product(*(range(one.size) for one in windows)):
        yield tuple(taken(at, x, place, windows, shape) for x in whole)


def _rows(at: At, arrays: Sequence[Leaf], shape: tuple[int, ...]) -> Iterator[tuple[Leaf, ...]]:
    """The pieces of arrays along the dimensions that are reduced."""
    dims, size = at.numbers("dimensions"), arrays[0].shape
    if len(set(dims)) < len(dims) or any(not 0 <= dim < len(size) for dim in dims):
        raise Refused(f"dimensions {list(dims)} are none of {list(size)}")
    if tuple(n for dim, n in enumerate(size) if dim not in dims) != shape:
        raise Refused(f"its shape {list(shape)} is not what is left of {list(size)}")
    require_few(prod(size[dim] for dim in dims))
    for place in product(*(range(size[dim]) for dim in dims)):
        at_dim = dict(zip(dims, place, strict=True))
        starts = tuple(at_dim.get(dim, 0) for dim in range(len(size)))
        limits = tuple(at_dim[dim] + 1 if dim in at_dim else n for dim, n in enumerate(size))
        row = tuple(end - start for start, end in zip(starts, limits, strict=True))
        cut = {"starts": starts, "limits": limits, "strides": (1,) * len(size)}
        yield tuple(emit(at, "reshape", (emit(at, "slice", (x,), row, **cut),), shape, size=shape) for x in arrays)


def require_few(pieces: int) -> None:
    """Raise Refused where too many pieces are joined."""
    if pieces > MOST_PIECES:
        raise Refused(f"it joins {pieces} pieces, the most is {MOST_PIECES}")


def emit(at: At, opcode: str, operands: tuple[Leaf, ...], shape: tuple[int, ...], **attrs: object) -> Leaf:
    """A node of this instruction, which makes an array of the type of its first operand."""
    value = Value(shape, operands[0].dtype)
    return at.recording.emit(f"hlo.{opcode}", operands, value, named(at.each), dict(attrs))


def _several(found: Found) -> tuple[Found, ...]:
    if not isinstance(found, tuple) or hasattr(found, "dtype"):
        raise Refused("its computation makes one value where several are due")
    return tuple(found)
