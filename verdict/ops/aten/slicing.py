"""Parts of tensors and tensors made of parts.

slice, select, narrow, split, unbind     a part of x         cat, stack      x_1, ..., x_n side by side
*_backward                               dy in that part of zeros
*_scatter                                self with src in that part
"""

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from verdict.graph import Shape
from verdict.ops import numbers
from verdict.ops.aten.form import REQUIRED, Arguments, operator
from verdict.ops.aten.shaping import moving, sized
from verdict.ops.rule import Array, Attributes, Axes, OpRule, Scale
from verdict.ops.shapes import along_one, axis, is_integer

Part = tuple[Any, ...]
"""An index of numpy: which part of a tensor."""


def _slice(args: Arguments, shape: Shape) -> Part:
    """The part that dim, start, end and step name, clamped as in Python."""
    along, step = axis(args.name, args["dim"], len(shape)), args["step"]
    if not is_integer(step) or step < 1:
        raise args.misfit(f"step is {step}, it must be a number above 0")
    ends = slice(args["start"], args["end"], step).indices(shape[along])
    return (*(slice(None),) * along, slice(ends[0], max(ends[0], ends[1]), step))


def _select(args: Arguments, shape: Shape) -> Part:
    along, index = axis(args.name, args["dim"], len(shape)), args["index"]
    if not is_integer(index) or not -shape[along] <= index < shape[along]:
        raise args.misfit(f"index {index} is outside of the {shape[along]} elements of dimension {along}")
    return (*(slice(None),) * along, int(index) % shape[along])


def _narrow(args: Arguments, shape: Shape) -> Part:
    along, start, length = axis(args.name, args["dim"], len(shape)), args["start"], args["length"]
    start = start + shape[along] if start < 0 else start
    if not 0 <= start <= start + length <= shape[along]:
        raise args.misfit(f"no {length} elements from {start} on in {shape[along]}")
    return (*(slice(None),) * along, slice(start, start + length))


def _part_shape(shape: Shape, part: Part) -> Shape:
    sizes: list[int] = []
    for size, chosen in zip(shape, part, strict=False):
        if isinstance(chosen, slice):
            sizes.append(len(range(*chosen.indices(size))))
    return (*sizes, *shape[len(part) :])


PartOf = Callable[[Arguments, Shape], Part]


def _part_axes(shape: Shape, part: Part, of: Shape) -> tuple[tuple[Shape, int | None], tuple[Shape, int | None]]:
    """A tensor and the part of it, each with the dimension along which it is cut: none where all of it is taken.

    `of`: the part's shape. An index leaves no such dimension.
    """
    along = len(part) - 1
    taken = part[along]
    if not isinstance(taken, slice):
        return (shape, along), (of, None)
    cut = along if taken.indices(shape[along]) != (0, shape[along], 1) else None
    return (shape, cut), (of, cut)


def _shorter(attrs: Attributes, scale: Scale) -> Attributes:
    """A length that is all of a dimension is that of the reduced one."""
    return {**attrs, "length": scale.outputs[0][attrs["dim"]]}


def _part(
    name: str, attributes: dict[str, Any], part: PartOf, formula: str,
    reduce: Callable[[Attributes, Scale], Attributes] | None = None,
) -> OpRule:  # fmt: skip
    """y = x[part]."""
    def axes(args: Arguments) -> Axes:
        shape = args["self"]
        taken = part(args, shape)
        whole, of = _part_axes(shape, taken, _part_shape(shape, taken))
        return along_one((whole,), (of,))

    return moving(
        name,
        "self",
        attributes,
        axes,
        lambda args: np.asarray(args["self"][part(args, args["self"].shape)], dtype=args["self"].dtype),
        formula,
        reduce,
    )


def _pulled(name: str, attributes: dict[str, Any], part: PartOf) -> OpRule:
    """dx = 0 but for dx[part] = dy."""

    def axes(args: Arguments) -> Axes:
        size, taken = tuple(args["input_sizes"]), part(args, tuple(args["input_sizes"]))
        if _part_shape(size, taken) != args["grad_output"]:
            raise args.misfit(f"a gradient of shape {args['grad_output']} does not fit into {size}")
        whole, of = _part_axes(size, taken, args["grad_output"])
        return along_one((of,), (whole,))

    def forward(args: Arguments) -> Array:
        dy, size = args["grad_output"], tuple(args["input_sizes"])
        dx = numbers.zeros(dy, size)
        dx[part(args, size)] = dy[()]
        return dx

    return operator(
        name,
        "grad_output",
        {"input_sizes": REQUIRED, **attributes},
        axes,
        forward,
        "dx = dy in zeros",
        linear=(0,),
        reduce=sized("input_sizes"),
    )


def _scattered(name: str, attributes: dict[str, Any], part: PartOf) -> OpRule:
    """y = self but for y[part] = src."""

    def axes(args: Arguments) -> Axes:
        (shape, src), taken = args.given, part(args, args.given[0])
        if _part_shape(shape, taken) != src:
            raise args.misfit(f"src of shape {src} does not fit into that part of {shape}")
        whole, of = _part_axes(shape, taken, src)
        return along_one((whole, of), (whole,))

    def forward(args: Arguments) -> Array:
        x, src = args.given
        return replaced(x, part(args, x.shape), src)

    return moving(name, "self src", attributes, axes, forward, "y = self with src in that part")


