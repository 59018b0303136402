"""cross_entropy of logits x (..., v) and target ids t (...): how unlikely the targets are, in nats.

    l[...] = [t is counted] (logsumexp(x) - (1 - e) x[..., t] - e / V sum over v of x[..., v])
    dx[..., v] = [t is counted] (softmax(x)[v] - (1 - e) [t = v] - e / V) dl

e is the `label_smoothing`, V the number of classes (`classes`, from the shape unless said otherwise: it keeps its
full value at reduced shapes). A target that is `ignore_index` is not counted. `reduction`: "none" gives l, "sum" its
sum, "mean" its sum over the number of targets that are counted; the last two have shape (1,).
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from verdict.errors import ShapeError
from verdict.graph import Shape
from verdict.ops import numbers
from verdict.ops.domain import Integers
from verdict.ops.logic import defined
from verdict.ops.logsoftmax import logsumexp
from verdict.ops.lookup import hits, picked
from verdict.ops.rule import Array, Atom, Attributes, Axes, Law, OpRule, Scale
from verdict.ops.shapes import arity, is_integer, is_number, known, make_axes
from verdict.ops.softmax import softmax
from verdict.ops.types import floats

ATTRIBUTES = ("ignore_index", "label_smoothing", "reduction", "classes")
_LAW = {"none": Law.EACH, "sum": Law.SUM, "mean": Law.WHOLE}


def _axes(shapes: Sequence[Shape], attrs: Attributes) -> Axes:
    known("cross_entropy", attrs, ATTRIBUTES)
    arity("cross_entropy", shapes, 2)
    x, targets = shapes
    if x[:-1] != targets:
        raise ShapeError(f"cross_entropy: targets of shape {targets} do not fit logits of shape {x}")
    reduction, smoothing = attrs.get("reduction", "mean"), attrs.get("label_smoothing", 0.0)
    if reduction not in _LAW:
        raise ShapeError(f"cross_entropy: reduction is {reduction}, it must be none, sum or mean")
    if not is_number(smoothing) or not 0 <= smoothing < 1:
        raise ShapeError(f"cross_entropy: label_smoothing is {smoothing}, it must be a number from 0 to below 1")
    ignored, classes = attrs.get("ignore_index"), attrs.get("classes", x[-1])
    if ignored is not None and (not is_integer(ignored) or ignored >= x[-1]):
        raise ShapeError(f"cross_entropy: ignore_index is {ignored}, it must be a class or below 0")
    if not is_integer(classes) or classes < 1:
        raise ShapeError(f"cross_entropy: classes is {classes}, it must be a number of classes")
    atoms = tuple(Atom(f"b{place}", size, _LAW[reduction], 2) for place, size in enumerate(targets))
    dims = tuple((atom.name,) for atom in atoms)
    made = dims if reduction == "none" else ((),)
    return make_axes((*atoms, Atom("v", x[-1], Law.WHOLE, 2)), ((*dims, ("v",)), dims), (made,), keep=("v",))


def _constants(x: Array, attrs: Attributes) -> tuple[Any, Any]:
    """1 - e and e / V, as elements for arrays like x."""
    smoothing = numbers.rational(attrs.get("label_smoothing", 0))
    classes = attrs.get("classes", x.shape[-1])
    return numbers.scalar(x, 1 - smoothing), numbers.scalar(x, smoothing / classes)


def _counted(x: Array, targets: Array, attrs: Attributes) -> Array:
    ignored = attrs.get("ignore_index")
    if ignored is None:
        return np.asarray(numbers.zeros(x, targets.shape) + 1)
    return np.asarray(1 - numbers.indicator(targets, ignored))


def _forward(inputs: Sequence[Array], attrs: Attributes) -> tuple[Array, ...]:
    x, targets = inputs
    reduction = attrs.get("reduction", "mean")
    kept, share = _constants(x, attrs)
    counted = _counted(x, targets, attrs)
    losses = logsumexp(x, (-1,))[..., 0] - kept * picked(x, hits(targets, x.shape[-1]))
    if attrs.get("label_smoothing", 0):
        losses = losses - share * np.sum(x, axis=-1)
    losses = defined(np.asarray(counted * losses), targets, _domain((x.shape,), attrs)[1])
    if reduction == "none":
        return (losses,)
    total = np.asarray(np.sum(losses)).reshape(1)
    return (numbers.divide(total, np.sum(counted)) if reduction == "mean" else total,)


def _gradient(inputs: Sequence[Array], grads: Sequence[Array], attrs: Attributes) -> tuple[Array | None, ...]:
    x, targets = inputs
    kept, share = _constants(x, attrs)
    counted = _counted(x, targets, attrs)
    slope = softmax(x, -1) - kept * hits(targets, x.shape[-1]) - share
    reduction = attrs.get("reduction", "mean")
    dy = numbers.divide(grads[0], np.sum(counted)) if reduction == "mean" else grads[0]
    spread = dy.reshape(targets.shape) if reduction == "none" else dy.reshape((1,) * targets.ndim)
    dx = np.asarray(slope * np.asarray(counted * spread)[..., None])
    return defined(dx, targets, _domain((x.shape,), attrs)[1]), None


def _cuts(attrs: Attributes) -> Mapping[str, tuple[int, ...]]:
    ignored = attrs.get("ignore_index")
    return {} if ignored is None or ignored < 0 else {"v": (ignored, ignored + 1)}


def _reduce(attrs: Attributes, scale: Scale) -> Attributes:
    start, stop = scale.bounds["v"]
    reduced = {**attrs, "classes": attrs.get("classes", stop - start)}
    for place in _cuts(attrs).get("v", ())[:1]:
        reduced["ignore_index"] = scale.points["v"][place]
    return reduced


def _domain(shapes: Sequence[Shape], attrs: Attributes) -> Mapping[int, Integers]:
    ignored, classes = attrs.get("ignore_index"), shapes[0][-1]
    beside = () if ignored is None or 0 <= ignored < classes else (int(ignored),)
    return {1: Integers(0, classes - 1, beside)}


RULES = (
    OpRule(
        "cross_entropy",
        _axes,
        _forward,
        _gradient,
        reduce=_reduce,
        cuts=_cuts,
        indices={1: "v"},
        domain=_domain,
        attributes=ATTRIBUTES,
        formula="y = [t counts] (log of sum of exp(x) - (1 - e) x[t] - e / V sum of x), its sum, or its mean",
        source="torch.nn.functional.cross_entropy, with the classes last",
        types=floats,
    ),
)
