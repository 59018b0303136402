"""Which elements of the single-device parameters a rank holds, found by running the code that cuts them.

Every parameter is given the numbers of its elements, the user's code runs on these, and what it leaves is read: so no
placement, layout or convention of that code has to be known. It runs on real tensors beside the recording. Shards that
DTensor makes are cut here, as its scatter would send what a process group that moves nothing cannot bring.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch.distributed.tensor import Replicate, Shard
from torch.utils._python_dispatch import _disable_current_modes

from verdict.backends.torch.host import replaced
from verdict.backends.torch.program import Share
from verdict.backends.torch.shares import local, told
from verdict.errors import UsageError

MOST = 2**53
"""The most elements that have numbers of their own in 64-bit floats."""
OWN = "give its spec by hand"


def probe(make: Callable[[], Any], cut: Callable[[Any], Any], specs: Mapping[str, Share]) -> dict[str, Share]:
    """The share of each parameter that `cut` leaves of the model that `make` makes, and `specs`.

    make: makes the single-device model. cut: takes it, and returns this rank's module or its tensors by name.

    Raises UsageError where a tensor holds anything but a rectangular part of one parameter, each element once, and
    where `specs` says otherwise.
    """
    with _alone():
        whole = make()
        first = _number(whole)
        found = {name: _share(name, tensor, first) for name, tensor in _named(cut(whole)).items()}
    shapes = {name: shape for name, (shape, _) in found.items()}
    for name in specs.keys() & found.keys():
        (full, region), (_, probed) = told(name, shapes[name], specs[name]), found[name]
        if (full, region) != told(name, shapes[name], probed):
            said = ", ".join(f"{start}:{stop} of {size}" for (start, stop), size in zip(region, full, strict=True))
            problem = f"its spec says that it holds {said}, the code that cuts it leaves {_words(probed)}"
            raise UsageError(name, problem, "leave out its spec, or correct the code")
    return {**{name: share for name, (_, share) in found.items()}, **specs}


@contextmanager
def _alone() -> Iterator[None]:
    """Outside of all modes, in 64-bit floats, and with DTensor's shards cut where they stand."""
    before = torch.get_default_dtype()
    cut, copy = Shard._shard_tensor, Replicate._replicate_tensor
    with ExitStack() as stack:
        stack.enter_context(_disable_current_modes())
        stack.enter_context(torch.no_grad())
        for owner, name, function in ((Shard, "_shard_tensor", cut), (Replicate, "_replicate_tensor", copy)):
            stack.enter_context(replaced(owner, name, _without_source(function)))
        torch.set_default_dtype(torch.float64)
        stack.callback(torch.set_default_dtype, before)
        yield


def _without_source(function: Callable[..., Any]) -> Callable[..., Any]:
    def run(self: Any, tensor: Any, mesh: Any, mesh_dim: int, *_: Any, **__: Any) -> Any:
        return function(self, tensor, mesh, mesh_dim, src_data_rank=None)

    return run


def _named(model: Any) -> dict[str, Any]:
    return dict(model.named_parameters()) if isinstance(model, torch.nn.Module) else dict(model)


def _number(model: Any) -> dict[str, tuple[int, tuple[int, ...]]]:
    """Give every parameter the numbers of its elements; the first one and the shape of each."""
    first: dict[str, tuple[int, tuple[int, ...]]] = {}
    count = 1
    if isinstance(model, torch.nn.Module):
        model.double()
    for name, tensor in _named(model).items():
        if count + tensor.numel() > MOST or tensor.dtype != torch.float64:
            raise UsageError(name, "its elements cannot be numbered in 64-bit floats", OWN)
        first[name] = (count, tuple(tensor.shape))
        tensor.copy_(torch.arange(count, count + tensor.numel(), dtype=torch.float64).view(tensor.shape))
        count += tensor.numel()
    return first


def _share(name: str, tensor: Any, first: Mapping[str, tuple[int, tuple[int, ...]]]) -> tuple[tuple[int, ...], Share]:
    """The shape of what is held, and which part of which parameter it is."""
    held: npt.NDArray[np.float64] = local(tensor).detach().double().numpy()
    if not held.size:
        raise UsageError(name, "this rank holds none of it", "leave it out of the rank's parameters")
    least = held.min()
    owner = next((o for o, (at, shape) in first.items() if at <= least < at + np.prod(shape, dtype=np.int64)), None)
    if owner is None or len(first[owner][1]) != held.ndim:
        problem = "what it holds are no elements of a parameter of the single-device model, or in another shape"
        raise UsageError(name, problem, OWN)
    at, shape = first[owner]
    numbers = np.arange(at, at + int(np.prod(shape, dtype=np.int64))).reshape(shape)
    corner = np.unravel_index(int(least) - at, shape)
    box = tuple(slice(int(start), int(start) + size) for start, size in zip(corner, held.shape, strict=True))
    if numbers[box].shape != held.shape or not np.array_equal(numbers[box], held):
        problem = f"what it holds of {owner} is no rectangular part of it, each element once and in order"
        raise UsageError(name, problem, "keep what lies apart in parameters of its own")
    region = tuple(
        (dim, cut.start, cut.stop, size)
        for dim, (cut, size) in enumerate(zip(box, shape, strict=True))
        if cut.stop - cut.start != size
    )
    return held.shape, Share(region=region)


def _words(share: Share) -> str:
    return ", ".join(f"{start}:{stop} of {size} along {dim}" for dim, start, stop, size in share.region) or "all of it"