def replaced(x: Array, part: Any, src: Array) -> Array:
    """x but for that part, which is src."""
    made = x.astype(np.result_type(x.dtype, src.dtype))
    made[part] = src[()]
    return made


def _lengths(args: Arguments, shape: Shape) -> tuple[int, ...]:
    size = shape[axis(args.name, args["dim"], len(shape))]
    chosen = args["split_size"] if "split_size" in args.attrs else args["split_sizes"]
    if isinstance(chosen, tuple):
        if sum(chosen) != size:
            raise args.misfit(f"split_sizes {chosen} do not add up to {size}")
        return chosen
    if not is_integer(chosen) or chosen < 1:
        raise args.misfit(f"split_size is {chosen}, it must be a number above 0")
    return tuple(min(chosen, size - start) for start in range(0, size, chosen)) or (0,)


def _pieces(args: Arguments, shape: Shape) -> Iterator[Part]:
    along, start = axis(args.name, args["dim"], len(shape)), 0
    for length in _lengths(args, shape):
        yield (*(slice(None),) * along, slice(start, start + length))
        start += length


def _split_axes(args: Arguments) -> Axes:
    shape = args["self"]
    along = axis(args.name, args["dim"], len(shape))
    pieces = [_part_shape(shape, part) for part in _pieces(args, shape)]
    return along_one(((shape, along),), [(piece, along) for piece in pieces])


def _split(name: str, key: str) -> OpRule:
    return moving(
        name,
        "self",
        {key: REQUIRED, "dim": 0},
        _split_axes,
        lambda args: tuple(args["self"][part] for part in _pieces(args, args["self"].shape)),
        "y_1, ..., y_n = x, cut along dim",
    )


def _unbind_axes(args: Arguments) -> Axes:
    shape: Shape = args["self"]
    along = axis(args.name, args["dim"], len(shape))
    if not shape[along]:
        raise args.misfit("of no elements there is none")
    return along_one(((shape, along),), (((*shape[:along], *shape[along + 1 :]), None),) * shape[along])


def _unbind(args: Arguments) -> tuple[Array, ...]:
    rows = np.moveaxis(args["self"], args["dim"], 0)
    return tuple(np.asarray(row, dtype=rows.dtype) for row in rows)


def _cat_axes(args: Arguments) -> Axes:
    if not args["tensors"]:
        raise args.misfit("there is nothing to join")
    shapes = [shape for shape in args["tensors"] if shape != (0,)] or [(0,)]
    along = axis(args.name, args["dim"], len(shapes[0]))
    rest = {(*shape[:along], *shape[along + 1 :]) for shape in shapes}
    if len(rest) > 1 or len({len(shape) for shape in shapes}) > 1:
        raise args.misfit(f"shapes {' and '.join(map(str, shapes))} differ in more than dimension {along}")
    joined = (*shapes[0][:along], sum(shape[along] for shape in shapes), *shapes[0][along + 1 :])
    return along_one([(shape, along if shape != (0,) else 0) for shape in args["tensors"]], ((joined, along),))


def _cat(args: Arguments) -> Array:
    return np.concatenate([x for x in args["tensors"] if x.shape != (0,)] or args["tensors"], axis=args["dim"])


def _stack_axes(args: Arguments) -> Axes:
    shapes = args["tensors"]
    if not shapes or len(set(shapes)) > 1:
        raise args.misfit(f"tensors of one shape can be stacked, found {' and '.join(map(str, shapes)) or 'none'}")
    along = axis(args.name, args["dim"], len(shapes[0]) + 1)
    stacked = (*shapes[0][:along], len(shapes), *shapes[0][along:])
    return along_one([(shape, None) for shape in shapes], ((stacked, along),))


def _stack(args: Arguments) -> Array:
    return np.stack(args["tensors"], axis=args["dim"])


SLICE = {"dim": 0, "start": None, "end": None, "step": 1}
SELECT = {"dim": REQUIRED, "index": REQUIRED}
NARROW = {"dim": REQUIRED, "start": REQUIRED, "length": REQUIRED}

RULES: tuple[OpRule, ...] = (
    _part("aten.slice.Tensor", SLICE, _slice, "y = x[start:end:step], along dim"),
    _part("aten.select.int", SELECT, _select, "y = x[index], along dim"),
    _part("aten.narrow", NARROW, _narrow, "y = x[start:start+length]", _shorter),
    _pulled("aten.slice_backward", dict.fromkeys(SLICE, REQUIRED), _slice),
    _pulled("aten.select_backward", SELECT, _select),
    _scattered("aten.slice_scatter", SLICE, _slice),
    _scattered("aten.select_scatter", SELECT, _select),
    _split("aten.split.Tensor", "split_size"),
    _split("aten.split_with_sizes", "split_sizes"),
    _split("aten.split_with_sizes_copy", "split_sizes"),
    moving("aten.unbind.int", "self", {"dim": 0}, _unbind_axes, _unbind, "y_1, ..., y_n = the slices of x along dim"),
    replace(
        moving("aten.cat", "tensors*", {"dim": 0}, _cat_axes, _cat, "y = x_1, ..., x_n, joined along dim"), joins=True
    ),
    moving("aten.stack", "tensors*", {"dim": 0}, _stack_axes, _stack, "y = x_1, ..., x_n, along a new dimension"),
)
