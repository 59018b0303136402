"""Operators without a rule that are others: as torch itself takes them apart (torch._decomp), or as is said here.

What a recording says by them is held against runs of the operators themselves, as all else in it.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from typing import Any

import torch
from torch._decomp import core_aten_decompositions, decomposition_table
from torch.utils._python_dispatch import _disable_current_modes

from verdict.backends.torch import bags, composites, distances, patterns, pooled, running, transposed
from verdict.backends.torch.arguments import Call, called, functional_of
from verdict.backends.torch.collectives import Unknown
from verdict.ops import RULES

_DECOMPOSITIONS = "torch._decomp.decompositions"
"""The module whose functions are written in operators of ATen; others, of torch._refs, may be in torch's primitives."""
_MIXING = ("upsample_linear", "upsample_bilinear", "upsample_trilinear", "upsample_bicubic")
"""Interpolations that compute other numbers than those that there are."""
MOST_WEIGHTS = 4096
"""The most weights of an interpolation along one dimension."""


def taken_apart(call: Call) -> Callable[..., Any] | None:
    """What computes the same by other operators, of the arguments of the call; None where the call has a rule, or where
    nothing is known that does. What is written in place is computed first.
    """
    if call.given.get("transposed"):
        return transposed.TAKEN_APART.get(call.name)
    written = call.written
    pure = functional_of(call.func) if written else call.func
    if pure is None or len(written) > 1 or called(pure) in RULES or pure._schema.overload_name == "Scalar":
        return None
    if call.name.startswith(_MIXING) and not call.args[0].is_floating_point():
        return _mixed_integers
    return _OWN.get(call.name.removesuffix("_")) or _torchs(pure)


def _mixed_integers(*_: Any, **__: Any) -> Any:
    raise Unknown("an interpolation of integers is rounded in a way that has no rule")


@cache
def _torchs(func: Any) -> Callable[..., Any] | None:
    found = decomposition_table.get(func)
    inner = found
    while hasattr(inner, "__wrapped__"):
        inner = inner.__wrapped__
    written = getattr(inner, "__module__", "") == _DECOMPOSITIONS or func in core_aten_decompositions()
    return found if written else None


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


def _kth(x: Any, k: int, dim: int = -1, keepdim: bool = False) -> Any:
    """The k-th smallest along a dimension, and its place."""
    if not x.dim() or not x.numel():
        raise Unknown("an order of a tensor without dimensions or elements has no rule")
    values, places = torch.sort(x, dim)
    found = values.select(dim, k - 1), places.select(dim, k - 1)
    return tuple(each.unsqueeze(dim) for each in found) if keepdim else found


def _sorted(x: Any, *, stable: bool | None = None, dim: int = -1, descending: bool = False) -> Any:
    return torch.sort(x, dim, descending)


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
    """A multiple of a tensor and one of the sum of the matrix products of two batches; of integers by integers."""
    if not x.is_floating_point() and not x.is_complex():
        beta, alpha = int(beta), int(alpha)
    return torch.add(x * beta, (a @ b).sum(0), alpha=alpha)


def _within(x: Any, min: Any = None, max: Any = None) -> Any:
    """What is between two tensors."""
    x = x if min is None else torch.maximum(x, min)
    return x if max is None else torch.minimum(x, max)


def _median(x: Any, dim: int | None = None, keepdim: bool = False) -> Any:
    """The lower one of the two in the middle."""
    if dim is None or not x.dim():
        found = _kth(x.reshape(-1), (x.numel() + 1) // 2)
        return found[0] if dim is None else found
    return _kth(x, (x.shape[dim] + 1) // 2, dim, keepdim)


def _bucketize(x: Any, bounds: Any, *, out_int32: bool = False, right: bool = False) -> Any:
    """How many bounds lie below each number; those that it is equal to among them where it is to lie to their right."""
    below = bounds <= x.unsqueeze(-1) if right else bounds < x.unsqueeze(-1)
    return below.sum(-1, dtype=torch.int32 if out_int32 else torch.int64)


def _searchsorted(
    bounds: Any, x: Any, *, out_int32: bool = False, right: bool = False, side: str | None = None, sorter: Any = None
) -> Any:
    if sorter is not None:
        raise Unknown("a search among numbers that another tensor sorts has no rule")
    bounds = bounds if bounds.dim() == 1 else bounds.unsqueeze(-2)
    return _bucketize(x, bounds, out_int32=out_int32, right=right or side == "right")


def _scatter_reduce(x: Any, dim: int, index: Any, source: Any, reduce: str, *, include_self: bool = True) -> Any:
    if reduce not in ("sum", "mean"):
        return running.scattered(x, dim, index, source, reduce, include_self)
    total = (x if include_self else x.scatter(dim, index, 0.0)).scatter_add(dim, index, source)
    if reduce == "sum":
        return total
    one = torch.ones_like(x)
    count = (one if include_self else one.scatter(dim, index, 0.0)).scatter_add(dim, index, torch.ones_like(source))
    count = count.clamp(min=1)
    return total / count if total.is_floating_point() else torch.div(total, count, rounding_mode="floor")


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
    "_efficientzerotensor": patterns.zeros,
    "eye": patterns.diagonal,
    "tril_indices": partial(patterns.triangle, True),
    "triu_indices": partial(patterns.triangle, False),
    "sort": _sorted,
    "hardshrink_backward": _shrunk,
    "softshrink_backward": _shrunk,
    "std_mean": _std_mean,
    "linalg_cross": _cross,
    "any": partial(_over, torch.any),
    "all": partial(_over, torch.all),
    "clamp": _within,
    "addbmm": _added_products,
    "kthvalue": _kth,
    "median": _median,
    "bucketize": _bucketize,
    "searchsorted": _searchsorted,
    "scatter_reduce": _scatter_reduce,
    "_trilinear": _trilinear,
    "_weight_norm_interface_backward": _weight_norm,
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
    "adaptive_max_pool2d_backward": lambda grad, x, indices: _max_pooled(2, grad, x, indices=indices),
    "max_pool3d_with_indices_backward": lambda grad, x, *how: _max_pooled(3, grad, x, indices=how[-1]),
    **{name: partial(_interpolated, name) for name in _INTERPOLATIONS},
    **{f"replication_pad{dims}d_backward": _replicated for dims in (1, 2, 3)},
}
"""By the names of operators."""
