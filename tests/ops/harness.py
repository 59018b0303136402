"""What holds a rule: torch, autograd, exact rationals, terms, its shape rule and its axis laws.

A Subject says for one operator how cases are drawn and what torch does with them. Values are multiples of
1/8 from a small range, so that they are exact as floats and as Fractions, and zeros and ties are frequent.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import prod
from typing import Any, NamedTuple

import numpy as np
import torch
from hypothesis import strategies as st

from tests.ops.terms import to_floats
from verdict.errors import ShapeError
from verdict.graph import Interval, Shape
from verdict.ops import Array, Atom, Axes, Dim, Law, OpRule, Scale

TOLERANCE = 1e-9
Draw = Callable[[st.SearchStrategy[Any]], Any]
Fill = Callable[[np.random.Generator, Shape], Array]


@dataclass(frozen=True)
class Case:
    """One node. `shapes` are a plan's; `fills` make the input arrays, with a last axis of 2 where complex."""

    shapes: tuple[Shape, ...]
    attrs: Mapping[str, Any]
    fills: tuple[Fill, ...]
    seed: int = 0

    def inputs(self) -> list[Array]:
        """The input arrays, floats or int ids."""
        rng = np.random.default_rng(self.seed)
        return [np.asarray(fill(rng, shape)) for fill, shape in zip(self.fills, self.shapes, strict=True)]

    def gradients(self, outputs: Sequence[Array]) -> list[Array]:
        """Gradients for these outputs."""
        rng = np.random.default_rng(self.seed + 1)
        return [np.asarray(real(rng, output.shape)) for output in outputs]


@dataclass(frozen=True)
class Subject:
    """An operator under test.

    cases: draws cases. torch: (tensors, attrs) to the outputs. rational: whether Fractions give Fractions.
    differentiable: the positions of inputs that have a gradient.
    """

    op: str
    cases: st.SearchStrategy[Case]
    torch: Callable[[Sequence[torch.Tensor], Mapping[str, Any]], Sequence[torch.Tensor]]
    rational: bool = False
    differentiable: Callable[[int], bool] = lambda position: True


class Misfit(NamedTuple):
    """A node that must be refused, and words that the sentence must contain."""

    op: str
    shapes: tuple[Shape, ...]
    attrs: Mapping[str, Any]
    words: str


def real(rng: np.random.Generator, shape: Shape) -> Array:
    """Multiples of 1/8 between -3 and 3; zeros and ties are frequent."""
    coarse = rng.integers(-3, 4, shape) * 1.0
    fine = rng.integers(-24, 25, shape) / 8
    return np.where(rng.random(shape) < 0.4, coarse, fine)


def positive(rng: np.random.Generator, shape: Shape) -> Array:
    """Multiples of 1/8 between 1/8 and 3."""
    return rng.integers(1, 25, shape) / 8


def nonzero(rng: np.random.Generator, shape: Shape) -> Array:
    """Multiples of 1/8 between -3 and 3, none of them 0."""
    return positive(rng, shape) * rng.choice([-1.0, 1.0], shape)


def angles(rng: np.random.Generator, shape: Shape) -> Array:
    """Complex numbers, as a last axis of 2."""
    return real(rng, (*shape, 2))


def ids(stop: int) -> Fill:
    """Integers below `stop`, often repeated."""
    return lambda rng, shape: rng.integers(0, stop, shape)


@st.composite
def cases(draw: Draw, build: Callable[[Draw], tuple[Sequence[Shape], Mapping[str, Any], Sequence[Fill]]]) -> Case:
    """Cases from a function that draws (shapes, attrs, fills)."""
    shapes, attrs, fills = build(draw)
    return Case(tuple(shapes), dict(attrs), tuple(fills), draw(st.integers(0, 2**20)))


def shape(low: int = 1, high: int = 4, largest: int = 4) -> st.SearchStrategy[Shape]:
    """Shapes of `low` to `high` dimensions, of size one often enough."""
    return st.lists(st.integers(1, largest), min_size=low, max_size=high).map(tuple)


def torch_run(subject: Subject, case: Case, grads: Sequence[Array]) -> tuple[list[Array], list[Array | None]]:
    """What torch makes of a case: outputs, and autograd's gradients of sum(output * grad).

    A rule's sum over everything has one dimension, torch's none.
    """
    leaves = [
        torch.from_numpy(x.copy()).requires_grad_(x.dtype.kind == "f" and subject.differentiable(k))
        for k, x in enumerate(case.inputs())
    ]
    outputs = [
        y.reshape(1) if not y.ndim and grad.shape == (1,) else y
        for y, grad in zip(subject.torch(leaves, case.attrs), grads, strict=True)
    ]
    if any(y.requires_grad for y in outputs):
        total = sum((y * torch.from_numpy(g)).sum() for y, g in zip(outputs, grads, strict=True))
        total.backward()
    return (
        [y.detach().numpy() for y in outputs],
        [None if not leaf.requires_grad else _gradient_of(leaf) for leaf in leaves],
    )


def _gradient_of(leaf: torch.Tensor) -> Array:
    return np.zeros(leaf.shape) if leaf.grad is None else leaf.grad.numpy()


def same(found: Array | None, expected: Array | None, what: str) -> None:
    """Fail unless two arrays (or their absence) agree in shape and values."""
    if found is None or expected is None:
        assert found is None, f"{what}: there is a gradient, none was expected"
        assert expected is None, f"{what}: there is no gradient, one was expected"
        return
    assert found.shape == expected.shape, f"{what}: shape {found.shape}, expected {expected.shape}"
    np.testing.assert_allclose(to_floats(found), to_floats(expected), rtol=TOLERANCE, atol=TOLERANCE, err_msg=what)


