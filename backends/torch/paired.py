"""Complex numbers that are made of real ones, and of which real ones are made again, as rotary embeddings have them: a
tensor of them is recorded as its memory is, pairs of a real and an imaginary part in a last dimension of two.

`view_as_complex` and `view_as_real` record nothing: both sides are one memory, of which the recording has the real
numbers. What computes with such complex numbers is recorded as what it does to their parts. What is not known here
reads memory as another type than it has, and is unmodelled, as are products of pairs and complex numbers of an input.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import torch

from verdict.backends.torch.arguments import Call
from verdict.backends.torch.memory import Memory

_COMPLEX = "complex"


def taken_apart(call: Call, memory: Memory) -> Callable[..., Any] | None:
    """What computes the same on parts, of the arguments of the call; None where it has no complex numbers, where some
    of these are no pairs in memory, or where it is not known.
    """
    rule, step = _FRESH.get(call.name), _VIEWS.get(call.name)
    if (rule is None and step is None) or call.written:
        return None
    found = [tensor for tensor in call.tensors if tensor.is_complex()]
    if not all(_in_pairs(tensor, memory) for tensor in found) or not (found or call.name in _MAKERS):
        return None
    if step is not None:
        return partial(_seen, step, call.given)
    assert rule is not None
    return partial(_fresh, rule, call.given, call.run().stride())


def _in_pairs(tensor: Any, memory: Memory) -> bool:
    kind = memory.dtype_in(tensor.untyped_storage())
    return kind is not None and not kind.startswith(_COMPLEX)


def _parts(x: Any) -> tuple[Any, Any]:
    """The real and the imaginary part of complex numbers, of real ones themselves and None."""
    if not x.is_complex():
        return x, None
    held = torch.view_as_real(torch.ops.aten._conj(x) if x.is_conj() else x)
    return held.select(-1, 0), -held.select(-1, 1) if x.is_conj() else held.select(-1, 1)


def _pairs(x: Any) -> Any:
    """Complex numbers as pairs, in their own memory where they are not conjugated."""
    return torch.stack(_parts(x), -1) if x.is_conj() else torch.view_as_real(x)


def _polar(given: Mapping[str, Any]) -> Any:
    return torch.stack([given["abs"] * given["angle"].cos(), given["abs"] * given["angle"].sin()], -1)


def _product(given: Mapping[str, Any]) -> Any:
    """(a + bi)(c + di) = ac - bd + (ad + bc)i. A real factor multiplies both parts."""
    one, other = given["self"], given["other"]
    if not isinstance(other, torch.Tensor):
        return NotImplemented if isinstance(other, complex) else _pairs(one) * other
    (a, b), (c, d) = _parts(one), _parts(other)
    if d is None:
        return torch.stack([a * c, b * c], -1)
    if b is None:
        return torch.stack([a * c, a * d], -1)
    return torch.stack([a * c - b * d, a * d + b * c], -1)


def _quotient(given: Mapping[str, Any]) -> Any:
    """By a real number."""
    one, other = given["self"], given["other"]
    if not isinstance(other, torch.Tensor):
        return NotImplemented if isinstance(other, complex) else _pairs(one) / other
    return NotImplemented if other.is_complex() else _pairs(one) / other.unsqueeze(-1)


def _summed(sign: int, given: Mapping[str, Any]) -> Any:
    one, other, alpha = given["self"], given["other"], given["alpha"]
    if isinstance(alpha, complex) or not (isinstance(other, torch.Tensor) and one.is_complex() and other.is_complex()):
        return NotImplemented
    return torch.add(_pairs(one), _pairs(other), alpha=sign * alpha)


def _total(given: Mapping[str, Any]) -> Any:
    x = given["self"]
    dims = [dim % max(x.dim(), 1) for dim in given.get("dim") or range(x.dim())]
    return _pairs(x).sum(dims, given.get("keepdim", False)) if dims else _pairs(x)


def _copied(given: Mapping[str, Any]) -> Any:
    """The same numbers in memory of their own, perhaps of another precision."""
    x, dtype = given["self"], given.get("dtype")
    if dtype is not None and not dtype.is_complex:
        return NotImplemented
    return _pairs(x).to(x.dtype.to_real() if dtype is None else dtype.to_real(), copy=True)


def _conjugated(given: Mapping[str, Any]) -> Any:
    real, imaginary = _parts(given["self"])
    return torch.stack([real, -imaginary], -1)


def _joined(given: Mapping[str, Any]) -> Any:
    listed = given["tensors"]
    if not all(each.is_complex() for each in listed):
        return NotImplemented
    return torch.cat([_pairs(each) for each in listed], given["dim"] % listed[0].dim())


def _fresh(
    rule: Callable[[Mapping[str, Any]], Any], given: Mapping[str, Any], strides: Sequence[int], *_: Any, **__: Any
) -> Any:
    """The complex numbers whose pairs a rule makes, which lie in memory as torch's own do: a view of them may ask."""
    made = rule(given)
    if made is NotImplemented:
        return made
    order = sorted(range(len(strides)), key=lambda dim: -strides[dim])
    back = sorted(range(len(order)), key=lambda dim: order[dim])
    lying = made.permute([*order, len(order)]).contiguous().permute([*back, len(order)])
    return torch.view_as_complex(lying)


