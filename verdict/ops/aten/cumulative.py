"""Sums of all elements up to each: cumsum, y[k] = sum over j <= k of x[j]."""

import numpy as np

from verdict.ops import integers
from verdict.ops.aten.form import REQUIRED, Arguments, operator
from verdict.ops.aten.reductions import ALL, asked
from verdict.ops.rule import Array, Atom, Axes, Law, OpRule
from verdict.ops.shapes import axis, make_axes
from verdict.ops.types import counted


def _cumsum(args: Arguments) -> Array:
    x = asked(args)
    sums = x if x.ndim == 0 else np.asarray(np.cumsum(x, axis=args["dim"], dtype=x.dtype))
    return integers.wrapped(sums, str(args["dtype"]))


def _cumsum_axes(args: Arguments) -> Axes:
    axis(args.name, args["dim"], max(len(args["self"]), 1))
    shape = args["self"]
    along = args["dim"] % max(len(shape), 1)
    atoms = tuple(
        Atom(f"d{k}", n, Law.WHOLE if k == along else Law.EACH, n if k == along else 1) for k, n in enumerate(shape)
    )
    dims = tuple((atom.name,) for atom in atoms)
    return make_axes(atoms, (dims,), (dims,))


RULES: tuple[OpRule, ...] = (
    operator(
        "aten.cumsum",
        "self",
        {"dim": REQUIRED, **ALL},
        _cumsum_axes,
        _cumsum,
        "y[k] = sum over j <= k of x[j]",
        linear=(0,),
        types=counted,
    ),
)
