"""Operators that cut a tensor along one dimension and put pieces together. Their gradients undo it.

    concatenate    y = x_1, x_2, ... side by side
    narrow         y = `length` elements of x from `start` on
    split          y_1, y_2, ... = consecutive pieces of x, of these `sizes`
    pad            y = `before` zeros, x, `after` zeros
    select_blocks  x cut into `blocks` equal pieces; y = those that `index` names, side by side, in its order

Every cut falls between blocks of g elements, where g is the greatest common divisor of all lengths: within a block
things go element by element, so a block may shrink; the number of blocks never does. Of narrow and pad a share of the
elements of all blocks is not looked at: how many blocks there are, their attributes do not say.
"""

from collections.abc import Callable, Sequence
from itertools import pairwise
from math import gcd

import numpy as np

from verdict.errors import NoRuleError, ShapeError
from verdict.graph import Interval, Shape
from verdict.ops.rule import Array, Atom, Attributes, Axes, Law, OpRule, Scale
from verdict.ops.shapes import arity, axis, is_integer, known, make_axes, numbered
from verdict.ops.types import like_first, promoted

Gradient = Callable[[Sequence[Array], Sequence[Array], Attributes], tuple[Array | None, ...]]


def _blocks(
    shape: Shape, along: int, block: int, inputs: Sequence[int], outputs: Sequence[int], law: Law = Law.EACH
) -> Axes:
    """Axes of tensors that have these lengths along one dimension, all multiples of `block`, and are alike else."""
    others, dims = numbered("b", shape)
    block = block or 1
    atoms: list[Atom] = [atom for place, atom in enumerate(others) if place != along]
    atoms.append(Atom("k", block, law))

    def tensors(prefix: str, lengths: Sequence[int]) -> tuple[tuple[tuple[str, ...], ...], ...]:
        found = []
        for number, length in enumerate(lengths):
            count = length // block
            atoms.append(Atom(f"{prefix}{number}", count, Law.WHOLE, count))
            found.append((*dims[:along], (f"{prefix}{number}", "k"), *dims[along + 1 :]))
        return tuple(found)

    made = tensors("x", inputs), tensors("y", outputs)
    return make_axes(atoms, *made)


def _place(array: Array, along: int, start: int, stop: int) -> tuple[slice, ...]:
    return (slice(None),) * (along % array.ndim) + (slice(start, stop),)


def _integer(name: str, attrs: Attributes, attribute: str, least: int) -> int:
    value = attrs.get(attribute)
    if not is_integer(value) or int(value or 0) < least:
        raise ShapeError(f"{name}: {attribute} is {value}, it must be an integer, at least {least}")
    return int(value or 0)


def _concatenate_axes(shapes: Sequence[Shape], attrs: Attributes) -> Axes:
    known("concatenate", attrs, ("dim",))
    arity("concatenate", shapes, max(len(shapes), 1))
    along = axis("concatenate", attrs.get("dim"), len(shapes[0]))
    if len({(*shape[:along], *shape[along + 1 :]) for shape in shapes}) > 1 or len({len(s) for s in shapes}) > 1:
        raise ShapeError(f"concatenate: shapes {' and '.join(map(str, shapes))} differ elsewhere than in dim {along}")
    lengths = [shape[along] for shape in shapes]
    return _blocks(shapes[0], along, gcd(*lengths), lengths, [sum(lengths)])


def _concatenate(inputs: Sequence[Array], attrs: Attributes) -> tuple[Array, ...]:
    return (np.concatenate(inputs, axis=attrs["dim"]),)


def _cut(array: Array, along: int, lengths: Sequence[int]) -> tuple[Array, ...]:
    ends = np.cumsum([0, *lengths]).tolist()
    return tuple(array[_place(array, along, a, b)] for a, b in pairwise(ends))


def _concatenate_gradient(
    inputs: Sequence[Array], grads: Sequence[Array], attrs: Attributes
) -> tuple[Array | None, ...]:
    return _cut(grads[0], attrs["dim"], [x.shape[attrs["dim"]] for x in inputs])


