"""Sums and products of all elements up to each: cumsum, y[k] = sum over j <= k of x[j]; cumprod; logcumsumexp."""

import numpy as np

from verdict.ops import integers, numbers
from verdict.ops.aten.form import REQUIRED, Arguments, operator
from verdict.ops.aten.reductions import ALL, asked
from verdict.ops.rule import Array, Atom, Axes, Law, OpRule
from verdict.ops.shapes import axis, make_axes
from verdict.ops.types import counted, floats


def _cumsum(args: Arguments) -> Array:
    x = asked(args)
    sums = x if x.ndim == 0 else np.asarray(np.cumsum(x, axis=args["dim"], dtype=x.dtype))
    return integers.wrapped(sums, str(args["dtype"]))


def _cumprod(args: Arguments) -> Array:
    x = asked(args)
    products = x if x.ndim == 0 else np.asarray(np.multiply.accumulate(x, axis=args["dim"]))
    return integers.wrapped(products, str(args["dtype"]))


def _logcumsumexp(args: Arguments) -> Array:
    x = args["self"]
    if x.ndim == 0:
        return np.asarray(x)
    if not numbers.of_objects(x):
        return np.asarray(np.logaddexp.accumulate(x, axis=args["dim"]))
    return numbers.log(np.asarray(np.add.accumulate(numbers.exp(x), axis=args["dim"])))


def _along(args: Arguments) -> Axes:
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
        _along,
        _cumsum,
        "y[k] = sum over j <= k of x[j]",
        linear=(0,),
        types=counted,
    ),
    operator(
        "aten.cumprod",
        "self",
        {"dim": REQUIRED, **ALL},
        _along,
        _cumprod,
        "y[k] = product over j <= k of x[j]",
        types=counted,
    ),
    operator(
        "aten.logcumsumexp",
        "self",
        {"dim": REQUIRED},
        _along,
        _logcumsumexp,
        "y[k] = log(sum over j <= k of exp(x[j]))",
        types=floats,
    ),
)
