"""one_hot and take_ids: ids as indicators, and the element that an id names.

    one_hot   y[..., v] = [ids = start + v]                                  v from 0 to stop - start
    take_ids  y[...] = sum over v of [ids = start + v] x[..., v]             dx[..., v] = [ids = start + v] dy

The last axis stands for the ids start <= id < stop; for any other id the row is zero, and so is what is taken. So a
share of the vocabulary gives a share of a sum.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from verdict.errors import NoRuleError, ShapeError
from verdict.graph import Interval, Shape
from verdict.ops import elements, numbers
from verdict.ops.rule import Array, Atom, Attributes, Axes, Law, OpRule, Scale
from verdict.ops.shapes import arity, is_integer, known, make_axes, numbered
from verdict.ops.types import flags, like_first

ATTRIBUTES = ("start", "stop")
FEWEST_ROWS = 4
"""The fewest rows that are left of a table of which integers name rows, and nothing else does, so that all rows are
treated alike: as many as positions are left, which may name one row, or each another one.
"""


def hits(ids: Array, size: int, start: int = 0) -> Array:
    """[id = start + v], with v below `size` as a further, last axis."""
    if not size:
        return numbers.zeros(ids, (*ids.shape, 0))
    return np.stack([numbers.indicator(ids, start + place) for place in range(size)], axis=-1)


def picked(x: Array, found: Array) -> Array:
    """The sum, along the last axis, of x where `found` is 1; what lies elsewhere may be minus infinity, or nothing."""
    if numbers.of_objects(found) or numbers.of_objects(x):
        return numbers.total(numbers.each(elements.part, found, x), (-1,))[..., 0]
    return np.asarray(np.sum(np.where(found != 0, x, 0), axis=-1))


def scattered(ids: Array, rows: Array, size: int, start: int = 0) -> Array:
    """y[v] = the sum of those rows of which the id is start + v, for v below `size`. rows: (*ids.shape, features)."""
    flat = rows.reshape(ids.size, rows.shape[-1])
    numeric = numbers.integers(ids)
    if numeric is None:
        return numbers.picked(hits(ids, size, start).reshape(-1, size).T, flat)
    local = numeric.ravel() - start
    y = numbers.zeros(rows, (size, flat.shape[1]))
    for row in np.unique(local[(local >= 0) & (local < size)]).tolist():
        y[row] = numbers.total(flat[local == row], (0,))[0]
    return y


def _bounds(name: str, attrs: Attributes, size: int | None) -> tuple[int, int]:
    known(name, attrs, ATTRIBUTES)
    start = attrs.get("start", 0)
    stop = attrs.get("stop", None if size is None else start + size)
    if not is_integer(start) or not is_integer(stop) or not 0 <= start < stop:
        raise ShapeError(f"{name}: start and stop are {start} and {stop}, they must be integers, 0 <= start < stop")
    if size is not None and stop - start != size:
        raise ShapeError(f"{name}: the last axis has {size} elements, start and stop are {start} and {stop}")
    return int(start), int(stop)


def _one_hot_axes(shapes: Sequence[Shape], attrs: Attributes) -> Axes:
    arity("one_hot", shapes, 1)
    start, stop = _bounds("one_hot", attrs, None)
    places, dims = numbered("b", shapes[0])
    return make_axes((*places, Atom("v", stop - start, least=2)), (dims,), ((*dims, ("v",)),), keep=("v",))


def _one_hot(inputs: Sequence[Array], attrs: Attributes) -> tuple[Array, ...]:
    start = attrs.get("start", 0)
    return (hits(inputs[0], attrs["stop"] - start, start),)


def _take_axes(shapes: Sequence[Shape], attrs: Attributes) -> Axes:
    arity("take_ids", shapes, 2)
    x, ids = shapes
    if x[:-1] != ids:
        raise ShapeError(f"take_ids: ids of shape {ids} do not fit {x}, which must have one dimension more")
    _bounds("take_ids", attrs, x[-1])
    places, dims = numbered("b", ids)
    atoms = (*places, Atom("v", x[-1], Law.SUM, 2))
    return make_axes(atoms, ((*dims, ("v",)), dims), (dims,), keep=("v",))


def _take(inputs: Sequence[Array], attrs: Attributes) -> tuple[Array, ...]:
    x, ids = inputs
    start, size = attrs.get("start", 0), x.shape[-1]
    numeric = numbers.integers(ids)
    if numeric is None:
        return (picked(x, hits(ids, size, start)),)
    inside = (numeric >= start) & (numeric < start + size)
    found = np.take_along_axis(x, np.where(inside, numeric - start, 0)[..., None], axis=-1)[..., 0]
    return (np.where(inside, found, numbers.zeros(x, ())),)


def _take_gradient(inputs: Sequence[Array], grads: Sequence[Array], attrs: Attributes) -> tuple[Array | None, ...]:
    x, ids = inputs
    return numbers.each(elements.part, hits(ids, x.shape[-1], attrs.get("start", 0)), grads[0][..., None]), None


def _cuts(attrs: Attributes) -> Mapping[str, tuple[int, ...]]:
    start = attrs.get("start", 0)
    return {"v": (start, attrs["stop"]) if "stop" in attrs else (start,)}


def _reduce(attrs: Attributes, scale: Scale) -> Attributes:
    points, named = scale.points["v"], [key for key in ATTRIBUTES if key in attrs]
    beyond = next((attrs[key] for key in named if attrs[key] not in points), None)
    if beyond is not None:
        raise NoRuleError(f"row {beyond} lies outside of the {max(points)} rows of the whole")
    return {**attrs, **{key: points[attrs[key]] for key in named}}


def _narrow(attrs: Attributes, atom: str, interval: Interval) -> Attributes:
    if atom != "v":
        return attrs
    start = attrs.get("start", 0)
    return {"start": start + interval[0], "stop": start + interval[1]}


RULES = (
    OpRule(
        "one_hot",
        _one_hot_axes,
        _one_hot,
        lambda inputs, grads, attrs: (None,),
        reduce=_reduce,
        cuts=_cuts,
        narrow=_narrow,
        indices={0: "v"},
        attributes=ATTRIBUTES,
        formula="y[..., v] = [ids = start + v], v below stop - start",
        source="torch.nn.functional.one_hot",
        types=flags,
    ),
    OpRule(
        "take_ids",
        _take_axes,
        _take,
        _take_gradient,
        reduce=_reduce,
        cuts=_cuts,
        narrow=_narrow,
        indices={1: "v"},
        linear=frozenset({0}),
        attributes=ATTRIBUTES,
        formula="y[...] = sum over v of [ids = start + v] x[..., v]",
        source="torch.gather of one element of the last axis; 0 for an id outside of it",
        types=like_first,
    ),
)
