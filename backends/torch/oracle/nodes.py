"""One node on torch tensors: its outputs, by torch's operator of that name, or by torch's autograd.

All floating-point numbers are 64-bit whatever the plan says: casts between floating-point types change nothing here,
as in a proof. Integers and truth values keep their types, so that a cast to 8 bits wraps. A tensor that nothing has
written is full of NaN. Attributes that say of how many elements something once was the mean (`count`) are obeyed.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import torch

from verdict.backends.torch.arguments import decode, operator
from verdict.backends.torch.oracle.own import OWN, own
from verdict.comparison import Fault, Faulty
from verdict.graph import GRAD

Attrs = Mapping[str, Any]
FLOATS = frozenset({"float16", "bfloat16", "float32", "float64", "half", "float", "double"})
COMPLEX = frozenset({"complex32", "complex64", "complex128"})
REFUSALS = (RuntimeError, ValueError, IndexError, TypeError, KeyError, ArithmeticError, AssertionError)
"""What torch raises where it cannot compute something, and what our own functions do where an attribute is missing."""


def is_whole(dtype: str) -> bool:
    """Whether a type of a plan is of integers or truth values."""
    kind = getattr(torch, dtype, None)
    return isinstance(kind, torch.dtype) and not kind.is_floating_point and not kind.is_complex


def type_of(dtype: str) -> Any:
    """The torch type that stands for a type of a plan."""
    if dtype in FLOATS:
        return torch.float64
    if dtype in COMPLEX:
        return torch.complex128
    return getattr(torch, dtype) if is_whole(dtype) else torch.float64


def forward(op: str, inputs: Sequence[Any], attrs: Attrs) -> tuple[Any, ...]:
    """The outputs of an operator. Raises one of REFUSALS where torch cannot compute it; a KeyError for no such one."""
    if op == "constant":
        return (_constant(attrs),)
    if op.startswith("aten."):
        return _aten(op, inputs, attrs)
    found = own(op, inputs, attrs)
    return tuple(found) if isinstance(found, tuple | list) else (found,)


def gradient(op: str, inputs: Sequence[Any], grads: Sequence[Any], attrs: Attrs) -> tuple[Any, ...]:
    """For each input the gradient of sum(output * grad), None where there is none. grads: None where it is zero."""
    leaves = [x.detach().clone().requires_grad_(x.is_floating_point() or x.is_complex()) for x in inputs]
    with torch.enable_grad():
        outputs = forward(op, leaves, attrs)
        if len(outputs) != len(grads):
            raise ValueError(f"it has {len(outputs)} outputs and {len(grads)} gradients of them")
        pulled = [(y, _shaped(g, y)) for y, g in zip(outputs, grads, strict=True) if g is not None and y.requires_grad]
    wanted = [leaf for leaf in leaves if leaf.requires_grad]
    if not wanted:
        return (None,) * len(leaves)
    if pulled:
        ends, starts = [y for y, _ in pulled], [g.to(y.dtype) for y, g in pulled]
        found = iter(torch.autograd.grad(ends, wanted, starts, allow_unused=True))
    else:
        found = iter([None] * len(wanted))
    influenced = [next(found) if leaf.requires_grad else None for leaf in leaves]
    return tuple(
        torch.zeros_like(leaf) if g is None and leaf.requires_grad and _differentiable(op) else g
        for leaf, g in zip(leaves, influenced, strict=True)
    )


def _shaped(grad: Any, y: Any) -> Any:
    """The gradient of y in y's shape; some plans write [1] for the shape of a single number, others []."""
    if grad.shape != y.shape and {tuple(grad.shape), tuple(y.shape)} != {(), (1,)}:
        raise ValueError(f"a gradient of shape {list(grad.shape)} is given for an output of shape {list(y.shape)}")
    return grad.reshape(y.shape)


def _differentiable(op: str) -> bool:
    return op not in ("create_mask", "sgd", "adam", "adamw")


