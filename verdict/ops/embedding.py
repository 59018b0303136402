"""embedding: y[..., h] = sum over v of [ids = start + v] weight[v, h]

    dweight[v, h] = sum over all ids of [id = start + v] dy[..., h]

`weight` holds the rows start <= id < stop of the vocabulary (by default: all of them, from 0); any other id
gives a row of zeros. Ids are arbitrary and may repeat: where they are terms, [id = v] is an indicator.
`padding_idx` is a row of the given weight, and means what it means to torch.nn.functional.embedding: the
lookup is as for any row, and the row's gradient is zero.
"""

from collections.abc import Mapping, Sequence

from verdict.errors import ShapeError
from verdict.graph import Interval, Shape
from verdict.ops import numbers
from verdict.ops.lookup import hits, scattered
from verdict.ops.rule import Array, Atom, Attributes, Axes, Law, OpRule, Scale
from verdict.ops.shapes import arity, is_integer, known, make_axes, numbered
from verdict.ops.types import like_others

ATTRIBUTES = ("start", "stop", "padding_idx")


def _axes(shapes: Sequence[Shape], attrs: Attributes) -> Axes:
    known("embedding", attrs, ATTRIBUTES)
    arity("embedding", shapes, 2)
    ids, weight = shapes
    if len(weight) != 2:
        raise ShapeError(f"embedding: weight {weight} must have two dimensions, rows and features")
    rows, features = weight
    start, stop = attrs.get("start", 0), attrs.get("stop", attrs.get("start", 0) + rows)
    if not is_integer(start) or not is_integer(stop) or start < 0 or stop - start != rows:
        raise ShapeError(f"embedding: the weight has {rows} rows, start and stop are {start} and {stop}")
    padding = attrs.get("padding_idx")
    if padding is not None and (not is_integer(padding) or not 0 <= padding < rows):
        raise ShapeError(f"embedding: padding_idx {padding} is no row of the weight, which has {rows}")
    places, dims = numbered("b", ids)
    atoms = (*places, Atom("v", rows, Law.SUM, 2), Atom("h", features))
    return make_axes(atoms, (dims, (("v",), ("h",))), ((*dims, ("h",)),), keep=("v",))


def _forward(inputs: Sequence[Array], attrs: Attributes) -> tuple[Array, ...]:
    ids, weight = inputs
    rows, features = weight.shape
    start = attrs.get("start", 0)
    numeric = numbers.integers(ids)
    if numeric is None:
        return (numbers.picked(hits(ids, rows, start).reshape(-1, rows), weight).reshape((*ids.shape, features)),)
    inside = (numeric >= start) & (numeric < start + rows)
    y = numbers.zeros(weight, (*ids.shape, features))
    y[inside] = weight[numeric[inside] - start]
    return (y,)


def _gradient(inputs: Sequence[Array], grads: Sequence[Array], attrs: Attributes) -> tuple[Array | None, ...]:
    (ids, weight), (dy,) = inputs, grads
    dweight = scattered(ids, dy, len(weight), attrs.get("start", 0))
    padding = attrs.get("padding_idx")
    if padding is not None:
        dweight[padding] = 0
    return None, dweight


def _cuts(attrs: Attributes) -> Mapping[str, tuple[int, ...]]:
    start = attrs.get("start", 0)
    cuts = (start, attrs["stop"]) if "stop" in attrs else (start,)
    padding = attrs.get("padding_idx")
    return {"v": cuts if padding is None else tuple(sorted({*cuts, start + padding, start + padding + 1}))}


def _reduce(attrs: Attributes, scale: Scale) -> Attributes:
    points = scale.points["v"]
    for coordinate in _cuts(attrs)["v"]:
        if coordinate not in points:
            raise ShapeError(f"embedding: row {coordinate} lies outside the vocabulary")
    reduced = dict(attrs)
    for key in ("start", "stop"):
        if key in attrs:
            reduced[key] = points[attrs[key]]
    if attrs.get("padding_idx") is not None:
        start = attrs.get("start", 0)
        reduced["padding_idx"] = points[start + attrs["padding_idx"]] - points[start]
    return reduced


def _narrow(attrs: Attributes, atom: str, interval: Interval) -> Attributes:
    if atom != "v":
        return attrs
    first, last = interval
    start, padding = attrs.get("start", 0), attrs.get("padding_idx")
    if padding is not None:
        padding = padding - first if first <= padding < last else None
    return {"start": start + first, "stop": start + last, "padding_idx": padding}


RULES = (
    OpRule(
        "embedding",
        _axes,
        _forward,
        _gradient,
        reduce=_reduce,
        cuts=_cuts,
        narrow=_narrow,
        indices={0: "v"},
        linear=frozenset({1}),
        rows=("start", "stop"),
        local=frozenset({"start", "stop"}),
        attributes=ATTRIBUTES,
        formula="y[..., h] = sum over v of [ids = start + v] weight[v, h]",
        source="torch.nn.functional.embedding",
        types=like_others,
    ),
)
