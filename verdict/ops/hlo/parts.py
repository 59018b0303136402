"""Opcodes that take a part of a tensor, write one, or put tensors beside each other, by numbers in their attributes.

pad         x between, around and among elements of one value; low and high may be negative

Along a dimension that they have whole all of them work index by index.
"""

from collections.abc import Collection, Sequence

import numpy as np

from verdict.graph import Shape
from verdict.ops.aten.form import REQUIRED, Arguments
from verdict.ops.aten.slicing import replaced
from verdict.ops.hlo.form import hlo, moving
from verdict.ops.rule import Array, Atom, Attributes, Axes, Dim, Law, Scale
from verdict.ops.shapes import axis, make_axes
from verdict.ops.types import like_first, promoted

DIMS = {"dims": REQUIRED}
CUTS = {"starts": REQUIRED, "limits": REQUIRED, "strides": REQUIRED}
WIDTHS = {"low": REQUIRED, "high": REQUIRED, "interior": REQUIRED}


def columns(args: Arguments, *names: str) -> tuple[tuple[int, ...], ...]:
    """What attributes of one number for each dimension say of each dimension."""
    lists = [args[name] for name in names]
    if len({len(values) for values in lists}) > 1:
        raise args.misfit(f"{' and '.join(names)} are not of one length")
    return tuple(zip(*lists, strict=True))


def beside(given: Sequence[Shape], made: Shape, cut: Collection[int]) -> Axes:
    """Index by index along the dimensions that are not in `cut`, which are alike in all tensors of the rank of `made`;
    what else is given are scalars.
    """
    atoms = {f"d{k}": Atom(f"d{k}", size) for k, size in enumerate(made) if k not in cut}

    def dims(prefix: str, shape: Shape) -> tuple[Dim, ...]:
        names = [f"{prefix}{k}" if k in cut else f"d{k}" for k in range(len(shape))]
        for name, size in zip(names, shape, strict=True):
            atoms.setdefault(name, Atom(name, size, Law.WHOLE, size))
        return tuple((name,) for name in names)

    read = [dims(f"x{place}.", shape) for place, shape in enumerate(given)]
    written = dims("y", made)
    return make_axes(tuple(atoms.values()), read, (written,))


def _slice_axes(args: Arguments) -> Axes:
    shape, cuts = args["self"], columns(args, "starts", "limits", "strides")
    if len(cuts) != len(shape) or any(
        not 0 <= start <= limit <= size or step < 1 for (start, limit, step), size in zip(cuts, shape, strict=True)
    ):
        raise args.misfit(f"starts {args['starts']} and limits {args['limits']} do not fit {shape}")
    made = tuple(-(-(limit - start) // step) for start, limit, step in cuts)
    return beside([shape], made, [k for k, size in enumerate(shape) if made[k] != size])


def _limits_kept(attrs: Attributes, scale: Scale) -> Attributes:
    """Where slices end at reduced shapes: of dimensions that they have whole, behind what is left of these."""
    return {**attrs, "limits": tuple(scale.sizes.get(f"d{k}", end) for k, end in enumerate(attrs["limits"]))}


def _slice(args: Arguments) -> Array:
    return np.asarray(args["self"][tuple(map(slice, args["starts"], args["limits"], args["strides"]))])


def _updated_axes(args: Arguments) -> Axes:
    shape, update = args.given
    starts = args["starts"]
    if not len(starts) == len(shape) == len(update) or any(
        not 0 <= start <= start + length <= size for start, length, size in zip(starts, update, shape, strict=True)
    ):
        raise args.misfit(f"an update of shape {update} does not fit into {shape} at {starts}")
    return beside(args.given, shape, [k for k, size in enumerate(shape) if update[k] != size])


def _updated(args: Arguments) -> Array:
    x, update = args.given
    part = tuple(slice(start, start + size) for start, size in zip(args["starts"], update.shape, strict=True))
    return replaced(x, part, update)


def _joined_axes(args: Arguments) -> Axes:
    shapes = args["tensors"]
    along = axis(args.name, args["dim"], len(shapes[0]))
    if len({(len(shape), *shape[:along], *shape[along + 1 :]) for shape in shapes}) > 1:
        raise args.misfit(f"shapes {' and '.join(map(str, shapes))} differ in more than dimension {along}")
    made = (*shapes[0][:along], sum(shape[along] for shape in shapes), *shapes[0][along + 1 :])
    return beside(shapes, made, (along,))


def _reversed_axes(args: Arguments) -> Axes:
    turned = {axis(args.name, dim, len(args["self"])) for dim in args["dims"]}
    return beside(args.given, args["self"], turned)


def _pad_shape(args: Arguments) -> Shape:
    shape, value = args.given
    widths = columns(args, "low", "high", "interior")
    if value != () or len(widths) != len(shape) or any(among < 0 for _, _, among in widths):
        raise args.misfit(f"padding {widths} and a value of shape {value} do not fit {shape}")
    made = tuple(
        low + size + max(size - 1, 0) * among + high for size, (low, high, among) in zip(shape, widths, strict=True)
    )
    if any(size < 0 for size in made):
        raise args.misfit(f"padding {widths} takes more off {shape} than there is")
    return made


def _pad_axes(args: Arguments) -> Axes:
    widths = columns(args, "low", "high", "interior")
    return beside(args.given, _pad_shape(args), [k for k, each in enumerate(widths) if each != (0, 0, 0)])


def _pad(args: Arguments) -> Array:
    x, value = args.given
    size = _pad_shape(Arguments(args.name, {"self": x.shape, "value": ()}, args.attrs))
    made = np.empty(size, np.result_type(x, value))
    made[...] = value
    target, source = [], []
    for size, whole, (low, _, among) in zip(x.shape, made.shape, columns(args, "low", "high", "interior"), strict=True):
        places = [low + k * (among + 1) for k in range(size)]
        kept = [k for k, place in enumerate(places) if 0 <= place < whole]
        target.append([places[k] for k in kept])
        source.append(kept)
    made[np.ix_(*target)] = x[np.ix_(*source)]
    return made


RULES = (
    moving("slice", CUTS, _slice_axes, _slice, "y = x[starts:limits:strides]", reduce=_limits_kept),
    moving(
        "reverse",
        DIMS,
        _reversed_axes,
        lambda args: np.flip(args["self"], args["dims"]) if args["dims"] else args["self"],
        "y = x backwards along dims",
    ),
    hlo(
        "update_slice",
        "self update",
        {"starts": REQUIRED},
        _updated_axes,
        _updated,
        "y = x with update from starts on, which are known and inside",
        moves=True,
        types=like_first,
    ),
    hlo(
        "concatenate",
        "tensors*",
        {"dim": REQUIRED},
        _joined_axes,
        lambda args: np.concatenate(args["tensors"], axis=args["dim"]),
        "y = x_1, ..., x_n, joined along dim",
        moves=True,
    ),
    hlo(
        "pad",
        "self value",
        WIDTHS,
        _pad_axes,
        _pad,
        "y = x among elements of one value",
        moves=True,
        types=promoted,
    ),
)
