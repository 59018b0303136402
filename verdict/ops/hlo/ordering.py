"""topk and sort: rows put in order along one dimension, as aten.topk and aten.sort are (verdict/ops/aten/choice.py).

Of equal elements the lower place comes first. On terms, whether slot k holds element e is one unknown function of the
row, k and e, the same for both opcodes.
"""

from collections.abc import Sequence

import numpy as np

from verdict.graph import Shape
from verdict.ops import numbers
from verdict.ops.aten.form import REQUIRED, Arguments
from verdict.ops.gate import CHOICE
from verdict.ops.hlo.form import hlo
from verdict.ops.rule import Array
from verdict.ops.types import Attributes, Kinds


def _topk_shape(args: Arguments) -> tuple[Shape, Shape]:
    x, k = args["self"], args["k"]
    if not x or not 0 <= k <= x[-1]:
        raise args.misfit(f"k is {k}, the last dimension of {x} is as long")
    return (*x[:-1], k), (*x[:-1], k)


def _topk(args: Arguments) -> tuple[Array, Array]:
    x = args["self"]
    hits = _hits(x if args["largest"] else np.asarray(-x), args["k"])
    return _at(hits, x), numbers.matmul(hits, np.arange(x.shape[-1]))


def _sort_shape(args: Arguments) -> tuple[Shape, ...]:
    key, dim = args["self"], args["dim"]
    if not 0 <= dim < len(key) or any(other != key for other in args["others"]):
        raise args.misfit(f"dimension {dim} of {key} beside {list(args['others'])}")
    return tuple(key for _ in args.given)


def _sort(args: Arguments) -> tuple[Array, ...]:
    dim = args["dim"]
    rows = [np.moveaxis(x, dim, -1) for x in args.given]
    hits = _hits(rows[0] if args["descending"] else np.asarray(-rows[0]), rows[0].shape[-1])
    return tuple(np.moveaxis(_at(hits, x), -1, dim) for x in rows)


def _hits(judged: Array, slots: int) -> Array:
    """[the slot holds the element], of shape (..., slots, elements), the greatest first."""
    return numbers.chosen(judged, slots, numbers.descending, "ranked", ())


def _at(hits: Array, x: Array) -> Array:
    return np.asarray(numbers.matmul(hits, x[..., None])[..., 0])


def _and_places(kinds: Sequence[str], _attrs: Attributes) -> tuple[Kinds | None, ...]:
    return frozenset(kinds), frozenset({"int32"})


def _of_each(kinds: Sequence[str], _attrs: Attributes) -> tuple[Kinds | None, ...]:
    return tuple(frozenset({name}) for name in kinds)


RULES = (
    hlo(
        "topk",
        "self",
        {"k": REQUIRED, "largest": True},
        _topk_shape,
        _topk,
        "the k greatest (or smallest) of the last dimension of x, and where they are",
        assumptions=(CHOICE,),
        types=_and_places,
    ),
    hlo(
        "sort",
        "self others*",
        {"dim": REQUIRED, "descending": False},
        _sort_shape,
        _sort,
        "x in order along dim, and the others in the order of x",
        assumptions=(CHOICE,),
        types=_of_each,
    ),
)
