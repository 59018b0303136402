"""Which part of its single-device tensor a rank's tensor is: from a DTensor's placements, or as the user says."""

from typing import Any

import torch
from torch.distributed.tensor import DTensor
from torch.distributed.tensor._utils import compute_local_shape_and_global_offset
from torch.utils._python_dispatch import _disable_current_modes

from verdict.backends.torch.program import REPLICATE, Share
from verdict.backends.torch.trace import Shape
from verdict.errors import UsageError

Region = tuple[tuple[int, int], ...]


def local(tensor: Any) -> Any:
    """What this rank holds of a tensor."""
    while isinstance(tensor, DTensor) or hasattr(tensor, "trigger_wait"):
        tensor = tensor._local_tensor if isinstance(tensor, DTensor) else tensor.trigger_wait()
    return tensor


def placed(tensor: DTensor) -> tuple[Shape, Region, tuple[int, int], int]:
    """Shape of the whole, region, part, and divisor, by the placements.

    Raises UsageError on a rank that is not in the tensor's mesh, and for parts of what is no sum.
    """
    shape = tuple(tensor.shape)
    mesh, placements = tensor.device_mesh, tensor.placements
    coordinate = mesh.get_coordinate()
    if coordinate is None:
        problem = f"a tensor is placed on ranks {mesh.mesh.flatten().tolist()}, and this rank is none of them"
        raise UsageError("placements", problem, "make its mesh of all ranks that list it")
    spread = [p if not p.is_partial() else torch.distributed.tensor.Replicate() for p in placements]
    with _disable_current_modes():
        size, offset = compute_local_shape_and_global_offset(shape, mesh, spread)
    region = tuple((start, start + n) for start, n in zip(offset, size, strict=True))
    index, count, divisor = 0, 1, 1
    for dim, placement in enumerate(placements):
        if placement.is_partial():
            if placement.reduce_op not in ("sum", "avg"):
                raise UsageError("placements", f"a tensor is partial by {placement.reduce_op}", "redistribute it")
            index, count = index * mesh.size(dim) + coordinate[dim], count * mesh.size(dim)
            divisor *= mesh.size(dim) if placement.reduce_op == "avg" else 1
    return shape, region, (index, count), divisor


def told(name: str, shape: Shape, share: Share) -> tuple[Shape, Region]:
    """Shape of the whole and region of a rank's tensor of `shape` that is `share` of it."""
    whole, region = list(shape), [(0, size) for size in shape]
    for dim, *_ in (*share.cuts, *share.region):
        if not -len(shape) <= dim < len(shape):
            problem = f"its spec cuts dimension {dim}, and it has {len(shape)}"
            raise UsageError(name, problem, "correct its spec")
    for dim, index, count in share.cuts:
        start = region[dim][0] + index * shape[dim]
        region[dim], whole[dim] = (start, start + shape[dim]), shape[dim] * count
    for dim, start, stop, size in share.region:
        if stop - start != shape[dim] or not 0 <= start <= stop <= size:
            problem = f"it holds {shape[dim]} elements along dimension {dim}, its spec says {start}:{stop} of {size}"
            raise UsageError(name, problem, "correct its spec")
        region[dim], whole[dim] = (start, stop), size
    return tuple(whole), tuple(region)


def share_of(name: str, tensor: Any, share: Share | None) -> tuple[Shape, Region, tuple[int, int], int]:
    """Shape of the whole, region, part, and divisor. What the user says must agree with the placements."""
    if isinstance(tensor, DTensor):
        found = placed(tensor)
        if share is not None:
            said = (*told(name, tuple(local(tensor).shape), share), share.part, share.divisor)
            if said != found:
                raise UsageError(name, f"its spec says {said}, its placements say {found}", "leave out its spec")
        return found
    share = share or REPLICATE
    return *told(name, tuple(tensor.shape), share), share.part, share.divisor
