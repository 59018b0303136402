"""Pooling of the last two dimensions, forward and backward: the greatest element of each window, or its mean.

    max_pool2d_with_indices   y[p] = max of x[i] over the window of p, and the i that it is at, counted over both axes
                              dx[i] = sum of dy[p] over the windows p whose greatest element is at i
    avg_pool2d                y[p] = sum of x[i] over the window of p / (elements of the window, or divisor_override)
    _adaptive_avg_pool2d      the same; of P windows over n positions the p-th is floor(p n / P) : ceil((p + 1) n / P)

Of indices that are known to be those of pooling x the gradient is written by what each window chooses.
Outside of x the greatest element is never found; a mean finds zeros there, and counts them with count_include_pad. Of
equal elements the first is the greatest. With ceil_mode windows begin where no whole one fits, too, but none
behind x; they end with the padding on the right.
"""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import product
from math import prod
from typing import Any

import numpy as np

from verdict.graph import Shape
from verdict.ops import elements, numbers
from verdict.ops.aten.form import REQUIRED, Arguments, operator
from verdict.ops.domain import Integers
from verdict.ops.elements import MINUS_INFINITY, is_number
from verdict.ops.gate import CHOICE
from verdict.ops.rule import Array, Atom, Axes, Law, OpRule
from verdict.ops.shapes import make_axes
from verdict.ops.types import and_positions, divided

Windows = list[list[range]]
"""For each of the two axes, of each output position the input positions of its window, padding included."""


def _pair(args: Arguments, name: str, otherwise: Sequence[int] = ()) -> tuple[int, int]:
    given = args[name] if isinstance(args[name], tuple | list) else (args[name],)
    found = tuple(given) or tuple(otherwise)
    if len(found) not in (1, 2):
        raise args.misfit(f"{name} has {len(found)} numbers for 2 axes of positions")
    return found[0], found[-1]