def _split_axes(shapes: Sequence[Shape], attrs: Attributes) -> Axes:
    known("split", attrs, ("dim", "sizes"))
    arity("split", shapes, 1)
    along, sizes = axis("split", attrs.get("dim"), len(shapes[0])), attrs.get("sizes")
    if not isinstance(sizes, tuple) or not sizes or not all(is_integer(size) and size >= 0 for size in sizes):
        raise ShapeError(f"split: sizes is {sizes}, it must be a tuple of integers, none negative")
    if sum(sizes) != shapes[0][along]:
        raise ShapeError(f"split: sizes {sizes} do not add up to the {shapes[0][along]} elements of dim {along}")
    return _blocks(shapes[0], along, gcd(*sizes), [sum(sizes)], sizes)


def _split(inputs: Sequence[Array], attrs: Attributes) -> tuple[Array, ...]:
    return _cut(inputs[0], attrs["dim"], attrs["sizes"])


def _split_gradient(inputs: Sequence[Array], grads: Sequence[Array], attrs: Attributes) -> tuple[Array | None, ...]:
    return (np.concatenate(grads, axis=attrs["dim"]),)


def _narrow_axes(shapes: Sequence[Shape], attrs: Attributes) -> Axes:
    known("narrow", attrs, ("dim", "start", "length"))
    arity("narrow", shapes, 1)
    along, size = (
        axis("narrow", attrs.get("dim"), len(shapes[0])),
        shapes[0][axis("narrow", attrs["dim"], len(shapes[0]))],
    )
    if is_integer(attrs.get("start")) and attrs["start"] < 0:
        raise NoRuleError(f"narrow: start is {attrs['start']}; what is counted from the end has no rule")
    start, length = _integer("narrow", attrs, "start", 0), _integer("narrow", attrs, "length", 0)
    if start + length > size:
        raise ShapeError(f"narrow: {length} elements from {start} on are not within the {size} of dim {along}")
    return _blocks(shapes[0], along, gcd(start, length, size), [size], [length], Law.WHOLE)


def _narrow(inputs: Sequence[Array], attrs: Attributes) -> tuple[Array, ...]:
    start = attrs["start"]
    return (inputs[0][_place(inputs[0], attrs["dim"], start, start + attrs["length"])],)


def _narrow_gradient(inputs: Sequence[Array], grads: Sequence[Array], attrs: Attributes) -> tuple[Array | None, ...]:
    dx = np.zeros(inputs[0].shape, dtype=grads[0].dtype)
    place = _place(dx, attrs["dim"], attrs["start"], attrs["start"] + attrs["length"])
    if dx[place].shape != grads[0].shape:
        raise ShapeError(f"narrow: a gradient of shape {grads[0].shape} for {dx[place].shape}")
    dx[place] = grads[0]
    return (dx,)


def _pad_axes(shapes: Sequence[Shape], attrs: Attributes) -> Axes:
    known("pad", attrs, ("dim", "before", "after"))
    arity("pad", shapes, 1)
    along = axis("pad", attrs.get("dim"), len(shapes[0]))
    before, after = _integer("pad", attrs, "before", 0), _integer("pad", attrs, "after", 0)
    size = shapes[0][along]
    return _blocks(shapes[0], along, gcd(before, size, after), [size], [before + size + after], Law.WHOLE)


def _pad(inputs: Sequence[Array], attrs: Attributes) -> tuple[Array, ...]:
    (x,), along = inputs, attrs["dim"]
    size = x.shape[along]
    shape = list(x.shape)
    shape[along] = attrs["before"] + size + attrs["after"]
    y = np.zeros(shape, dtype=x.dtype)
    y[_place(y, along, attrs["before"], attrs["before"] + size)] = x
    return (y,)


def _pad_gradient(inputs: Sequence[Array], grads: Sequence[Array], attrs: Attributes) -> tuple[Array | None, ...]:
    size = inputs[0].shape[attrs["dim"]]
    return (grads[0][_place(grads[0], attrs["dim"], attrs["before"], attrs["before"] + size)],)


