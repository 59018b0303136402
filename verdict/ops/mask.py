"""create_mask and apply_mask: causal attention.

    create_mask(tokens, h)      mask[0, 0, q, k] = -inf if k > q + start_pos, else 0
    apply_mask(scores, mask)    y = scores + mask

Of tokens (b, s, ...) only the shape counts, of h nothing. Both positions of the mask run along the whole
sequence, so the atom s is WHOLE and in two dimensions of the mask. With a start_pos it is never reduced.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from verdict.errors import ShapeError
from verdict.graph import Shape
from verdict.ops import elements, numbers
from verdict.ops.rule import Array, Atom, Attributes, Axes, Dim, Law, OpRule
from verdict.ops.shapes import arity, broadcast, filled, is_integer, known, make_axes, numbered, unbroadcast
from verdict.ops.types import floats

LEAST = 4
"""With two positions a causal mask is a sliding window."""


def _create_axes(shapes: Sequence[Shape], attrs: Attributes) -> Axes:
    known("create_mask", attrs, ("start_pos",))
    arity("create_mask", shapes, 2)
    filled("create_mask", shapes)
    tokens, h = shapes
    start = attrs.get("start_pos", 0)
    if len(tokens) < 2:
        raise ShapeError(f"create_mask: tokens of shape {tokens} have no sequence dimension")
    if not is_integer(start) or start < 0:
        raise ShapeError(f"create_mask: start_pos is {start}, it must be an integer not below 0")
    rows, dims = _unused("b", tokens)
    sequence = Atom("s", tokens[1], Law.WHOLE, tokens[1] if start else LEAST)
    unused, dims_h = _unused("h", h)
    read = (dims[0], ("s",), *dims[2:])
    return make_axes((rows[0], sequence, *rows[2:], *unused), (read, dims_h), (((), (), ("s",), ("s",)),))


def _unused(prefix: str, shape: Shape) -> tuple[tuple[Atom, ...], tuple[Dim, ...]]:
    atoms, dims = numbered(prefix, shape)
    return tuple(replace(atom, law=Law.UNUSED) for atom in atoms), dims


def _create(inputs: Sequence[Array], attrs: Attributes) -> tuple[Array, ...]:
    tokens, h = inputs
    position = np.arange(tokens.shape[1])
    mask = numbers.zeros(h, (len(position), len(position)))
    mask[position[None, :] > position[:, None] + attrs.get("start_pos", 0)] = elements.MINUS_INFINITY
    return (mask[None, None],)


def _create_gradient(
    inputs: Sequence[Array], grads: Sequence[Array], attrs: Attributes
) -> tuple[Array | None, ...]:
    return None, None


def _apply_axes(shapes: Sequence[Shape], attrs: Attributes) -> Axes:
    known("apply_mask", attrs, ())
    arity("apply_mask", shapes, 2)
    filled("apply_mask", shapes)
    scores, mask = shapes
    atoms, dims = broadcast("apply_mask", "d", scores, mask)
    if tuple(atom.size for atom in atoms) != scores or len(scores) < 2:
        raise ShapeError(f"apply_mask: a mask of shape {mask} does not fit scores of shape {scores}")
    sequence = len(atoms) - 2
    atoms = tuple(
        replace(atom, least=LEAST) if place >= sequence else atom for place, atom in enumerate(atoms)
    )
    return make_axes(atoms, dims, (dims[0],))


def _apply(inputs: Sequence[Array], attrs: Attributes) -> tuple[Array, ...]:
    return (np.asarray(inputs[0] + inputs[1]),)


def _apply_gradient(
    inputs: Sequence[Array], grads: Sequence[Array], attrs: Attributes
) -> tuple[Array | None, ...]:
    return grads[0], unbroadcast(grads[0], inputs[1].shape)


RULES = (
    OpRule(
        "create_mask",
        _create_axes,
        _create,
        _create_gradient,
        shape_only=frozenset({0, 1}),
        infinite=True,
        attributes=("start_pos",),
        formula="mask[0, 0, q, k] = -inf if k > q + start_pos, else 0",
        source="the causal mask of Llama 3: torch.triu(torch.full((s, s), -inf), diagonal=1)",
        types=floats,
    ),
    OpRule(
        "apply_mask",
        _apply_axes,
        _apply,
        _apply_gradient,
        additive=True,
        formula="y = scores + mask",
        source="torch.add",
    ),
)
