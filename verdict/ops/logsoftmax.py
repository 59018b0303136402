"""log_softmax and logsumexp: the logarithms of softmax and of its denominator, along one dimension.

    logsumexp    y = log of sum over k of exp(x[.., k, ..])      dx = softmax(x) dy
    log_softmax  y = x - logsumexp(x)                            dx = dy - softmax(x) sum over k of dy

Numbers are shifted by their greatest first, which changes nothing but the range; terms are not.
"""

from collections.abc import Sequence

import numpy as np

from verdict.errors import ShapeError
from verdict.graph import Shape
from verdict.ops import numbers
from verdict.ops.casts import CAST
from verdict.ops.rule import Array, Atom, Attributes, Axes, Law, OpRule
from verdict.ops.shapes import arity, axis, floating, known, make_axes
from verdict.ops.softmax import softmax
from verdict.ops.types import floats


def logsumexp(x: Array, along: tuple[int, ...]) -> Array:
    """The logarithm of the sum of exp(x) along some dimensions, which stay with size one.

    Of nothing but minus infinity it is minus infinity.
    """
    if numbers.has_terms(x):
        return numbers.log(numbers.total(numbers.exp(x), along))
    greatest = x
    for axis_ in along:
        greatest = numbers.amax(greatest, axis_)
    shift = numbers.finite(greatest)
    return np.asarray(numbers.log(numbers.total(numbers.exp(np.asarray(x - shift)), along)) + shift)


def _along(name: str, shape: Shape, attrs: Attributes) -> tuple[Atom, ...]:
    if "dim" not in attrs:
        raise ShapeError(f"{name}: needs dim")
    place = axis(name, attrs["dim"], len(shape))
    return tuple(Atom("k", n, Law.WHOLE, 2) if at == place else Atom(f"b{at}", n) for at, n in enumerate(shape))


def _log_softmax_axes(shapes: Sequence[Shape], attrs: Attributes) -> Axes:
    known("log_softmax", attrs, ("dim", "dtype"))
    arity("log_softmax", shapes, 1)
    floating("log_softmax", attrs.get("dtype"))
    atoms = _along("log_softmax", shapes[0], attrs)
    dims = tuple((atom.name,) for atom in atoms)
    return make_axes(atoms, (dims,), (dims,))


def _log_softmax(inputs: Sequence[Array], attrs: Attributes) -> tuple[Array, ...]:
    return (np.asarray(inputs[0] - logsumexp(inputs[0], (attrs["dim"],))),)


def _log_softmax_gradient(
    inputs: Sequence[Array], grads: Sequence[Array], attrs: Attributes
) -> tuple[Array | None, ...]:
    total = np.sum(grads[0], axis=attrs["dim"], keepdims=True)
    return (np.asarray(grads[0] - softmax(inputs[0], attrs["dim"]) * total),)


def _logsumexp_axes(shapes: Sequence[Shape], attrs: Attributes) -> Axes:
    known("logsumexp", attrs, ("dim", "keepdim"))
    arity("logsumexp", shapes, 1)
    keepdim = attrs.get("keepdim", False)
    if not isinstance(keepdim, bool):
        raise ShapeError(f"logsumexp: keepdim is {keepdim}, it must be True or False")
    atoms = _along("logsumexp", shapes[0], attrs)
    dims = tuple((atom.name,) for atom in atoms)
    kept = tuple(() if atom.name == "k" else dim for atom, dim in zip(atoms, dims, strict=True))
    left = kept if keepdim else tuple(dim for dim in kept if dim)
    return make_axes(atoms, (dims,), (left or ((),),))


def _logsumexp(inputs: Sequence[Array], attrs: Attributes) -> tuple[Array, ...]:
    (x,) = inputs
    y = logsumexp(x, (attrs["dim"],))
    if attrs.get("keepdim", False):
        return (y,)
    place = attrs["dim"] % x.ndim
    return (y.reshape((*x.shape[:place], *x.shape[place + 1 :]) or (1,)),)


def _logsumexp_gradient(inputs: Sequence[Array], grads: Sequence[Array], attrs: Attributes) -> tuple[Array | None, ...]:
    (x,), (dy,) = inputs, grads
    place = attrs["dim"] % x.ndim
    spread = dy.reshape((*x.shape[:place], 1, *x.shape[place + 1 :]))
    return (np.asarray(softmax(x, place) * spread),)


RULES = (
    OpRule(
        "log_softmax",
        _log_softmax_axes,
        _log_softmax,
        _log_softmax_gradient,
        assumptions=(CAST,),
        attributes=("dim", "dtype"),
        formula="y[k] = x[k] - log of sum over j of exp(x[j]), along dim",
        source="torch.nn.functional.log_softmax",
        types=floats,
    ),
    OpRule(
        "logsumexp",
        _logsumexp_axes,
        _logsumexp,
        _logsumexp_gradient,
        attributes=("dim", "keepdim"),
        formula="y = log of sum over j of exp(x[j]), along dim",
        source="torch.logsumexp",
        types=floats,
    ),
)