def filled(shape: Sequence[int], number: int, dtype: str) -> Any:
    """A tensor full of one number."""
    return torch.full(tuple(shape), number, dtype=type_of(dtype))


def known(op: str) -> bool:
    """Whether there is an operator of this name."""
    name = op.removesuffix(GRAD)
    if name in OWN or name == "constant":
        return True
    if not name.startswith("aten."):
        return False
    try:
        operator(name)
    except AttributeError:
        return False
    return True


def _constant(attrs: Attrs) -> Any:
    values = attrs["values"]
    whole = all(isinstance(value, int) for value in values)
    return torch.tensor(values, dtype=torch.int64 if whole else torch.float64).reshape(attrs["shape"])


def _aten(op: str, inputs: Sequence[Any], attrs: Attrs) -> tuple[Any, ...]:
    attrs = {name: _wide(name, value) for name, value in attrs.items()}
    count = attrs.pop("count", None)
    if op == "aten.view":
        op, attrs = "aten.reshape", {"shape": attrs["size"]}
    if count is not None and op.split(".")[1] != "mean":
        raise ValueError(f"torch divides by the number of elements, not by count {count}")
    if count is not None:
        op = "aten.sum" if op == "aten.mean" else "aten.sum.dim_IntList"
    require_inside(op, inputs, attrs)
    func = operator(op)
    args, kwargs = decode(func, [x.contiguous() for x in inputs], attrs)
    found = func(*args, **kwargs)
    outputs = tuple(found) if isinstance(found, tuple | list) else (found,)
    if count is not None:
        outputs = (outputs[0] / count,)
    if "empty" in op:
        outputs = tuple(torch.full_like(y, torch.nan) if y.is_floating_point() else y for y in outputs)
    return tuple(_kept(y) for y in outputs)


def require_inside(op: str, inputs: Sequence[Any], attrs: Attrs) -> None:
    """Refuse what torch does not check on the processor, and would read or write beside its memory for."""
    match op.split(".")[1]:
        case "embedding_dense_backward":
            _require_below(inputs[1], attrs["num_weights"], None)
        case "nll_loss_backward":
            _require_below(inputs[2], inputs[1].shape[-1 if inputs[1].ndim < 2 else 1], attrs.get("ignore_index", -100))
        case "_scaled_dot_product_flash_attention_for_cpu" | "_scaled_dot_product_flash_attention_for_cpu_backward":
            if any(x.numel() == 0 for x in inputs):
                raise ValueError("torch divides by the size of an attention over nothing, and dies of it")
        case "_fused_rms_norm":
            along = attrs["normalized_shape"]
            if tuple(inputs[0].shape[-len(along) :]) != tuple(along):
                raise ValueError(f"{list(inputs[0].shape)} does not end in {list(along)}")
        case "native_group_norm" | "native_group_norm_backward":
            count, channels, groups = attrs["N"] * attrs["C"] * attrs["HxW"], attrs["C"], attrs["group"]
            x = inputs[0]
            fits = x.numel() == count and x.ndim > 1 and tuple(x.shape[:2]) == (attrs["N"], channels)
            if not fits or groups < 1 or channels % groups or min(attrs["N"], attrs["HxW"]) < 1:
                raise ValueError(f"{dict(attrs)} does not fit a tensor of shape {list(x.shape)}")


def _require_below(ids: Any, size: int, beside: int | None) -> None:
    outside = (ids < 0) | (ids >= size)
    if beside is not None:
        outside &= ids != beside
    if bool(outside.any()):
        raise IndexError(f"an index is not below {size}")


def _wide(name: str, value: Any) -> Any:
    if name in ("dtype", "input_dtype") and isinstance(value, str):
        return "float64" if value in FLOATS else "complex128" if value in COMPLEX else value
    return value


def _kept(y: Any) -> Any:
    """A copy of its own, of 64 bits where it is a floating-point number."""
    if not isinstance(y, torch.Tensor):
        raise Faulty(Fault(f"it makes {y}, which is no tensor", "torch", ours=True))
    return y.to(torch.float64) if y.is_floating_point() else y