def _seen(
    step: Callable[[Any, Mapping[str, Any], int], Any], given: Mapping[str, Any], *_: Any, **__: Any
) -> Any:
    """A view of complex numbers, by the same view of their pairs. step: of pairs, the arguments and the dimensions."""
    x = given["self"]
    made = step(torch.view_as_real(torch.ops.aten._conj(x) if x.is_conj() else x), given, x.dim())
    if made is NotImplemented:
        return made
    return torch.ops.aten._conj(torch.view_as_complex(made)) if x.is_conj() else torch.view_as_complex(made)


def _resized(pairs: Any, given: Mapping[str, Any], _: int) -> Any:
    return pairs.view([*given["size"], 2]) if "size" in given else NotImplemented


def _squeezed(pairs: Any, given: Mapping[str, Any], dims: int) -> Any:
    """Without a dimension that is named, or some."""
    if "dim" not in given:
        return NotImplemented
    named = given["dim"] if isinstance(given["dim"], list | tuple) else [given["dim"]]
    return pairs.squeeze([dim % dims for dim in named]) if dims else pairs


def _expanded(pairs: Any, given: Mapping[str, Any], _: int) -> Any:
    return pairs.expand([*given["size"], 2])


def _sliced(pairs: Any, given: Mapping[str, Any], dims: int) -> Any:
    return torch.ops.aten.slice(pairs, given["dim"] % dims, given["start"], given["end"], given["step"])


def _selected(pairs: Any, given: Mapping[str, Any], dims: int) -> Any:
    return pairs.select(given["dim"] % dims, given["index"])


def _unsqueezed(pairs: Any, given: Mapping[str, Any], dims: int) -> Any:
    return pairs.unsqueeze(given["dim"] % (dims + 1))


def _transposed(pairs: Any, given: Mapping[str, Any], dims: int) -> Any:
    return pairs.transpose(given["dim0"] % dims, given["dim1"] % dims)


def _permuted(pairs: Any, given: Mapping[str, Any], dims: int) -> Any:
    return pairs.permute([*(dim % dims for dim in given["dims"]), dims])


def _slice_backward(given: Mapping[str, Any]) -> Any:
    sizes = list(given["input_sizes"])
    bounds = (given[name] for name in ("start", "end", "step"))
    pairs = _pairs(given["grad_output"])
    return torch.ops.aten.slice_backward(pairs, [*sizes, 2], given["dim"] % len(sizes), *bounds)


_MAKERS = frozenset({"polar", "complex"})
"""Operators that make complex numbers of real ones."""
_FRESH: Mapping[str, Callable[[Mapping[str, Any]], Any]] = {
    "polar": _polar,
    "complex": lambda given: torch.stack([given["real"], given["imag"]], -1),
    "mul": _product,
    "div": _quotient,
    "add": partial(_summed, 1),
    "sub": partial(_summed, -1),
    "neg": lambda given: -_pairs(given["self"]),
    "sum": _total,
    "clone": _copied,
    "_to_copy": _copied,
    "_conj_physical": _conjugated,
    "conj_physical": _conjugated,
    "cat": _joined,
    "slice_backward": _slice_backward,
}
_VIEWS: Mapping[str, Callable[[Any, Mapping[str, Any], int], Any]] = {
    "view": _resized,
    "_unsafe_view": _resized,
    "expand": _expanded,
    "slice": _sliced,
    "select": _selected,
    "unsqueeze": _unsqueezed,
    "squeeze": _squeezed,
    "transpose": _transposed,
    "permute": _permuted,
}
