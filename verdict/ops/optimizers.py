"""One step of an optimizer, element by element: from a weight, its gradient and its states to what follows them.

    sgd    g' = g + d w                                    d: weight_decay
           b' = u b + (1 - r) g'                           u: momentum, r: dampening (with momentum only)
           w' = w - l b', or w - l (g' + u b') with nesterov, or w - l g' without momentum
    adamw  m' = a m + (1 - a) g      v' = b v + (1 - b) g^2                         a, b: beta1, beta2
           w' = (1 - l d) w - l m' / (1 - a^t) / (sqrt(v') / sqrt(1 - b^t) + e)   t: step, from 1
    adam   the same with g + d w for g, and without the decay of w

l is `lr`, e is `eps`. sgd reads (w, g) and makes (w'), or with momentum reads (w, g, b) and makes (w', b'); the
others read (w, g, m, v) and make (w', m', v'). Nothing is differentiated through a step.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from verdict.errors import NoRuleError, ShapeError
from verdict.graph import Shape
from verdict.ops import numbers
from verdict.ops.rule import Array, Attributes, Axes, OpRule
from verdict.ops.shapes import arity, is_integer, is_number, known, make_axes, numbered

SGD = ("lr", "momentum", "dampening", "weight_decay", "nesterov")
MOST_DIGITS = 4_000
"""Of the powers in a bias correction, which are exact."""
ADAM = ("lr", "beta1", "beta2", "eps", "weight_decay", "step")


def _elementwise(name: str, shapes: Sequence[Shape], outputs: int) -> Axes:
    if len(set(shapes)) > 1:
        raise ShapeError(f"{name}: weight, gradient and states must have one shape, found {sorted(set(shapes))}")
    atoms, dims = numbered("d", shapes[0])
    return make_axes(atoms, (dims,) * len(shapes), (dims,) * outputs)


def _numbers(name: str, attrs: Attributes, names: Sequence[str]) -> None:
    for attribute in names:
        if not is_number(attrs.get(attribute, 0)):
            raise ShapeError(f"{name}: {attribute} is {attrs[attribute]}, it must be a number")
    if "lr" not in attrs:
        raise ShapeError(f"{name}: needs lr")


def _sgd_axes(shapes: Sequence[Shape], attrs: Attributes) -> Axes:
    known("sgd", attrs, SGD)
    arity("sgd", shapes, 2, 3)
    _numbers("sgd", attrs, SGD[:-1])
    if bool(attrs.get("momentum", 0)) != (len(shapes) == 3):
        raise ShapeError(
            f"sgd: momentum is {attrs.get('momentum', 0)}, and it takes {len(shapes)} inputs, found no fit"
        )
    if not isinstance(attrs.get("nesterov", False), bool):
        raise ShapeError(f"sgd: nesterov is {attrs['nesterov']}, it must be True or False")
    return _elementwise("sgd", shapes, len(shapes) - 1)


def _sgd(inputs: Sequence[Array], attrs: Attributes) -> tuple[Array, ...]:
    w, g = inputs[:2]
    of = _constants(w, attrs)
    g = np.asarray(g + of("weight_decay") * w)
    if len(inputs) == 2:
        return (np.asarray(w - of("lr") * g),)
    state = np.asarray(of("momentum") * inputs[2] + (1 - of("dampening")) * g)
    along = g + of("momentum") * state if attrs.get("nesterov", False) else state
    return np.asarray(w - of("lr") * along), state


def _adam_axes(name: str) -> Callable[[Sequence[Shape], Attributes], Axes]:
    def axes(shapes: Sequence[Shape], attrs: Attributes) -> Axes:
        known(name, attrs, ADAM)
        arity(name, shapes, 4)
        _numbers(name, attrs, ADAM[:-1])
        step = attrs.get("step")
        if not is_integer(step) or int(step or 0) < 1:
            raise ShapeError(f"{name}: step is {step}, it must be a number of steps, from 1")
        for beta in ("beta1", "beta2"):
            if not 0 <= attrs.get(beta, _DEFAULT[beta]) < 1:
                raise ShapeError(f"{name}: {beta} is {attrs[beta]}, it must be from 0 to below 1")
            if int(step or 0) * len(str(numbers.rational(attrs.get(beta, _DEFAULT[beta])).denominator)) > MOST_DIGITS:
                raise NoRuleError(f"{name}: {beta}^{step} has more than {MOST_DIGITS:,} digits")
        return _elementwise(name, shapes, 3)

    return axes


_DEFAULT = {"beta1": 0.9, "beta2": 0.999, "eps": 1e-8}


def _constants(like: Array, attrs: Attributes) -> Callable[[str], Any]:
    return lambda name: numbers.scalar(like, attrs.get(name, _DEFAULT.get(name, 0)))


def _adam(decoupled: bool) -> Callable[[Sequence[Array], Attributes], tuple[Array, ...]]:
    def forward(inputs: Sequence[Array], attrs: Attributes) -> tuple[Array, ...]:
        w, g, m, v = inputs
        of = _constants(w, attrs)
        if decoupled:
            w = np.asarray((1 - of("lr") * of("weight_decay")) * w)
        else:
            g = np.asarray(g + of("weight_decay") * w)
        m = np.asarray(of("beta1") * m + (1 - of("beta1")) * g)
        v = np.asarray(of("beta2") * v + (1 - of("beta2")) * g * g)
        beta1, beta2 = (numbers.rational(attrs.get(name, _DEFAULT[name])) for name in ("beta1", "beta2"))
        first = 1 - beta1 ** int(attrs["step"])
        second = math.sqrt(1 - beta2 ** int(attrs["step"]))
        scale = np.asarray(numbers.sqrt(v) * numbers.scalar(w, 1 / second) + of("eps"))
        rate = numbers.scalar(w, numbers.rational(attrs["lr"]) / first)
        return np.asarray(w - rate * numbers.divide(m, scale)), m, v

    return forward


def _no_gradient(inputs: Sequence[Array], grads: Sequence[Array], attrs: Attributes) -> tuple[Array | None, ...]:
    return (None,) * len(inputs)


RULES = (
    OpRule(
        "sgd",
        _sgd_axes,
        _sgd,
        _no_gradient,
        attributes=SGD,
        formula="b' = u b + (1 - r) (g + d w), w' = w - l b'",
        source="torch.optim.SGD",
    ),
    OpRule(
        "adamw",
        _adam_axes("adamw"),
        _adam(decoupled=True),
        _no_gradient,
        attributes=ADAM,
        formula="m' = a m + (1 - a) g, v' = b v + (1 - b) g^2, "
        "w' = w - l d w - l (m' / (1 - a^t)) / (sqrt(v' / (1 - b^t)) + e)",
        source="torch.optim.AdamW",
    ),
    OpRule(
        "adam",
        _adam_axes("adam"),
        _adam(decoupled=False),
        _no_gradient,
        attributes=ADAM,
        formula="adamw with g + d w for g, and no decay of w",
        source="torch.optim.Adam",
    ),
)
