"""Sums, means, maxima and norms over some dimensions, or over all of them.

    sum, mean     over dim                        amax, amin     the greatest, the smallest
    max.dim       the greatest and where it is    logsumexp      log(sum of exp(x))
    linalg_vector_norm   (sum of |x|^ord)^(1/ord)
    var_mean      variance and mean

A mean divides by the number of elements, or by `count`, which at reduced shapes is that number at full ones. Where
the greatest element is, is an unknown function of the row on terms; of equal elements the first counts.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from math import inf, prod
from typing import Any

import numpy as np

from verdict.graph import Shape
from verdict.ops import integers, numbers
from verdict.ops.aten.elementwise import of_kind
from verdict.ops.aten.form import REQUIRED, Arguments, Known, dtype_kind, operator
from verdict.ops.casts import CAST
from verdict.ops.domain import BITS, Integers
from verdict.ops.gate import CHOICE
from verdict.ops.logsoftmax import logsumexp
from verdict.ops.rule import Array, Atom, Axes, Dim, Law, OpRule
from verdict.ops.shapes import axis, make_axes
from verdict.ops.types import Types, and_positions, counted, floats, is_whole, kind, like_first, positions
from verdict.outcome import Assumption

OVER: Mapping[str, Any] = {"dim": None, "keepdim": False}
FEWEST = 2
"""The fewest elements of which a sum, a norm or the greatest is none of them alone."""


def over(args: Arguments, rank: int) -> tuple[int, ...]:
    """The dimensions that `dim` names; all of them where it names none."""
    dim = args["dim"]
    if dim is None or dim == ():
        return tuple(range(rank))
    named = dim if isinstance(dim, tuple) else (dim,)
    places = tuple(sorted(axis(args.name, place, max(rank, 1)) for place in named))
    if len(set(places)) < len(places):
        raise args.misfit(f"dim {dim} names a dimension twice")
    return places if rank else ()


def _axes(law: Law, of_none: bool = True, few: bool = False) -> Callable[[Arguments], Axes]:
    """of_none: whether the operator has a value where it reduces no elements. few: whether it makes the same of few
    elements as of many: neither their number nor their places show.
    """

    def axes(args: Arguments) -> Axes:
        shape = args["self"]
        reduced = over(args, len(shape))
        if not of_none and any(not shape[place] for place in reduced):
            raise args.misfit(f"of no elements there is none, and x has the shape {shape}")
        if dtype_kind(args["dtype"]) in {"bool", "complex"}:
            raise args.unruled(f"a result of type {args['dtype']} has no rule")
        shrinks = few or (law is Law.SUM and kind(args["dtype"]) not in BITS)
        atoms = tuple(
            Atom(f"k{k}", size, law, FEWEST if shrinks else size) if k in reduced else Atom(f"b{k}", size)
            for k, size in enumerate(shape)
        )
        dims = tuple((atom.name,) for atom in atoms)
        kept: tuple[Dim, ...] = tuple(dim for place, dim in enumerate(dims) if place not in reduced)
        if args["keepdim"]:
            kept = tuple(() if place in reduced else dim for place, dim in enumerate(dims))
        return make_axes(
            atoms, (dims,), (kept,) * (2 if args.name.endswith(("max.dim", "min.dim", "var_mean.correction")) else 1)
        )

    return axes


def shape_of(args: Arguments, x: Array) -> Shape:
    """The shape of the result."""
    reduced = over(args, x.ndim)
    if args["keepdim"]:
        return tuple(1 if place in reduced else size for place, size in enumerate(x.shape))
    return tuple(size for place, size in enumerate(x.shape) if place not in reduced)


def solid(x: Array) -> Array:
    """An array of one dimension at least."""
    return x if x.ndim else x.reshape(1)


def _total(args: Arguments, x: Array) -> Array:
    """The sum, reduced dimensions staying."""
    return numbers.total(solid(x), over(args, x.ndim) if x.ndim else (0,))


def asked(args: Arguments) -> Array:
    """The elements, cast to the type that is asked for before they are added."""
    wanted = kind(args["dtype"])
    return integers.cast(args["self"], wanted) if is_whole(wanted) else args["self"]


def summed(args: Arguments) -> Array:
    """The sum over dim, of the type that is asked for."""
    x = asked(args)
    return integers.wrapped(_total(args, x).reshape(shape_of(args, x)), kind(args["dtype"]))


def _mean_of(args: Arguments, x: Array, less: Any = 0) -> Array:
    """The sum over how many are added, so many less, but no less than none."""
    count = args["count"] or prod(x.shape[place] for place in over(args, x.ndim))
    number = max(0, count - numbers.rational(less)) if less else count
    return numbers.divide(_total(args, x), number if numbers.of_objects(x) else float(number))


def _mean(args: Arguments) -> Array:
    x = args["self"]
    return _mean_of(args, x).reshape(shape_of(args, x))


def _variance(args: Arguments) -> tuple[Array, Array]:
    x = args["self"]
    mean = _mean_of(args, x)
    centred = np.asarray(x - mean)
    correction = 1 if args["correction"] is None else args["correction"]
    variance = _mean_of(args, np.asarray(centred * centred), correction)
    return variance.reshape(shape_of(args, x)), mean.reshape(shape_of(args, x))


def _deviation(args: Arguments) -> Array:
    return numbers.sqrt(_variance(args)[0])


def _greatest(args: Arguments, x: Array) -> Array:
    y = solid(x)
    for place in over(args, x.ndim) if x.ndim else (0,):
        y = numbers.amax(y, place)
    return y


def amax(args: Arguments) -> Array:
    """The greatest over dim."""
    x = args["self"]
    return _greatest(args, x).reshape(shape_of(args, x))


def amin(args: Arguments) -> Array:
    """The smallest over dim."""
    x = args["self"]
    return np.asarray(-_greatest(args, np.asarray(-x))).reshape(shape_of(args, x))


def _first_greatest(rows: Array) -> Array:
    return np.asarray(np.argmax(rows, axis=-1))[:, None]


def _best(args: Arguments) -> tuple[Array, Array]:
    """The greatest (or with min the smallest) along one dimension, and where it is."""
    x, low = args["self"], "min" in args.name
    signed = np.asarray(-x) if low else x
    rows = np.moveaxis(solid(signed), args["dim"] if x.ndim else 0, -1)
    hits = numbers.chosen(rows, 1, _first_greatest, "greatest", ())
    places = numbers.matmul(hits, np.arange(rows.shape[-1]))[..., 0]
    best = numbers.amax(rows, rows.ndim - 1)[..., 0]
    shape = shape_of(args, x)
    values = np.asarray(-best) if low else best
    return values.reshape(shape), places.reshape(shape) if numbers.of_objects(x) else places.reshape(shape).astype(
        np.int64
    )


def _places(output: int) -> Known:
    """The output that stands there are places among the elements that are compared."""

    def within(args: Arguments) -> Mapping[int, Integers]:
        shape = args["self"]
        return {output: Integers(0, prod(shape[place] for place in over(args, len(shape))) - 1)}

    return within


def _argbest(args: Arguments) -> Array:
    x = args["self"]
    if args["dim"] is None:
        flat = Arguments(args.name, {"self": x.reshape(-1)}, {"dim": 0, "keepdim": False})
        return _best(flat)[1].reshape(tuple(1 for _ in x.shape) if args["keepdim"] else ())
    return _best(args)[1]


def _logsumexp(args: Arguments) -> Array:
    x = args["self"]
    y = logsumexp(solid(x), over(args, x.ndim) if x.ndim else (0,))
    return y.reshape(shape_of(args, x))


def _norm(args: Arguments) -> Array:
    x, order = args["self"], args["ord"]
    if order == 2:
        return numbers.sqrt(_total(args, np.asarray(x * x))).reshape(shape_of(args, x))
    size = numbers.maximum(x, np.asarray(-x))
    if order == inf:
        return _greatest(args, size).reshape(shape_of(args, x))
    if order == 1:
        return _total(args, size).reshape(shape_of(args, x))
    exponent = numbers.rational(order)
    return numbers.power(_total(args, numbers.power(size, exponent)), 1 / exponent).reshape(shape_of(args, x))


def _norm_axes(args: Arguments) -> Axes:
    if not args["ord"] > 0:
        raise args.unruled(f"ord is {args['ord']}; what is above 0 has a rule")
    return _axes(Law.WHOLE, of_none=args["ord"] != inf, few=True)(args)


def reduction(
    name: str,
    formula: str,
    forward: Callable[[Arguments], Any],
    attributes: Mapping[str, Any] = OVER,
    law: Law = Law.WHOLE,
    linear: tuple[int, ...] = (),
    assumptions: tuple[Assumption, ...] = (),
    of_none: bool = True,
    few: bool = False,
    types: Types = floats,
    within: Known | None = None,
) -> OpRule:
    """The rule of an operator that reduces some dimensions of one tensor. of_none, few: see `_axes`."""

    def kept(args: Arguments) -> Any:
        made = forward(args)
        x = args["self"]
        return tuple(of_kind(y, x) for y in made) if isinstance(made, tuple) else of_kind(made, x)

    shapes = _axes(law, of_none, few)
    return operator(
        name, "self", attributes, shapes, kept, formula, linear=linear, within=within, assumptions=assumptions,
        types=types,
    )  # fmt: skip


def _of_some(
    name: str, formula: str, forward: Callable[[Arguments], Any], attributes: Mapping[str, Any] = OVER,
    assumptions: tuple[Assumption, ...] = (), types: Types = like_first, within: Known | None = None,
) -> OpRule:  # fmt: skip
    """What has no value where there are no elements. Where it makes places, these are among all elements."""
    return reduction(
        name, formula, forward, attributes, assumptions=assumptions, of_none=False, few=within is None, types=types,
        within=within,
    )  # fmt: skip


def _mean_rule(name: str, formula: str, more: Mapping[str, Any], total: str) -> OpRule:
    return replace(reduction(name, formula, _mean, {**more, **COUNT}, Law.WHOLE, (0,), (CAST,)), average_of=total)


def extreme(rule: OpRule) -> OpRule:
    """The rule of what is one of the elements that it reads."""
    return replace(rule, extreme=True)


ALL = {"dtype": None}
SOME = {**OVER, **ALL}
COUNT = {"count": None}
ONE, SPREAD = {"dim": REQUIRED, "keepdim": False}, {**OVER, "correction": None}

RULES: tuple[OpRule, ...] = (
    reduction("aten.sum", "y = sum of x", summed, ALL, Law.SUM, (0,), (CAST,), types=counted),
    reduction("aten.sum.dim_IntList", "y = sum of x over dim", summed, SOME, Law.SUM, (0,), (CAST,), types=counted),
    _mean_rule("aten.mean", "y = sum of x / count", ALL, "aten.sum"),
    _mean_rule("aten.mean.dim", "y = sum of x over dim / count", SOME, "aten.sum.dim_IntList"),
    reduction("aten.var_mean.correction", "variance and mean over dim", _variance, SPREAD),
    reduction("aten.var.correction", "variance over dim", lambda args: _variance(args)[0], SPREAD),
    reduction("aten.std.correction", "the root of the variance over dim", _deviation, SPREAD),
    extreme(_of_some("aten.amax", "y = the greatest of x over dim", amax)),
    extreme(_of_some("aten.amin", "y = the smallest of x over dim", amin)),
    extreme(_of_some("aten.max", "y = the greatest of x", amax, {})),
    extreme(_of_some("aten.min", "y = the smallest of x", amin, {})),
    *(
        _of_some(f"aten.{k}.dim", formula, _best, ONE, (CHOICE,), and_positions, _places(1))
        for k, formula in (
            ("max", "the greatest of x along dim, and where it is"),
            ("min", "the smallest of x along dim, and where it is"),
        )
    ),
    *(
        _of_some(f"aten.arg{k}", formula, _argbest, OVER, (CHOICE,), positions, _places(0))
        for k, formula in (("max", "where the greatest of x is"), ("min", "where the smallest of x is"))
    ),
    reduction("aten.logsumexp", "y = log(sum of exp(x) over dim)", _logsumexp, ONE, few=True),
    operator(
        "aten.linalg_vector_norm",
        "self",
        {"ord": 2, **OVER, **ALL},
        _norm_axes,
        _norm,
        "y = (sum of |x|^ord)^(1/ord)",
        assumptions=(CAST,),
        types=floats,
    ),
)