def _select_axes(shapes: Sequence[Shape], attrs: Attributes) -> Axes:
    known("select_blocks", attrs, ("dim", "blocks", "index"))
    arity("select_blocks", shapes, 1)
    along = axis("select_blocks", attrs.get("dim"), len(shapes[0]))
    blocks, index, size = _integer("select_blocks", attrs, "blocks", 1), attrs.get("index"), shapes[0][along]
    if size % blocks:
        raise ShapeError(f"select_blocks: the {size} elements of dim {along} are not {blocks} equal blocks")
    if not isinstance(index, tuple) or not index or not all(is_integer(k) and 0 <= k < blocks for k in index):
        raise ShapeError(f"select_blocks: index is {index}, it must be a tuple of blocks below {blocks}")
    return _blocks(shapes[0], along, size // blocks, [size], [size // blocks * len(index)])


def _select(inputs: Sequence[Array], attrs: Attributes) -> tuple[Array, ...]:
    (x,), along = inputs, attrs["dim"]
    pieces = _cut(x, along, [x.shape[along] // attrs["blocks"]] * attrs["blocks"])
    return (np.concatenate([pieces[k] for k in attrs["index"]], axis=along),)


def _select_gradient(inputs: Sequence[Array], grads: Sequence[Array], attrs: Attributes) -> tuple[Array | None, ...]:
    (x,), along = inputs, attrs["dim"]
    size = x.shape[along] // attrs["blocks"]
    dx = np.zeros(x.shape, dtype=grads[0].dtype)
    for k, piece in zip(attrs["index"], _cut(grads[0], along, [size] * len(attrs["index"])), strict=True):
        dx[_place(dx, along, k * size, (k + 1) * size)] += piece
    return (dx,)


def _shrink(*names: str) -> Callable[[Attributes, Scale], Attributes]:
    """Lengths along the dimension shrink as a block does. ShapeError where one is no number of whole blocks."""

    def reduce(attrs: Attributes, scale: Scale) -> Attributes:
        if "k" not in scale.bounds:
            return attrs
        full, small = scale.bounds["k"][1] - scale.bounds["k"][0], scale.sizes["k"]

        def smaller(name: str, value: int) -> int:
            if value * small % full:
                raise ShapeError(f"{name} {value} is not on the edge of a block of {full}")
            return value * small // full

        def reduced(name: str, value: int | tuple[int, ...]) -> int | tuple[int, ...]:
            return tuple(smaller(name, n) for n in value) if isinstance(value, tuple) else smaller(name, value)

        return {name: reduced(name, value) if name in names else value for name, value in attrs.items()}

    return reduce


def _split_narrowed(attrs: Attributes, atom: str, interval: Interval) -> Attributes:
    if atom != "k":
        return attrs
    block, share = gcd(*attrs["sizes"]), interval[1] - interval[0]
    return {**attrs, "sizes": tuple(size // block * share for size in attrs["sizes"])}


RULES = (
    OpRule(
        "concatenate",
        _concatenate_axes,
        _concatenate,
        _concatenate_gradient,
        moves=True,
        joins=True,
        attributes=("dim",),
        formula="y = x_1, x_2, ... side by side along dim",
        source="torch.cat",
        types=promoted,
    ),
    OpRule(
        "split",
        _split_axes,
        _split,
        _split_gradient,
        reduce=_shrink("sizes"),
        narrow=_split_narrowed,
        linear=frozenset({0}),
        moves=True,
        attributes=("dim", "sizes"),
        formula="y_1, y_2, ... = consecutive pieces of x along dim, of these sizes",
        source="torch.split",
        types=like_first,
    ),
    OpRule(
        "narrow",
        _narrow_axes,
        _narrow,
        _narrow_gradient,
        reduce=_shrink("start", "length"),
        linear=frozenset({0}),
        moves=True,
        attributes=("dim", "start", "length"),
        formula="y = the elements of x from start to start + length along dim",
        source="torch.narrow",
        types=like_first,
    ),
    OpRule(
        "pad",
        _pad_axes,
        _pad,
        _pad_gradient,
        reduce=_shrink("before", "after"),
        linear=frozenset({0}),
        moves=True,
        attributes=("dim", "before", "after"),
        formula="y = zeros, x and zeros side by side along dim",
        source="torch.nn.functional.pad",
        types=like_first,
    ),
    OpRule(
        "select_blocks",
        _select_axes,
        _select,
        _select_gradient,
        linear=frozenset({0}),
        moves=True,
        attributes=("dim", "blocks", "index"),
        formula="y = the blocks of x along dim that index names, side by side",
        source="torch.index_select of a view in blocks",
        types=like_first,
    ),
)
