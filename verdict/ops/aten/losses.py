"""Losses of two tensors, element by element, then averaged or added up, and their gradients.

    mse       (x - t)^2                               smooth_l1   d^2 / (2 beta) for |d| < beta, else |d| - beta / 2
    huber     d^2 / 2 for |d| < delta, else delta (|d| - delta / 2)       with d = x - t
    binary_cross_entropy               -w (t log x + (1 - t) log(1 - x)), logarithms at least -100
    binary_cross_entropy_with_logits   w ((1 - t) x + (1 + (p - 1) t) log(1 + e^-x))

reduction 0: each; 1: the mean; 2: the sum. A mean and its gradient are divided by the number of elements, or by
`count`, which at reduced shapes is that number at full ones.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from math import prod
from typing import Any

import numpy as np

from verdict.graph import Shape
from verdict.ops import numbers
from verdict.ops.aten.activations import softplus
from verdict.ops.aten.form import REQUIRED, Arguments, constant, operator
from verdict.ops.elementwise import STEP
from verdict.ops.rule import Array, Atom, Attributes, Axes, Law, OpRule, Scale
from verdict.ops.shapes import broadcast, make_axes, together
from verdict.outcome import Assumption

NONE, MEAN = 0, 1
REDUCTION, COUNT = {"reduction": MEAN}, {"count": None}
HALF = Fraction(1, 2)
FEWEST = 2
"""Of one element the mean and the sum are the same."""
CLAMP = -100
"""The least logarithm of binary_cross_entropy: torch cuts lesser ones off there."""


def _checked(args: Arguments) -> Shape:
    """The shape of x, where all that is read fits it."""
    x, target = tuple(args["self"]), tuple(args["target"])
    if args["reduction"] not in {0, 1, 2}:
        raise args.misfit(f"reduction is {args['reduction']}, it must be 0 (none), 1 (mean) or 2 (sum)")
    if args["reduction"] == MEAN and 0 in x:
        raise args.misfit("the mean over no elements has no value")
    for name in ("delta", "beta"):
        if args[name] is not None and not args[name] > 0:
            raise args.misfit(f"{name} is {args[name]}, it must be above 0")
    if x != target:
        raise args.misfit(f"x of shape {x} and its target of shape {target} differ")
    for name in ("weight", "pos_weight"):
        if args[name] is not None and together(args.name, args[name], x) != x:
            raise args.misfit(f"{name} of shape {args[name]} does not fit {x}")
    return x


def _axes(args: Arguments) -> Axes:
    """Each element by itself, then added up; a mean is of all of them."""
    _checked(args)
    atoms, dims = broadcast(args.name, "d", *args.given)
    if args["reduction"] == MEAN:
        return make_axes(_along(atoms), dims, ((),))
    if args["reduction"] == NONE:
        return make_axes(atoms, dims, (dims[0],))
    return make_axes([Atom(atom.name, atom.size, Law.SUM, 2) for atom in atoms], dims, ((),))


def _pulled_axes(args: Arguments) -> Axes:
    x, dy = _checked(args), tuple(args["grad_output"])
    if together(args.name, x, dy) != x:
        raise args.misfit(f"the gradient of shape {dy} does not belong to {x}")
    atoms, dims = broadcast(args.name, "d", *args.given)
    return make_axes(_along(atoms) if args["reduction"] == MEAN else atoms, dims, (dims[1],))


def _along(atoms: Sequence[Atom]) -> list[Atom]:
    """The axes that a mean is along: of fewer elements it is another one."""
    return [Atom(atom.name, atom.size, Law.WHOLE, min(atom.size, FEWEST)) for atom in atoms]


def _counted(attrs: Attributes, scale: Scale) -> Attributes:
    """How many elements there are at full shapes, where that is not said."""
    count = prod(stop - start for start, stop in scale.bounds.values())
    return attrs if attrs.get("reduction", MEAN) != MEAN else {"count": count, **attrs}


def _reduced(args: Arguments, each: Array) -> Array:
    if args["reduction"] == NONE:
        return each
    total = numbers.total(each.reshape(-1), (0,))
    return np.asarray(_over_count(args, total) if args["reduction"] == MEAN else total).reshape(())


def _over_count(args: Arguments, x: Array) -> Array:
    return numbers.divide(x, args["count"] or args["self"].size)


Each = Callable[[Arguments, Array, Array], Any]


def _loss(
    name: str,
    formula: str,
    each: Each,
    tensors: str = "",
    attributes: Mapping[str, Any] | None = None,
    assumptions: tuple[Assumption, ...] = (),
) -> OpRule:
    def forward(args: Arguments) -> Array:
        return _reduced(args, np.asarray(each(args, args["self"], args["target"])))

    kind = {**REDUCTION, **COUNT, **(attributes or {})}
    reads = f"self target {tensors}"
    rule = operator(f"aten.{name}", reads, kind, _axes, forward, formula, reduce=_counted, assumptions=assumptions)
    return replace(rule, averages=True)


def _pull(
    name: str,
    formula: str,
    each: Each,
    tensors: str = "",
    attributes: Mapping[str, Any] | None = None,
    assumptions: tuple[Assumption, ...] = (STEP,),
) -> OpRule:
    """The gradient: `each` is the derivative of one element."""

    def forward(args: Arguments) -> Array:
        dx = np.asarray(each(args, args["self"], args["target"]) * args["grad_output"])
        return _over_count(args, dx) if args["reduction"] == MEAN else dx

    rule = operator(
        f"aten.{name}_backward",
        f"grad_output self target {tensors}",
        {**COUNT, **(attributes or {"reduction": REQUIRED})},
        _pulled_axes,
        forward,
        formula,
        linear=(0,),
        reduce=_counted,
        assumptions=assumptions,
    )
    return replace(rule, averages=True)


def _square(args: Arguments, x: Array, t: Array) -> Any:
    return (x - t) * (x - t)


def _distance(x: Array, t: Array, bound: Any) -> tuple[Array, Array, Array]:
    """d, |d| and [|d| < bound]."""
    apart = np.asarray(x - t)
    size = numbers.maximum(apart, np.asarray(-apart))
    return apart, size, numbers.step(np.asarray(constant(x, bound) - size))


def _huber(args: Arguments, x: Array, t: Array) -> Any:
    delta = constant(x, args["delta"])
    apart, size, near = _distance(x, t, args["delta"])
    half = numbers.scalar(x, HALF)
    return near * (half * apart * apart) + (1 - near) * (delta * (size - half * delta))


def _huber_slope(args: Arguments, x: Array, t: Array) -> Any:
    apart, _, near = _distance(x, t, args["delta"])
    return near * apart + (1 - near) * (constant(x, args["delta"]) * _sign(apart))


def _smooth(args: Arguments, x: Array, t: Array) -> Any:
    beta = numbers.scalar(x, args["beta"])
    apart, size, near = _distance(x, t, args["beta"])
    half = numbers.scalar(x, HALF)
    return near * (half * apart * apart / beta) + (1 - near) * (size - half * beta)


def _smooth_slope(args: Arguments, x: Array, t: Array) -> Any:
    apart, _, near = _distance(x, t, args["beta"])
    return near * (apart / numbers.scalar(x, args["beta"])) + (1 - near) * _sign(apart)


def _sign(x: Array) -> Array:
    return np.asarray(numbers.step(x) - numbers.step(np.asarray(-x)))


def _weighted(args: Arguments, x: Any) -> Any:
    return x if args["weight"] is None else x * args["weight"]


def _entropy(args: Arguments, x: Array, t: Array) -> Any:
    low = constant(x, CLAMP)
    yes, no = numbers.maximum(numbers.log(x), low), numbers.maximum(numbers.log(np.asarray(1 - x)), low)
    return _weighted(args, -(t * yes + (1 - t) * no))


def _entropy_slope(args: Arguments, x: Array, t: Array) -> Any:
    spread = numbers.maximum(np.asarray(x * (1 - x)), numbers.scalar(x, 1e-12))
    return _weighted(args, numbers.divide(np.asarray(x - t), spread))


def _logit_entropy(args: Arguments, x: Array, t: Array) -> Any:
    positive = 1 if args["pos_weight"] is None else 1 + (args["pos_weight"] - 1) * t
    return _weighted(args, (1 - t) * x + positive * softplus(np.asarray(-x)))


DELTA, BETA = {"delta": 1.0}, {"beta": 1.0}

RULES: tuple[OpRule, ...] = (
    _loss("mse_loss", "the mean (reduction 1) or sum (2) of (x - t)^2", _square),
    _pull("mse_loss", "dx = 2 (x - t) dl", lambda args, x, t: 2 * (x - t), assumptions=()),
    _loss("smooth_l1_loss", "d^2 / (2 beta) for |d| < beta, else |d| - beta / 2", _smooth, "", BETA, (STEP,)),
    _pull(
        "smooth_l1_loss",
        "dx = d / beta for |d| < beta, else the sign of d",
        _smooth_slope,
        "",
        {"reduction": REQUIRED, "beta": REQUIRED},
    ),
    _loss("huber_loss", "d^2 / 2 for |d| < delta, else delta (|d| - delta / 2)", _huber, "", DELTA, (STEP,)),
    _pull(
        "huber_loss",
        "dx = d for |d| < delta, else delta times the sign of d",
        _huber_slope,
        "",
        {"reduction": REQUIRED, "delta": REQUIRED},
    ),
    _loss("binary_cross_entropy", "-w (t log x + (1 - t) log(1 - x))", _entropy, "weight?"),
    _pull(
        "binary_cross_entropy",
        "dx = w (x - t) / max(x (1 - x), 1e-12)",
        _entropy_slope,
        "weight?",
        REDUCTION,
        assumptions=(),
    ),
    _loss(
        "binary_cross_entropy_with_logits",
        "w ((1 - t) x + (1 + (p - 1) t) log(1 + e^-x))",
        _logit_entropy,
        "weight? pos_weight?",
    ),
)
