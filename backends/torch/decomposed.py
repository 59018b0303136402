"""Operators without a rule that are others: as torch itself takes them apart (torch._decomp), or as is said here.

What a recording says by them is held against runs of the operators themselves, as all else in it.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from typing import Any

import torch
from torch._decomp import decomposition_table
from torch.utils._python_dispatch import _disable_current_modes

from verdict.backends.torch import (
    bags,
    composites,
    distances,
    grids,
    ordered,
    patterns,
    placing,
    pooled,
    quantized,
    running,
    shifted,
    solved,
    transposed,
)
from verdict.backends.torch.arguments import Call, called, functional_of
from verdict.backends.torch.collectives import Unknown
from verdict.backends.torch.core import by_torch
from verdict.ops import RULES

_MIXING = ("upsample_linear", "upsample_bilinear", "upsample_trilinear", "upsample_bicubic")
"""Interpolations that compute other numbers than those that there are."""
_COPY = "_copy"
MOST_WEIGHTS = 4096
"""The most weights of an interpolation along one dimension."""


def taken_apart(call: Call) -> Callable[..., Any] | None:
    """What computes the same by other operators, of the arguments of the call; None where the call has a rule, or where
    nothing is known that does. What is written in place is computed first.
    """
    if call.given.get("transposed"):
        return transposed.TAKEN_APART.get(call.name)
    by_memory = solved.by_memory(call.name, call.given)
    if by_memory is not None:
        return by_memory
    written = call.written
    pure = functional_of(call.func) if written else call.func
    if pure is None or len(written) > 1 or called(pure) in RULES:
        return None
    if pure._schema.overload_name == "Scalar" and call.name not in shifted.TAKEN_APART:
        return None
    if call.name.startswith(_MIXING) and not call.args[0].is_floating_point():
        return _mixed_integers
    return _OWN.get(call.name) or _OWN.get(call.name.removesuffix("_")) or _of_view(pure) or by_torch(pure)


def _mixed_integers(*_: Any, **__: Any) -> Any:
    raise Unknown("an interpolation of integers is rounded in a way that has no rule")


@cache
def _of_view(func: Any) -> Callable[..., Any] | None:
    """What copies a view, of the operator that copies what `func` without "_copy" makes; None of any other."""
    name, overload = func._schema.name.removeprefix("aten::"), func._schema.overload_name or "default"
    view = getattr(getattr(torch.ops.aten, name.removesuffix(_COPY), None), overload, None)
    if not name.endswith(_COPY) or view is None or not any(made.alias_info for made in view._schema.returns):
        return None

    def copied(*args: Any, **kwargs: Any) -> Any:
        made = view(*args, **kwargs)
        return made.clone() if isinstance(made, torch.Tensor) else [each.clone() for each in made]

    return copied


def _shrunk(grad: Any, x: Any, bound: Any) -> Any:
    """The gradient of what is zero from -bound to bound."""
    return grad.masked_fill((x >= -bound) & (x <= bound), 0.0)


def _std_mean(x: Any, dim: Any = None, *, correction: Any = None, keepdim: bool = False) -> Any:
    variance, mean = torch.var_mean(x, dim, correction=correction, keepdim=keepdim)
    return variance.sqrt(), mean


def _cross(x: Any, y: Any, *, dim: int = -1) -> Any:
    x, y = torch.broadcast_tensors(x, y)
    (a, b, c), (d, e, f) = x.unbind(dim), y.unbind(dim)
    return torch.stack([b * f - c * e, c * d - a * f, a * e - b * d], dim)


def _size(x: Any) -> Any:
    return x.abs() if x.is_floating_point() else x.double()


def _as_floats(function: Callable[..., Any], x: Any, *further: Any) -> Any:
    return function(x if x.is_floating_point() or x.is_complex() else x.to(torch.get_default_dtype()), *further)


def _logit(x: Any, eps: float | None = None) -> Any:
    part = x if eps is None else x.clamp(eps, 1 - eps)
    return (part / (1 - part)).log()


def _over(function: Callable[..., Any], x: Any, dim: Sequence[int] | None = None, keepdim: bool = False) -> Any:
    """Whether any, or all, are true along several dimensions, along all where none is named: one after the other."""
    if not x.dim() or (dim is not None and not len(dim)):
        return x.bool().to(torch.uint8 if x.dtype == torch.uint8 else torch.bool)
    for each in sorted((each % x.dim() for each in (range(x.dim()) if dim is None else dim)), reverse=True):
        x = function(x, each, keepdim)
    return x


def _added_products(x: Any, a: Any, b: Any, *, beta: Any = 1, alpha: Any = 1) -> Any:
    """A multiple of a tensor, which is not read where it is none of it, and one of the sum of the matrix products of
    two batches; of integers by integers.
    """
    if not x.is_floating_point() and not x.is_complex():
        beta, alpha = int(beta), int(alpha)
    total = (a @ b).sum(0)
    return torch.add(x * beta, total, alpha=alpha) if beta else total * alpha


def _within(x: Any, min: Any = None, max: Any = None) -> Any:
    """What is between two tensors."""
    x = x if min is None else torch.maximum(x, min)
    return x if max is None else torch.minimum(x, max)


def _trilinear(
    x: Any, y: Any, z: Any, expand1: Sequence[int], expand2: Sequence[int], expand3: Sequence[int],
    sumdim: Sequence[int], unroll_dim: int = 1,
) -> Any:  # fmt: skip
    """The sum over some dimensions of the product of three tensors that are broadcast along others."""
    for dim in range(x.dim() + len(expand1)):
        x = x.unsqueeze(dim) if dim in expand1 else x
        y = y.unsqueeze(dim) if dim in expand2 else y
        z = z.unsqueeze(dim) if dim in expand3 else z
    product = x * y * z
    return product.sum(sumdim) if sumdim else product


def _weight_norm(grad: Any, v: Any, g: Any, norms: Any, dim: int) -> Any:
    """The gradients of g v / |v|, whose norms are over all dimensions but one: of v, and of g."""
    others = [each for each in range(v.dim()) if each != dim % v.dim()]
    along = (grad * v).sum(others, keepdim=True) / norms
    return g / norms * (grad - v * (along / norms)), along


def _margins(
    grad: Any, x: Any, target: Any, p: int, margin: float, weight: Any = None, reduction: int = 1
) -> Any:
    """The gradient of the mean over classes of max(0, margin - x[target] + x[class])^p, but for the target itself."""
    size = x.shape[-1] if x.dim() else 1
    rows, classes = x.reshape(-1, size), target.reshape(-1, 1)
    above = margin - rows.gather(1, classes) + rows
    slope = torch.where(above > 0, torch.ones_like(above) if p == 1 else 2 * above, 0.0) / size
    slope = slope if weight is None else slope * weight.index_select(0, classes.reshape(-1))[:, None]
    slope = slope.scatter(1, classes, 0.0)
    slope = slope.scatter(1, classes, -slope.sum(1, keepdim=True))
    grad = grad.reshape(-1, 1) if reduction == 0 else grad
    return (slope * grad / (len(rows) if reduction == 1 else 1)).reshape(x.shape)


def _greatest(x: Any, output_size: Sequence[int]) -> Any:
    """The greatest elements of windows of two dimensions, as torch takes them apart where all are of one size."""
    made = decomposition_table[torch.ops.aten.adaptive_max_pool2d.default](x, output_size)
    return pooled.greatest(x, output_size) if made is NotImplemented else made


def _max_pooled(dims: int, grad: Any, x: Any, *_: Any, indices: Any) -> Any:
    """The gradient of a maximum over windows, whose places count in the last dimensions together."""
    flat = torch.zeros_like(x).flatten(-dims)
    return flat.scatter_add(-1, indices.flatten(-dims), grad.flatten(-dims)).view(x.shape)


def _interpolated(name: str, grad: Any, sizes: Sequence[int], shape: Sequence[int], *further: Any) -> Any:
    """The gradient `name` of an interpolation from a shape to sizes: along each of the last dimensions that of a linear
    map, whose matrix is found by running it.

    further: whether corners are aligned, where the operator may, and a scale for each dimension.
    """
    corners = [each for each in further if isinstance(each, bool)]
    scales = further[len(corners) :] or [None] * len(sizes)
    for place, (size, scale) in enumerate(zip(sizes, scales, strict=True)):
        before, dim = shape[2 + place], place - len(sizes)
        if before * size > MOST_WEIGHTS:
            raise Unknown(f"an interpolation from {before} to {size} elements has too many weights")

        def alone(value: Any, others: Any, at: int = place) -> list[Any]:
            return [value if each == at else others for each in range(len(sizes))]

        with _disable_current_modes():
            unit = torch.eye(size, dtype=torch.float64).reshape(size, 1, *alone(size, 1))
            run = getattr(torch.ops.aten, name)
            made = run(unit, alone(size, 1), [size, 1, *alone(before, 1)], *corners, *alone(scale, None))
            matrix = made.reshape(size, before).tolist()
        grad = (grad.transpose(dim, -1) @ torch.tensor(matrix, dtype=grad.dtype)).transpose(dim, -1)
    return grad


def _replicated(grad: Any, x: Any, padding: Sequence[int]) -> Any:
    """The gradient of a tensor whose borders were repeated. padding: before and after, from the last dimension on."""
    for place in range(len(padding) // 2):
        dim, size = -1 - place, x.shape[-1 - place]
        before, after = padding[2 * place : 2 * place + 2]
        places = [min(max(at, 0), size - 1) for at in range(-before, size + after)]
        shape = [*grad.shape]
        shape[dim] = size
        grad = grad.new_zeros(shape).index_add(dim, torch.tensor(places), grad)
    return grad


_OF_FLOATS: Mapping[str, Callable[..., Any]] = {
    "sinh": lambda x: (x.exp() - (-x).exp()) / 2,
    "cosh": lambda x: (x.exp() + (-x).exp()) / 2,
    "asinh": lambda x: x.sign() * (x.abs() + (x * x + 1).sqrt()).log(),
    "acosh": lambda x: (x + (x * x - 1).sqrt()).log(),
    "atanh": lambda x: ((1 + x).log() - (1 - x).log()) / 2,
    "erfc": lambda x: 1 - x.erf(),
    "logit": _logit,
    "acos": lambda x: torch.atan2(((1 - x) * (1 + x)).sqrt(), x),
    "asin": lambda x: torch.atan2(x, ((1 - x) * (1 + x)).sqrt()),
}
"""Functions of each element by itself, which torch computes of integers and truth values as floats."""
_ELEMENTWISE: Mapping[str, Callable[..., Any]] = {
    **{name: partial(_as_floats, function) for name, function in _OF_FLOATS.items()},
    "tan": lambda x: x.sin() / x.cos(),
    "hypot": lambda x, y: (x * x + y * y).sqrt(),
    "logaddexp2": lambda x, y: (x.exp2() + y.exp2()).log2(),
    "isnan": lambda x: (_size(x) <= float("inf")).logical_not(),
    "isinf": lambda x: _size(x) == float("inf"),
    "fmax": lambda x, y: torch.where(x.isnan(), y, torch.where(y.isnan(), x, torch.maximum(x, y))),
    "fmin": lambda x, y: torch.where(x.isnan(), y, torch.where(y.isnan(), x, torch.minimum(x, y))),
}
"""Functions of each element by itself."""
_INTERPOLATIONS = tuple(
    f"upsample_{name}_backward"
    for name in ("nearest1d", "nearest2d", "nearest3d", "linear1d", "bilinear2d", "trilinear3d", "bicubic2d")
) + tuple(f"_upsample_nearest_exact{dims}d_backward" for dims in (1, 2, 3))
_OWN: Mapping[str, Callable[..., Any]] = {
    **_ELEMENTWISE,
    **composites.TAKEN_APART,
    **ordered.TAKEN_APART,
    **placing.TAKEN_APART,
    **quantized.TAKEN_APART,
    **shifted.TAKEN_APART,
    **grids.TAKEN_APART,
    **solved.TAKEN_APART,
    "_efficientzerotensor": patterns.zeros,
    "eye": patterns.diagonal,
    "tril_indices": partial(patterns.triangle, True),
    "triu_indices": partial(patterns.triangle, False),
    "hardshrink_backward": _shrunk,
    "softshrink_backward": _shrunk,
    "std_mean": _std_mean,
    "linalg_cross": _cross,
    "any": partial(_over, torch.any),
    "all": partial(_over, torch.all),
    "clamp": _within,
    "addbmm": _added_products,
    "_trilinear": _trilinear,
    "_weight_norm_interface_backward": _weight_norm,
    "multi_margin_loss_backward": _margins,
    "_embedding_bag": bags.bagged,
    "_embedding_bag_forward_only": bags.bagged,
    "_embedding_bag_backward": bags.unbagged_whole,
    "_embedding_bag_dense_backward": bags.unbagged,
    "_embedding_bag_per_sample_weights_backward": bags.unweighted,
    "_cdist_forward": distances.distances,
    "_euclidean_dist": lambda x, y: distances.distances(x, y, 2.0),
    "_cdist_backward": distances.of_distances,
    "avg_pool3d": pooled.averaged,
    "avg_pool3d_backward": pooled.averaged_backward,
    "cummax": running.greatest,
    "cummin": running.smallest,
    "_adaptive_avg_pool3d": pooled.shared,
    "_adaptive_avg_pool3d_backward": pooled.shared_backward,
    "adaptive_max_pool2d": _greatest,
    "adaptive_max_pool3d": pooled.greatest,
    "adaptive_max_pool3d_backward": lambda grad, x, indices: _max_pooled(3, grad, x, indices=indices),
    "adaptive_max_pool2d_backward": lambda grad, x, indices: _max_pooled(2, grad, x, indices=indices),
    "max_pool3d_with_indices_backward": lambda grad, x, *how: _max_pooled(3, grad, x, indices=how[-1]),
    **{name: partial(_interpolated, name) for name in _INTERPOLATIONS},
    **{f"replication_pad{dims}d_backward": _replicated for dims in (1, 2, 3)},
}
"""By the names of operators."""
