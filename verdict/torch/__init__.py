"""Verdict for PyTorch programs: record a training step on one device and on many ranks, and verify that they agree.

    from verdict.torch import Program, assert_equivalent, shard

    def build_single(ctx): ...
    def build(ctx): ...

    assert_equivalent(build, build_single, world=8)

A `build` function returns a Program: one rank's training step, its inputs and parameters, and what each of its
tensors is of the single-device tensor. It is recorded in processes of its own, so it must be importable: a function
at the top of a file. Recording needs torch, `python -m pip install 'verdict-parallel[torch]'`; importing this does not.
"""

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

from verdict.backends.torch.program import REPLICATE, Context, Program, Share, mean, partial, piece, shard
from verdict.backends.torch.step import Step

if TYPE_CHECKING:
    from verdict.torch.proving import assert_equivalent, assert_parallel, capture, require_equivalent, verify

__all__ = [
    "REPLICATE", "Context", "Program", "Share", "Step", "assert_equivalent", "assert_parallel", "capture",
    "cuda_as_cpu", "mean", "partial", "piece", "probe", "require_equivalent", "shard", "verify",
]  # fmt: skip

_PROVING = frozenset({"assert_equivalent", "assert_parallel", "capture", "require_equivalent", "verify"})
"""What a file that builds programs does not need: each rank's process imports that file, and nothing that proves."""


def __getattr__(name: str) -> Any:
    if name not in _PROVING:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from verdict.torch import proving  # noqa: PLC0415  (see _PROVING)

    return getattr(proving, name)


def cuda_as_cpu() -> AbstractContextManager[Any]:
    """A context in which what asks for a GPU gets the CPU, for code that has the word "cuda" written in.

    To be entered around what makes the model, and in `step`. Nothing else changes: `torch.cuda.is_available()` says
    what is true.
    """
    from verdict.backends.torch.devices import CudaAsCpu  # noqa: PLC0415  (importing this needs no torch)

    return CudaAsCpu()


def probe(
    make: Callable[[], Any], cut: Callable[[Any], Any], specs: Mapping[str, Share] | None = None
) -> dict[str, Share]:
    """Specs for a rank's parameters, found by running the code that cuts them on the numbers of their elements.

    make: makes the single-device model. cut: takes it, and returns what this rank keeps: a module, or tensors by
    name. specs: further ones; those of the same parameters must agree with what is found. To be called in `build`.
    Raises UsageError where they do not, or where a tensor is no rectangular part of one parameter.
    """
    from verdict.backends.torch.probe import probe as _probe  # noqa: PLC0415  (importing this needs no torch)

    return _probe(make, cut, specs or {})