def full_attrs(rule: OpRule, case: Case, axes: Axes) -> Mapping[str, Any]:
    """The attributes as reduction to the full sizes writes them: constants from shapes are explicit."""
    bounds = {atom.name: (0, atom.size) for atom in axes.atoms}
    points = {atom.name: {} for atom in axes.atoms}
    for name, coordinates in rule.cuts(case.attrs).items():
        points[name] = {coordinate: coordinate for coordinate in coordinates}
    sizes = {atom.name: atom.size for atom in axes.atoms}
    return rule.reduce(case.attrs, Scale(bounds, sizes, points, case.shapes, axes.output_shapes))


def check_laws(rule: OpRule, case: Case, cuts: Mapping[str, Sequence[int]]) -> None:
    """Fail unless every law that the rule's axes claim holds for this case, forward and gradient.

    cuts: for each atom, where it is split. What has the atom (an output, the gradient of an input) is for
    each share the share of the whole. What has it not: for SUM outputs, and for gradients, the shares add up
    to the whole; for UNUSED each share gives the whole; for an EACH output there is no such thing.
    """
    axes = rule.axes(case.shapes, case.attrs)
    attrs = full_attrs(rule, case, axes)
    inputs = case.inputs()
    outputs = rule.forward(inputs, attrs)
    grads = case.gradients(outputs)
    gradients = rule.gradient(inputs, grads, attrs)
    for atom in axes.atoms:
        if atom.law is Law.WHOLE or atom.size < 2:
            continue
        edges = (0, *cuts[atom.name], atom.size)
        shares = [_share(rule, axes, atom, interval, attrs, inputs, grads) for interval in pairwise(edges)]
        for k, (y, dims) in enumerate(zip(outputs, axes.outputs, strict=True)):
            _compare(axes, atom, dims, y, [(i, ys[k]) for i, ys, _ in shares], f"output {k}")
        for k, (dx, dims) in enumerate(zip(gradients, axes.inputs, strict=True)):
            pieces = [(interval, dxs[k]) for interval, _, dxs in shares]
            if dx is None:
                assert all(piece is None for _, piece in pieces)
                continue
            _compare(axes, atom, dims, dx, pieces, f"gradient {k}")


def _share(
    rule: OpRule,
    axes: Axes,
    atom: Atom,
    interval: Interval,
    attrs: Mapping[str, Any],
    inputs: Sequence[Array],
    grads: Sequence[Array],
) -> tuple[Interval, Sequence[Array], Sequence[Array | None]]:
    """What the node computes from `interval` of an atom alone."""
    cut_inputs = [take(axes, dims, x, atom, interval) for dims, x in zip(axes.inputs, inputs, strict=True)]
    cut_grads = [take(axes, dims, g, atom, interval) for dims, g in zip(axes.outputs, grads, strict=True)]
    narrowed = rule.narrow(attrs, atom.name, interval)
    points = {name: {c: c for c in found} for name, found in rule.cuts(narrowed).items()}
    bounds = {other.name: (0, other.size) for other in axes.atoms} | {atom.name: interval}
    sizes = {name: stop - start for name, (start, stop) in bounds.items()}
    shapes = tuple(x.shape[: len(dims)] for x, dims in zip(cut_inputs, axes.inputs, strict=True))
    expected = tuple(g.shape for g in cut_grads)
    local = rule.reduce(narrowed, Scale(bounds, sizes, points, shapes, expected))
    try:
        assert rule.axes(shapes, local).output_shapes == expected, f"shapes of a share along {atom.name}"
    except ShapeError as error:
        raise AssertionError(f"a share along {atom.name} does not fit: {error}") from error
    return interval, rule.forward(cut_inputs, local), rule.gradient(cut_inputs, cut_grads, local)


def _compare(
    axes: Axes,
    atom: Atom,
    dims: tuple[Dim, ...],
    whole: Array,
    shares: Sequence[tuple[Interval, Array]],
    what: str,
) -> None:
    what = f"{what} along {atom.name} ({atom.law.value})"
    if _has(dims, atom):
        assert atom.law is Law.EACH or what.startswith("gradient"), f"{what}: the atom is in an output"
        for interval, share in shares:
            same(share, take(axes, dims, whole, atom, interval), what)
    elif atom.law is Law.UNUSED:
        for _, share in shares:
            same(share, whole, what)
    else:
        elsewhere = any(_has(other, atom) for other in axes.outputs)
        assert atom.law is not Law.EACH or elsewhere or what.startswith("gradient"), f"{what}: no output has the atom"
        same(np.asarray(sum(share for _, share in shares)), whole, what)


def _has(dims: tuple[Dim, ...], atom: Atom) -> bool:
    return any(atom.name in dim for dim in dims)


def take(axes: Axes, dims: tuple[Dim, ...], array: Array, atom: Atom, interval: Interval) -> Array:
    """The elements of an array that lie in an interval of an atom, wherever the atom is in its dimensions."""
    sizes = {other.name: other.size for other in axes.atoms}
    names = [name for dim in dims for name in dim]
    extra = array.shape[len(dims) :]
    spread = array.reshape((*(sizes[name] for name in names), *extra))
    start, stop = interval
    for place, name in enumerate(names):
        if name == atom.name:
            spread = spread.take(range(start, stop), axis=place)
    lengths = sizes | {atom.name: stop - start}
    return spread.reshape((*(prod(lengths[name] for name in dim) for dim in dims), *extra))