def _windows(args: Arguments, sizes: Shape) -> Windows:
    kernel = _pair(args, "kernel_size")
    dilation = (1, 1) if args["dilation"] is None else _pair(args, "dilation")
    ways = (kernel, _pair(args, "stride", kernel), _pair(args, "padding"), dilation)
    found = []
    for size, width, stride, padding, step in zip(sizes, *ways, strict=True):
        room = size + 2 * padding - step * (width - 1) - 1
        if room < 0 or stride < 1 or step < 1 or not 0 <= 2 * padding <= width:
            raise args.misfit(f"a window of {width} finds no place in {size} positions")
        starts = range(-padding, room - padding + 1, stride)
        if args["ceil_mode"]:
            last = -padding + -(-room // stride) * stride
            starts = range(-padding, (last if last < size else last - stride) + 1, stride)
        ends = (min(start + step * (width - 1) + 1, size + padding) for start in starts)
        found.append([range(start, end, step) for start, end in zip(starts, ends, strict=True)])
    return found


def _adaptive(sizes: Shape, made: Shape) -> Windows:
    return [
        [range(k * size // count, -(-(k + 1) * size // count)) for k in range(count)]
        for size, count in zip(sizes, made, strict=True)
    ]


def _inside(windows: Windows, sizes: Shape) -> list[list[int]]:
    """Of each output position the input positions of its window that are there; both are counted over both axes."""
    return [
        [i * sizes[1] + j for i in rows if 0 <= i < sizes[0] for j in columns if 0 <= j < sizes[1]]
        for rows, columns in product(*windows)
    ]


def _positions(args: Arguments, name: str) -> Shape:
    shape: Shape = args[name]
    if len(shape) not in (3, 4):
        raise args.misfit(f"{name} of shape {shape} has no two dimensions of positions behind its channels")
    return shape[-2:]


def _axes(args: Arguments, read: Sequence[Shape], made: Sequence[Shape]) -> Axes:
    """Samples and channels are independent, positions are kept."""
    rows = [Atom(f"b{k}", size) for k, size in enumerate(read[0][:-2])]
    if any(shape[:-2] != read[0][:-2] for shape in (*read, *made)):
        raise args.misfit(f"samples and channels of {read} are not the same")
    sizes = dict.fromkeys(shape[-2:] for shape in (*read, *made))
    names = {size: (f"i{k}", f"j{k}") for k, size in enumerate(sizes)}
    along = [Atom(name, n, Law.WHOLE, n) for size in sizes for name, n in zip(names[size], size, strict=True)]
    lead = tuple((atom.name,) for atom in rows)
    dims = [[(*lead, *((name,) for name in names[shape[-2:]])) for shape in some] for some in (read, made)]
    return make_axes((*rows, *along), dims[0], dims[1])


def _made(windows: Windows, shape: Shape) -> Shape:
    return (*shape[:-2], *map(len, windows))


def _pool_axes(args: Arguments) -> Axes:
    made = _made(_windows(args, _positions(args, "self")), args["self"])
    return _axes(args, [args["self"]], [made, made] if "max" in args.name else [made])


def _unpool_axes(args: Arguments) -> Axes:
    made = _made(_windows(args, _positions(args, "self")), args["self"])
    gradients = [args[name] for name in ("grad_output", "indices") if args[name] is not None]
    if any(shape != made for shape in gradients):
        raise args.misfit(f"gradients of shapes {gradients} do not belong to an output of shape {made}")
    indices = [] if args["indices"] is None else [made]
    return _axes(args, [made, args["self"], *indices], [args["self"]])


def _hits(rows: Array, window: Sequence[int]) -> tuple[Array, Array]:
    """Of each row of a window: [the greatest is this element], and the place of the greatest."""
    if numbers.has_terms(rows):
        hits = numbers.zeros(rows, rows.shape)
        for hit, row in zip(hits, rows, strict=True):
            there = _in_question(row)
            hit[there] = numbers.chosen(row[None, there], 1, numbers.descending, "ranked", ())[0, 0]
    else:
        hits = numbers.chosen(rows, 1, numbers.descending, "ranked", ())[:, 0]
    return hits, numbers.matmul(hits[:, None], np.asarray(window, dtype=object)[:, None])[:, 0, 0]


def _in_question(row: Array) -> Sequence[int]:
    """The places that may hold the greatest: minus infinity is no more of a window than what lies outside of x."""
    some = [place for place, value in enumerate(row) if not (is_number(value) and value == MINUS_INFINITY)]
    solid = bool(some) and all(is_number(row[place]) or getattr(row[place], "total", False) for place in some)
    return some if solid else range(len(row))


def _left(hit: Any, value: Any) -> Any:
    """hit * value: of minus infinity that is not the greatest nothing is left."""
    return 0 if is_number(hit) and is_number(value) and not hit and value == MINUS_INFINITY else hit * value


def _max(args: Arguments) -> tuple[Array, Array]:
    x = args["self"]
    flat, found = _flat(args)
    values, places = (numbers.zeros(x, (len(flat), len(found))) for _ in range(2))
    for p, window in enumerate(found):
        hits, places[:, p] = _hits(rows := flat[:, window], window)
        chosen = numbers.each(_left, hits, rows) if numbers.of_objects(x) else numbers.amax(rows, 1)
        values[:, p] = numbers.total(chosen, (1,))[:, 0]
    made = _made(_windows(args, x.shape[-2:]), x.shape)
    return values.reshape(made), places.reshape(made)


def _flat(args: Arguments) -> tuple[Array, list[list[int]]]:
    """The rows of positions of x, and of each output position those of its window."""
    x = args["self"]
    return x.reshape(-1, prod(x.shape[-2:])), _inside(_windows(args, x.shape[-2:]), x.shape[-2:])


def _max_backward(args: Arguments) -> Array:
    dy, x, places = args["grad_output"], args["self"], prod(args["self"].shape[-2:])
    rows = dy.reshape(-1, prod(dy.shape[-2:]))
    at = args["indices"].reshape(rows.shape)
    dx, known = numbers.zeros(dy, (len(rows), places)), numbers.integers(at)
    if known is not None:
        np.add.at(dx, (np.arange(len(rows))[:, None], known), rows)
        return dx.reshape(x.shape)
    hits = _of_pooling(args, at)
    for place in range(places):
        found = numbers.indicator(at, place) if hits is None else hits[:, :, place]
        dx[:, place] = numbers.total(numbers.each(elements.part, found, rows), (1,))[:, 0]
    return dx.reshape(x.shape)


def _of_pooling(args: Arguments, at: Array) -> Array | None:
    """[row, window, place]: 1 where the window's greatest element is there, if `at` is what pooling x makes, as terms.

    Of such a place is known what no arithmetic of it tells: it is one of the window's.
    """
    flat, found = _flat(args)
    if len(found) != at.shape[1]:
        return None
    made = numbers.zeros(flat, (*at.shape, flat.shape[1]))
    for p, window in enumerate(found):
        made[:, p, window], places = _hits(flat[:, window], window)
        if not all(map(elements.same, at[:, p], places)):
            return None
    return made


def _found(args: Arguments) -> Mapping[int, Integers]:
    return {2: Integers(0, prod(args["self"][-2:]) - 1)}


def _weights(args: Arguments, sizes: Shape, like: Array) -> Array:
    """[output positions, input positions]: what each is multiplied by in the mean."""
    if "adaptive" in args.name:
        windows = _adaptive(sizes, args["output_size"] or args["grad_output"].shape[-2:])
    else:
        windows = _windows(args, sizes)
    found = _inside(windows, sizes)
    counts = [len(window) for window in found]
    if args["divisor_override"] is not None:
        counts = [args["divisor_override"]] * len(found)
    elif args["count_include_pad"]:
        counts = [len(rows) * len(columns) for rows, columns in product(*windows)]
    made = numbers.zeros(like, (len(found), sizes[0] * sizes[1]))
    for p, (window, count) in enumerate(zip(found, counts, strict=True)):
        made[p, window] = numbers.scalar(like, Fraction(1, count))
    return made


def _mean(args: Arguments) -> Array:
    x = args["self"]
    weights = _weights(args, x.shape[-2:], x)
    flat = numbers.matmul(x.reshape(-1, weights.shape[1]), weights.T)
    made = args["output_size"] or tuple(map(len, _windows(args, x.shape[-2:])))
    return flat.reshape((*x.shape[:-2], *made))


def _mean_backward(args: Arguments) -> Array:
    dy, x = args["grad_output"], args["self"]
    weights = _weights(args, x.shape[-2:], dy)
    return numbers.matmul(dy.reshape(-1, len(weights)), weights).reshape(x.shape)


def _adaptive_axes(args: Arguments) -> Axes:
    _positions(args, "self")
    if len(args["output_size"]) != 2 or min(args["output_size"]) < 1:
        raise args.misfit(f"output_size is {args['output_size']}")
    return _axes(args, [args["self"]], [(*args["self"][:-2], *args["output_size"])])


def _adaptive_unpool_axes(args: Arguments) -> Axes:
    _positions(args, "self")
    _positions(args, "grad_output")
    return _axes(args, [args["grad_output"], args["self"]], [args["self"]])


WINDOW = {"kernel_size": REQUIRED, "stride": (), "padding": 0, "ceil_mode": False}
DILATED = {**WINDOW, "dilation": 1}
COUNTED = {**WINDOW, "count_include_pad": True, "divisor_override": None}

RULES: tuple[OpRule, ...] = (
    operator(
        "aten.max_pool2d_with_indices",
        "self",
        DILATED,
        _pool_axes,
        _max,
        "y[p] = max of x[i] over the window of p, and where it is",
        assumptions=(CHOICE,),
        types=and_positions,
    ),
    operator(
        "aten.max_pool2d_with_indices_backward",
        "grad_output self indices",
        DILATED,
        _unpool_axes,
        _max_backward,
        "dx[i] = sum of dy[p] over the windows p whose greatest element is at i",
        linear=(0,),
        domain=_found,
    ),
    operator(
        "aten.avg_pool2d",
        "self",
        COUNTED,
        _pool_axes,
        _mean,
        "y[p] = sum of x[i] over the window of p / its elements",
        linear=(0,),
        types=divided,
    ),
    operator(
        "aten.avg_pool2d_backward",
        "grad_output self",
        COUNTED,
        _unpool_axes,
        _mean_backward,
        "dx[i] = sum of dy[p] / elements of its window, over the windows p that i is in",
        linear=(0,),
    ),
    operator(
        "aten._adaptive_avg_pool2d",
        "self",
        {"output_size": REQUIRED},
        _adaptive_axes,
        _mean,
        "y[p] = mean of x[i] over the window of p, of windows that share all positions evenly",
        linear=(0,),
        types=divided,
    ),
    operator(
        "aten._adaptive_avg_pool2d_backward",
        "grad_output self",
        {},
        _adaptive_unpool_axes,
        _mean_backward,
        "dx[i] = sum of dy[p] / elements of its window, over the windows p that i is in",
        linear=(0,),
    ),
)
