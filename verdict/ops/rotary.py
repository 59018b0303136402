"""apply_rotary_emb: pairs of neighbouring features are turned by the angle of their position and frequency.

    q, k (b, s, h, d), freqs (s, d/2) complex, as an array (s, d/2, 2) of (cos, sin)
    q'[b, s, h, 2i]     = q[b, s, h, 2i] cos[s, i] - q[b, s, h, 2i + 1] sin[s, i]
    q'[b, s, h, 2i + 1] = q[b, s, h, 2i] sin[s, i] + q[b, s, h, 2i + 1] cos[s, i]        k' likewise

cos and sin are any two numbers: nothing is used of them, not even that their squares add up to 1.
The gradient turns back: dq is dq' times the conjugate of freqs; dfreqs is the sum of conj(q) dq' and
conj(k) dk'. Each output is linear in one of q and k and does not depend on the other, so `linear` is empty.
With fewer heads in k than in q, the common factor h of both numbers is their common atom.
"""

from collections.abc import Sequence
from math import gcd

import numpy as np

from verdict.errors import NoRuleError, ShapeError
from verdict.graph import Shape
from verdict.ops import numbers
from verdict.ops.rule import Array, Atom, Attributes, Axes, Dim, Law, OpRule
from verdict.ops.shapes import arity, filled, known, make_axes


def _axes(shapes: Sequence[Shape], attrs: Attributes) -> Axes:
    known("apply_rotary_emb", attrs, ())
    arity("apply_rotary_emb", shapes, 3)
    filled("apply_rotary_emb", shapes)
    q, k, freqs = shapes
    if len(q) != 4 or len(k) != 4 or (q[:2], q[3]) != (k[:2], k[3]):
        raise ShapeError(f"apply_rotary_emb: q {q} and k {k} must be (b, s, h, d), equal but for the heads")
    if q[3] % 2 or freqs != (q[1], q[3] // 2):
        raise ShapeError(f"apply_rotary_emb: q {q} needs freqs of shape (s, d/2), found {freqs}")
    heads = gcd(q[2], k[2])
    atoms = (
        Atom("b", q[0]),
        Atom("s", q[1]),
        Atom("h", heads),
        Atom("q", q[2] // heads, Law.WHOLE),
        Atom("k", k[2] // heads, Law.WHOLE),
        Atom("i", q[3] // 2, least=2),
        Atom("pair", 2, Law.WHOLE, 2),
    )
    dims_q: tuple[Dim, ...] = (("b",), ("s",), ("h", "q"), ("i", "pair"))
    dims_k: tuple[Dim, ...] = (("b",), ("s",), ("h", "k"), ("i", "pair"))
    return make_axes(atoms, (dims_q, dims_k, (("s",), ("i",))), (dims_q, dims_k))


def _times(x: Array, cos: Array, sin: Array) -> Array:
    """Each pair of the last axis, as a complex number, times cos + i sin."""
    real, imaginary = x[..., 0::2], x[..., 1::2]
    pairs = np.stack([real * cos - imaginary * sin, real * sin + imaginary * cos], axis=-1)
    return pairs.reshape(x.shape)


def _angles(freqs: Array) -> tuple[Array, Array]:
    if freqs.ndim != 3:
        raise NoRuleError("apply_rotary_emb: freqs that are no complex numbers have no rule")
    return freqs[:, None, :, 0], freqs[:, None, :, 1]


def _forward(inputs: Sequence[Array], attrs: Attributes) -> tuple[Array, ...]:
    q, k, freqs = inputs
    cos, sin = _angles(freqs)
    return _times(q, cos, sin), _times(k, cos, sin)


def _dfreqs(x: Array, dy: Array) -> Array:
    """conj(x) dy, summed over b and h: shape (s, d/2, 2)."""
    turned = np.stack(
        [
            x[..., 0::2] * dy[..., 0::2] + x[..., 1::2] * dy[..., 1::2],
            x[..., 0::2] * dy[..., 1::2] - x[..., 1::2] * dy[..., 0::2],
        ],
        axis=-1,
    )
    return numbers.total(turned, (0, 2))[0, :, 0]


def _gradient(inputs: Sequence[Array], grads: Sequence[Array], attrs: Attributes) -> tuple[Array | None, ...]:
    (q, k, freqs), (dq, dk) = inputs, grads
    cos, sin = _angles(freqs)
    return _times(dq, cos, -sin), _times(dk, cos, -sin), np.asarray(_dfreqs(q, dq) + _dfreqs(k, dk))


RULES = (
    OpRule(
        "apply_rotary_emb",
        _axes,
        _forward,
        _gradient,
        formula="(x[2i], x[2i+1]) as a complex number, times freqs[s, i]; for q and k",
        source="apply_rotary_emb of Llama 3 (torch.view_as_complex times freqs_cis)",
    ),
)
