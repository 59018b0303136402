"""keyed_dropout: dropout whose random state is stated: y = x m(key, position), dx = dy m(key, position).

m is 1 / (1 - p) where the state `key` keeps an element and 0 where it drops it. The position of an element is that
in the single-device tensor: `offset`, one number for each dimension, says where this share of it begins. So shares
that hold the same elements must have one key and one offset to agree, and shares of different elements differ by
their offsets alone: what a random state per tensor parallel rank makes of a tensor that all ranks hold is another
key, and a proof does not find it equal.

On terms m is an unknown function of the element, p, the key and the position. On numbers a number of its own for
every key and position, between 0 and 1 / (1 - p), stands for it: were it 0 or 1 / (1 - p), different states would
often look alike.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction

import numpy as np

from verdict.errors import ShapeError
from verdict.graph import Interval, Shape
from verdict.ops import numbers
from verdict.ops.dropout import check
from verdict.ops.rule import Array, Attributes, Axes, OpRule, Scale
from verdict.ops.shapes import arity, is_integer, known, make_axes, numbered
from verdict.outcome import Assumption

ATTRIBUTES = ("p", "key", "offset", "training")
KEYED = Assumption(
    "dropout-keyed", "dropout keeps or drops an element by its state's key and its place in the whole tensor alone"
)
_MIX = ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB), (31, 1))
_MASK = (1 << 64) - 1


def _axes(shapes: Sequence[Shape], attrs: Attributes) -> Axes:
    known("keyed_dropout", attrs, ATTRIBUTES)
    arity("keyed_dropout", shapes, 1)
    check("keyed_dropout", attrs.get("p", 0.5), attrs.get("training", True))
    (shape,), offset = shapes, attrs.get("offset")
    if not is_integer(attrs.get("key")) or attrs["key"] < 0:
        raise ShapeError(f"keyed_dropout: key is {attrs.get('key')}, it must be an integer not below 0")
    if not isinstance(offset, tuple) or len(offset) != len(shape) or not all(is_integer(n) and n >= 0 for n in offset):
        raise ShapeError(f"keyed_dropout: offset is {offset}, it must have a place for each of {len(shape)} dimensions")
    atoms, dims = numbered("d", shape)
    atoms = tuple(replace(a, least=a.size) if start else a for a, start in zip(atoms, offset, strict=True))
    return make_axes(atoms, (dims,), (dims,), keep=tuple(atom.name for atom in atoms))


def drawn(key: int, position: tuple[int, ...]) -> Fraction:
    """A number between 0 and 1 that stands for what the state `key` draws for a position (splitmix64, folded)."""
    state = key
    for number in (len(position), *position):
        state = (state + number + 0x9E3779B97F4A7C15) & _MASK
        for shift, factor in _MIX:
            state = ((state ^ (state >> shift)) * factor) & _MASK
    return Fraction((state >> 32) + 1, 2**32 + 1)


def _factor(x: Array, attrs: Attributes) -> Array:
    p = attrs.get("p", 0.5) if attrs.get("training", True) else 0
    if p in {0, 1}:
        return np.asarray(numbers.zeros(x, x.shape) + (1 - int(p)))
    key, start = int(attrs["key"]), attrs["offset"]
    share = numbers.rational(p)
    factor = np.empty(x.shape, dtype=object)
    for place, value in np.ndenumerate(x):
        position = tuple(int(a) + int(b) for a, b in zip(start, place, strict=True))
        term = numbers.has_terms(np.array([value], dtype=object))
        known = None if term else drawn(key, position) / (1 - share)
        factor[place] = value.opaque("keyed_dropout", share, key, *position) if term else known
    return factor if numbers.of_objects(x) else factor.astype(np.float64)


def _forward(inputs: Sequence[Array], attrs: Attributes) -> tuple[Array, ...]:
    return (np.asarray(inputs[0] * _factor(inputs[0], attrs)),)


def _gradient(inputs: Sequence[Array], grads: Sequence[Array], attrs: Attributes) -> tuple[Array | None, ...]:
    return (np.asarray(grads[0] * _factor(inputs[0], attrs)),)


def _cuts(attrs: Attributes) -> Mapping[str, tuple[int, ...]]:
    return {f"d{place}": (start,) for place, start in enumerate(attrs["offset"])}


def _reduce(attrs: Attributes, scale: Scale) -> Attributes:
    """What lies behind the single-device tensor stays where it is, behind all that is reduced."""
    offset = tuple(scale.points[f"d{place}"].get(start, start) for place, start in enumerate(attrs["offset"]))
    return {**attrs, "offset": offset}


def _narrow(attrs: Attributes, atom: str, interval: Interval) -> Attributes:
    place = int(atom[1:])
    moved = (start + interval[0] if at == place else start for at, start in enumerate(attrs["offset"]))
    return {**attrs, "offset": tuple(moved)}


RULES = (
    OpRule(
        "keyed_dropout",
        _axes,
        _forward,
        _gradient,
        reduce=_reduce,
        cuts=_cuts,
        narrow=_narrow,
        keyed=lambda attrs: attrs.get("p", 0.5) if attrs.get("training", True) else 0,
        assumptions=(KEYED,),
        attributes=ATTRIBUTES,
        formula="y = x / (1 - p) where the state key keeps the element at offset + its place, else 0",
        source="torch.nn.functional.dropout under a stated generator",
    ),
)
