"""nll_loss: the negative logarithm of the probability of each target, added up or averaged.

    l[n] = - weight[t[n]] x[n, t[n]], 0 where t[n] = ignore_index        w = sum of weight[t[n]] over the others
    reduction 0: l      1: sum of l / w      2: sum of l                 dx[n, c] = - [c = t[n]] weight[c] dl[n]

Targets are looked up as in embedding: one that names no class (and is not ignored) has no value. For a
one-dimensional x there is one target, of shape ().
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from verdict.graph import Shape
from verdict.ops import elements, logic, numbers
from verdict.ops.aten.elementwise import of_kind
from verdict.ops.aten.form import REQUIRED, Arguments, operator, whole
from verdict.ops.domain import Integers
from verdict.ops.lookup import FEWEST_ROWS
from verdict.ops.rule import Array, Atom, Attributes, Axes, Law, OpRule, Scale
from verdict.ops.shapes import make_axes

NONE, MEAN = 0, 1
ROWS, CLASSES = ("x0_0",), ("x0_1",)
KIND = {"reduction": REQUIRED, "ignore_index": REQUIRED}


class _Targets(NamedTuple):
    """hits: [class is the target] weight[class], (n, c), 0 where ignored. total: their sum."""

    hits: Array
    total: Array


def _axes(args: Arguments) -> Axes:
    """Row by row, or a sum over rows; an average is of all of them."""
    x, target = args["self"], args["target"]
    _check(args, x, target)
    if args["reduction"] == MEAN or len(x) == 1:
        return whole(args.given, (target if args["reduction"] == NONE else (), ()))
    law = Law.EACH if args["reduction"] == NONE else Law.SUM
    read = ((ROWS, CLASSES), (ROWS,), *(((CLASSES,),) if args["weight"] else ()))
    return make_axes(_atoms(x, law), read, ((ROWS,) if law is Law.EACH else (), ()))


def _atoms(x: Shape, law: Law) -> tuple[Atom, ...]:
    return Atom(ROWS[0], x[0], law), Atom(CLASSES[0], x[1], Law.WHOLE, FEWEST_ROWS)


def _check(args: Arguments, x: Shape, target: Shape) -> None:
    if args["reduction"] not in {0, 1, 2}:
        raise args.misfit(f"reduction is {args['reduction']}, it must be 0 (none), 1 (mean) or 2 (sum)")
    if len(x) not in {1, 2} or x[:-1] != target:
        raise args.misfit(f"targets of shape {target} do not belong to scores of shape {x}")
    if args["reduction"] == MEAN and 0 in x:
        raise args.misfit("the mean over no targets has no value")
    weight = args["weight"]
    if weight is not None and weight != x[-1:]:
        raise args.misfit(f"weights of shape {weight} do not belong to {x[-1]} classes")


def _targets(args: Arguments, x: Array) -> _Targets:
    """Which class each target is, from the targets; dividing by [it is a class] leaves no value elsewhere."""
    classes = x.shape[-1]
    target = args["target"].reshape(-1)
    ignore = np.asarray([args["ignore_index"]], dtype=np.int64)
    valid = logic.inverted(logic.equal(target, ignore))
    safe = logic.where(valid, target, np.zeros(1, dtype=np.int64))
    chosen = logic.one_hot(safe, classes)
    hits = np.asarray((chosen.astype(object) if numbers.of_objects(x) else chosen) * valid[:, None])
    weight = args["weight"]
    weighted = hits if weight is None else np.asarray(hits * weight)
    return _Targets(weighted, _listed(numbers.total(_listed(numbers.total(weighted, (1,))), (0,))).reshape(1))


def _listed(array: Array) -> Array:
    """The elements, each by its values where it has few: that a target is one of the classes is 1."""
    return numbers.each(logic.listed, array) if numbers.of_objects(array) else array


def _forward(args: Arguments) -> tuple[Array, ...]:
    x = args["self"]
    targets = _targets(args, x)
    rows = x.reshape(targets.hits.shape)
    each = np.asarray(-numbers.total(_chosen(targets.hits, rows), (1,)).reshape(-1))
    zero = numbers.zeros(x, ())
    if args["reduction"] == NONE:
        return each.reshape(args["target"].shape), zero
    loss = numbers.total(each, (0,))
    if args["reduction"] == MEAN:
        loss = numbers.divide(loss, targets.total)
    return tuple(of_kind(np.asarray(y).reshape(()), x) for y in (loss, targets.total))


def _chosen(hits: Array, rows: Array) -> Array:
    """hits * rows; a class that is surely not chosen adds nothing even where its row is minus infinity."""
    if numbers.of_objects(hits) or numbers.of_objects(rows):
        return numbers.each(elements.part, hits, rows)
    return np.where(hits == 0, 0.0, hits * np.where(hits == 0, 0.0, rows))


def _backward_axes(args: Arguments) -> Axes:
    """Row by row: of an average, the weight of all targets is read besides."""
    x, target = args["self"], args["target"]
    _check(args, x, target)
    due = target if args["reduction"] == NONE else ()
    given = args["grad_output"], args["total_weight"]
    if given != (due, ()):
        raise args.misfit(f"a gradient of shape {given[0]} and a weight of shape {given[1]} are not {due} and ()")
    if len(x) == 1:
        return whole(args.given, tuple(x))
    weight = ((CLASSES,),) if args["weight"] else ()
    read = ((ROWS,) if due else (), (ROWS, CLASSES), (ROWS,), *weight, ())
    return make_axes(_atoms(x, Law.EACH), read, ((ROWS, CLASSES),))


def _backward(args: Arguments) -> Array:
    x, dy = args["self"], args["grad_output"]
    targets = _targets(args, x)
    scale: Any = dy.reshape(-1, 1)
    if args["reduction"] == MEAN:
        scale = numbers.divide(scale, args["total_weight"].reshape(1, 1))
    return np.asarray(-_chosen(targets.hits, scale)).reshape(x.shape)


def _classes(args: Arguments) -> Integers:
    ignored, classes = int(args["ignore_index"]), args["self"][-1]
    return Integers(0, classes - 1, () if 0 <= ignored < classes else (ignored,))


def _cuts(attrs: Attributes) -> Mapping[str, tuple[int, ...]]:
    """A class that is ignored is none among others."""
    ignored = int(attrs["ignore_index"])
    return {CLASSES[0]: (ignored, ignored + 1)} if ignored >= 0 else {}


def _reduce(attrs: Attributes, scale: Scale) -> Attributes:
    ignored = attrs["ignore_index"]
    return {**attrs, "ignore_index": scale.points.get(CLASSES[0], {}).get(ignored, ignored)}


RULES: tuple[OpRule, ...] = (
    replace(
        operator(
            "aten.nll_loss_forward",
            "self target weight?",
            KIND,
            _axes,
            _forward,
            "loss = - x[n, t[n]], each, averaged or added up; w = the number (or weight) of targets",
            linear=(),
            indices={1: CLASSES[0]},
            domain=lambda args: {1: _classes(args)},
        ),
        cuts=_cuts,
        reduce=_reduce,
        counted=frozenset({1}),
    ),
    replace(
        operator(
            "aten.nll_loss_backward",
            "grad_output self target weight? total_weight",
            KIND,
            _backward_axes,
            _backward,
            "dx[n, c] = - [c = t[n]] dloss / w",
            linear=(0,),
            indices={2: CLASSES[0]},
            domain=lambda args: {2: _classes(args)},
        ),
        cuts=_cuts,
        reduce=_reduce,
    ),
)
