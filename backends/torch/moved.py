"""What moves bytes: communication, copies, of tensors seen as another type than that of the numbers in their memory."""

from collections.abc import Mapping
from math import prod
from typing import Any

import torch
from torch.utils._python_dispatch import _disable_current_modes
from torch.utils._pytree import tree_map_only

from verdict.backends.torch.arguments import Call
from verdict.backends.torch.memory import Memory, Unfollowed

_MOVES = frozenset({
    "_allgather_base_", "allgather_", "allgather_into_tensor_coalesced_", "alltoall_", "broadcast_", "gather_", "recv_",
    "scatter_", "send",
})  # fmt: skip
"""What hands bytes on as they are, each tensor as a whole."""


_ELEMENT_BY_ELEMENT = frozenset({"allreduce_", "allreduce_coalesced_", "broadcast_"})
"""Communication in which an element meets those that lie at its place in the other ranks' memory, whatever the order of
the dimensions.
"""


def as_it_lies(call: Call) -> dict[str, Any]:
    """The arguments of communication, each tensor with its dimensions in the order in which they lie in memory. Raises
    Unfollowed where one has gaps, or an order that backends refuse or take as it lies.
    """

    def ordered(tensor: Any) -> Any:
        if tensor.is_contiguous():
            return tensor
        with _disable_current_modes():
            order = sorted(range(tensor.dim()), key=lambda dim: (-tensor.stride(dim), dim))
            found = tensor.detach().permute(order)
        if call.name not in _ELEMENT_BY_ELEMENT or not found.is_contiguous():
            problem = "of a tensor that is not contiguous, which backends refuse or take as it lies"
            raise Unfollowed(f"{call.name} {problem}")
        return found

    return {key: tree_map_only(torch.Tensor, ordered, value) for key, value in call.given.items()}


def as_held(name: str, given: Mapping[str, Any], memory: Memory) -> tuple[dict[str, Any], str]:
    """The arguments of communication, where it moves bytes with tensors of the type of the numbers that these are; and
    that type, "" where all tensors have their own.
    """
    types, moved = set[str](), set[str]()

    def typed(tensor: Any) -> Any:
        own = str(tensor.dtype).removeprefix("torch.")
        dtype = memory.dtype_in(tensor.untyped_storage()) or own
        types.add(dtype)
        if dtype == own:
            return tensor
        moved.add(dtype)
        return _seen_as(tensor, getattr(torch, dtype))

    if name not in _MOVES:
        return dict(given), ""
    found = {key: tree_map_only(torch.Tensor, typed, value) for key, value in given.items()}
    if moved and len(types) > 1:
        raise Unfollowed(f"bytes of {' and '.join(sorted(types))} are moved together")
    return found, "".join(moved)


def copied_as_held(target: Any, source: Any, memory: Memory) -> tuple[Any, Any]:
    """Both tensors of a copy, seen as the numbers that lie in the source's memory, where both are seen as bytes and the
    target's memory holds such numbers or nothing yet: so a storage is copied (`copy.deepcopy` of a buffer).
    """
    held, own = memory.dtype_in(source.untyped_storage()), memory.dtype_in(target.untyped_storage())
    bytes_alone = target.dtype == source.dtype == torch.uint8 and target.shape == source.shape
    if not bytes_alone or held in (None, "uint8") or own not in (None, held):
        return target, source
    dtype = getattr(torch, str(held))
    return _seen_as(target, dtype), _seen_as(source, dtype)


def _seen_as(tensor: Any, dtype: Any) -> Any:
    start, size = tensor.storage_offset() * tensor.element_size(), prod(tensor.shape) * tensor.element_size()
    if start % dtype.itemsize or size % dtype.itemsize:
        raise Unfollowed(f"a part of a number of {dtype} is moved")
    if not tensor.is_contiguous():
        raise Unfollowed("bytes are moved that do not lie side by side")
    with _disable_current_modes(), torch.no_grad():
        return tensor.detach().reshape(-1).view(dtype)
