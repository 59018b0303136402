"""Operators that compute along an axis: two elements are left of it, and divisors keep their full values."""

import math
from collections.abc import Callable, Sequence
from dataclasses import replace

from verdict.graph import Shape
from verdict.ops.aten import RULES
from verdict.ops.aten.reductions import FEWEST
from verdict.ops.pattern import Pattern, Patterns
from verdict.ops.patterns.common import named
from verdict.ops.patterns.made import POSITIONS
from verdict.ops.rule import Atom, Attributes, Axes, Dim, Scale
from verdict.ops.shapes import make_axes

RULE = {rule.name: rule for rule in RULES}


def fewest(axes: Axes, least: int = FEWEST) -> Axes:
    """The same axes, of each of which no more than `least` elements must be left."""
    return replace(axes, atoms=tuple(replace(atom, least=min(atom.least, least)) for atom in axes.atoms))


def _reduction(name: str) -> Patterns:
    return lambda shapes, attrs: Pattern(fewest(RULE[name].axes(shapes, attrs)))


def _mean(name: str) -> Patterns:
    """A mean divides by the number of elements that there are at full shapes."""

    def pattern(shapes: Sequence[Shape], attrs: Attributes) -> Pattern | None:
        axes = RULE[name].axes(shapes, attrs)
        kept = {atom for dim in axes.outputs[0] for atom in dim}
        count = math.prod(atom.size for atom in axes.atoms if atom.name not in kept)
        return Pattern(fewest(axes), reduce=lambda given, scale: {"count": count, **given})

    return pattern


def _norm(name: str) -> Patterns:
    def pattern(shapes: Sequence[Shape], attrs: Attributes) -> Pattern:
        return Pattern(fewest(RULE[name].axes(shapes, attrs)), reduce=_of_fewer(attrs))

    return pattern


def _norm_backward(moments: int) -> Patterns:
    """moments: how many tensors of moments follow the gradient and x; then come weights."""

    def pattern(shapes: Sequence[Shape], attrs: Attributes) -> Pattern:
        x, last = shapes[1], len(attrs["normalized_shape"])
        atoms, dims = named("b", x)
        lead, along = dims[: len(x) - last], dims[len(x) - last :]
        one: list[Dim] = [() for _ in along]
        weights = [along for _ in shapes[2 + moments :]]
        inputs = (dims, dims, *((*lead, *one) for _ in range(moments)), *weights)
        outputs = (dims, *(along for _ in range(moments)))
        axes = make_axes([replace(atom, least=min(atom.size, FEWEST)) for atom in atoms], inputs, outputs)
        return Pattern(axes, reduce=_of_fewer(attrs))

    return pattern


def _of_fewer(attrs: Attributes) -> Callable[[Attributes, Scale], Attributes]:
    """The attributes of a norm whose means divide by the number of elements at full shapes."""
    count, last = math.prod(attrs["normalized_shape"]), len(attrs["normalized_shape"])
    return lambda given, scale: {"count": count, **given, "normalized_shape": scale.outputs[0][-last:]}


def _dim(dim: Dim, full: int, size: int) -> Dim:
    """A dimension of a mask, which may be repeated."""
    return () if size == 1 and full != 1 else dim


def _attention(first: int) -> Patterns:
    """first: the position of the query; key and value follow. Gradients of the outputs stand before it."""

    def pattern(shapes: Sequence[Shape], attrs: Attributes) -> Pattern | None:
        query, key, value = shapes[first : first + 3]
        rows = POSITIONS if attrs.get("is_causal") else 1
        heads = FEWEST if query[1] > key[1] else 1
        atoms = (
            Atom("b", query[0]), Atom("h", key[1], least=heads), Atom("r", query[1] // key[1], least=heads),
            Atom("i", query[2], least=rows), Atom("j", key[2], least=max(rows, FEWEST)),
            Atom("e", query[3], least=FEWEST), Atom("f", value[3]),
        )  # fmt: skip
        k, v = (tuple((name,) for name in names) for names in ("bhje", "bhjf"))
        lse: tuple[Dim, ...] = (("b",), ("h", "r"), ("i",))
        q, y = (*lse, ("e",)), (*lse, ("f",))
        inputs: list[tuple[Dim, ...]] = [q, k, v] if first == 0 else [y, q, k, v, y, lse]
        mask = shapes[len(inputs) :]
        for shape in mask:
            full = list(zip((*lse, ("j",)), (*query[:3], key[2]), strict=True))[4 - len(shape) :]
            inputs.append(tuple(_dim(dim, of, size) for size, (dim, of) in zip(shape, full, strict=True)))
        outputs = [y, lse] if first == 0 else [q, k, v]
        ties = (("i", "j"),) if attrs.get("is_causal") and min(query[2], key[2]) > 1 else ()

        def reduce(given: Attributes, scale: Scale) -> Attributes:
            return given if given.get("scale") is not None else {**given, "scale": 1 / math.sqrt(query[3])}

        return Pattern(make_axes(atoms, inputs, outputs), ties, reduce=reduce)

    return pattern


_NAMES = (
    "amax", "amin", "max", "max.dim", "min", "min.dim", "logsumexp", "any", "any.dim", "all", "all.dim",
    "linalg_vector_norm",
)  # fmt: skip
_FLASH = "aten._scaled_dot_product_flash_attention_for_cpu"

PATTERNS: dict[str, Patterns] = {
    **{f"aten.{name}": _reduction(f"aten.{name}") for name in _NAMES},
    **{name: _mean(name) for name in ("aten.mean", "aten.mean.dim")},
    **{name: _norm(name) for name in ("aten.native_layer_norm", "aten._fused_rms_norm")},
    "aten.native_layer_norm_backward": _norm_backward(2),
    "aten._fused_rms_norm_backward": _norm_backward(1),
    _FLASH: _attention(0),
    f"{_FLASH}_backward": _attention(1),
}
