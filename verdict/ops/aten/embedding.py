"""embedding: y[.., h] = weight[ids[..], h], and its gradient dweight[v, h] = sum over ids of [id = v] dy[.., h]

A row that does not exist has no value (torch refuses it), for ids that are numbers and for ids that are terms: a
rank that looks up ids outside of its share of the vocabulary without masking them first is not right. The gradient
adds up over repeated ids; the row `padding_idx` gets none.
"""

from collections.abc import Mapping
from dataclasses import replace

from verdict.ops import logic
from verdict.ops.aten.form import REQUIRED, Arguments, operator
from verdict.ops.domain import Integers
from verdict.ops.lookup import FEWEST_ROWS, scattered
from verdict.ops.rule import Array, Atom, Attributes, Axes, Law, OpRule, Scale
from verdict.ops.shapes import make_axes, numbered
from verdict.ops.types import like_first

KIND = {"padding_idx": -1, "scale_grad_by_freq": False, "sparse": False}


def _axes(args: Arguments) -> Axes:
    weight, ids = args.given
    if len(weight) != 2:
        raise args.misfit(f"weight {weight} must have two dimensions, rows and features")
    places, dims = numbered("b", ids)
    atoms = (*places, Atom("v", weight[0], Law.WHOLE, FEWEST_ROWS), Atom("h", weight[1]))
    return make_axes(atoms, ((("v",), ("h",)), dims), ((*dims, ("h",)),), keep=("v",))


def _forward(args: Arguments) -> Array:
    weight, ids = args.given
    return logic.looked_up(weight, ids, wrap=False)


def _backward_axes(args: Arguments) -> Axes:
    dy, ids = args.given
    if args["scale_grad_by_freq"]:
        raise args.unruled("a gradient that is divided by how often an id occurs has no rule")
    if not dy or dy[:-1] != ids:
        raise args.misfit(f"the gradient {dy} does not belong to ids of shape {ids}")
    places, dims = numbered("b", ids)
    rows = args["num_weights"]
    table = Atom("v", rows, Law.WHOLE, FEWEST_ROWS), Atom("h", dy[-1])
    atoms = (*(Atom(a.name, a.size, Law.SUM) for a in places), *table)
    return make_axes(atoms, ((*dims, ("h",)), dims), ((("v",), ("h",)),), keep=("v",))


def _backward(args: Arguments) -> Array:
    dy, ids = args.given
    dweight = scattered(ids, dy, args["num_weights"])
    if 0 <= args["padding_idx"] < len(dweight):
        dweight[args["padding_idx"]] = 0
    return dweight


def _rows(args: Arguments) -> Mapping[int, Integers]:
    rows = args["num_weights"] if args["weight"] is None else args["weight"][0]
    return {1: Integers(0, rows - 1)}


def _cuts(attrs: Attributes) -> Mapping[str, tuple[int, ...]]:
    """The row of the padding is none among others."""
    padding = int(attrs["padding_idx"])
    return {"v": (padding, padding + 1)} if padding >= 0 else {}


def _reduce(attrs: Attributes, scale: Scale) -> Attributes:
    padding = attrs["padding_idx"]
    return {**attrs, "num_weights": scale.sizes["v"], "padding_idx": scale.points.get("v", {}).get(padding, padding)}


RULES: tuple[OpRule, ...] = (
    operator(
        "aten.embedding",
        "weight indices",
        KIND,
        _axes,
        _forward,
        "y[.., h] = weight[ids[..], h]",
        linear=(0,),
        indices={1: "v"},
        domain=_rows,
        types=like_first,
    ),
    replace(
        operator(
            "aten.embedding_dense_backward",
            "grad_output indices",
            {"num_weights": REQUIRED, "padding_idx": REQUIRED, "scale_grad_by_freq": REQUIRED},
            _backward_axes,
            _backward,
            "dweight[v, h] = sum over ids of [id = v] dy[.., h]",
            linear=(0,),
            indices={1: "v"},
            domain=_rows,
            types=like_first,
        ),
        cuts=_cuts,
        reduce=_reduce,
    ),
)
