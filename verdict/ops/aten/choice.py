"""topk and sort along one dimension: values, and the places that they come from.

On terms, whether slot k holds element e is one unknown function of the row, k and e. Of equal elements the lower
place comes first; torch leaves that open.
"""

from collections.abc import Mapping

import numpy as np

from verdict.ops import numbers
from verdict.ops.aten.form import REQUIRED, Arguments, operator
from verdict.ops.domain import Integers
from verdict.ops.gate import CHOICE
from verdict.ops.rule import Array, Atom, Axes, Law, OpRule
from verdict.ops.shapes import axis, is_integer, make_axes
from verdict.ops.types import and_positions
from verdict.outcome import Assumption


def _axes(args: Arguments) -> Axes:
    """Row by row; a row is looked at as a whole."""
    shape = args["self"]
    along = axis(args.name, args["dim"], len(shape))
    kept = shape[along] if args["k"] is None else args["k"]
    if not is_integer(kept) or not 1 <= kept <= shape[along]:
        raise args.misfit(f"k is {kept}, there are {shape[along]} elements")
    rows = {place: Atom(f"b{place}", size) for place, size in enumerate(shape) if place != along}
    row, slots = (Atom(name, size, Law.WHOLE, size) for name, size in (("row", shape[along]), ("slot", kept)))
    read, made = (tuple((rows.get(place, last).name,) for place in range(len(shape))) for last in (row, slots))
    return make_axes((*rows.values(), row, slots), (read,), (made, made))


def _forward(args: Arguments) -> tuple[Array, Array]:
    x, along = args["self"], args["dim"]
    greatest_first = args["largest"] if args["k"] is not None else args["descending"]
    rows = np.moveaxis(x, along, -1)
    judged = rows if greatest_first else np.asarray(-rows)
    if not numbers.has_terms(rows):
        taken = np.argsort(-judged, axis=-1, kind="stable")[..., : args["k"]]
        found = np.take_along_axis(rows, taken, axis=-1)
        return np.moveaxis(found, -1, along), np.moveaxis(taken, -1, along)
    hits = numbers.chosen(judged, args["k"] or rows.shape[-1], numbers.descending, "ranked", ())
    values = numbers.matmul(hits, rows[..., None])[..., 0]
    places = numbers.matmul(hits, np.arange(rows.shape[-1]))
    return np.moveaxis(values, -1, along), np.moveaxis(places, -1, along)


def _places(args: Arguments) -> Mapping[int, Integers]:
    """Places in a row."""
    shape = args["self"]
    return {1: Integers(0, shape[axis(args.name, args["dim"], len(shape))] - 1)}


LAST = {"dim": -1}
ORDER = Assumption("unsorted-order", "what topk gives back unsorted is in order, too, the greatest (or smallest) first")

RULES: tuple[OpRule, ...] = (
    operator(
        "aten.topk",
        "self",
        {"k": REQUIRED, **LAST, "largest": True, "sorted": True},
        _axes,
        _forward,
        "the k greatest (or smallest) of x along dim, and where they are",
        within=_places,
        assumptions=(CHOICE, ORDER),
        types=and_positions,
    ),
    operator(
        "aten.sort",
        "self",
        {**LAST, "descending": False},
        _axes,
        _forward,
        "x in order along dim, and where each element was",
        within=_places,
        assumptions=(CHOICE,),
        types=and_positions,
    ),
)
