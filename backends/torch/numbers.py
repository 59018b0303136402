"""The numbers on which a program is run: its own, or others that are alike in what they may be.

A program is built on numbers that fit it: ids below the size of a table, masks of zeros and ones, variances that are
not negative. So other numbers are made of its own, element by element, and keep their sign and their range.
"""

import zlib
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import torch

OWN = 0
"""The draw that leaves a program's numbers as they are, where they are numbers."""
LARGE = 1e6
"""Memory that was never written may hold anything; a number above this is taken for such."""


def drawn(name: str, own: Any, region: Sequence[tuple[int, int]], whole: Sequence[int], draw: int) -> Any:
    """Numbers for a rank's tensor `name`, which is `region` of a tensor of shape `whole` and holds `own`.

    Equal regions of one name get equal numbers on all ranks that hold equal ones. Integers and truth values change
    places; so do numbers that are all whole, or that hold an infinity, as masks do.
    """
    own = own.detach()
    if own.is_complex() or not own.numel():
        return own.clone()
    if own.is_floating_point() and not bool(((own.abs() < LARGE) | own.isinf()).all()):
        own = torch.randn(own.shape, generator=seeded(name, -1), dtype=torch.float64).to(own.dtype)
    if draw == OWN:
        return own.clone()
    flat = own.reshape(-1)
    moved = flat[torch.randperm(flat.numel(), generator=seeded(name, draw))].reshape(own.shape)
    if not own.is_floating_point():
        return moved
    mixed = bool((own != own.reshape(-1)[0]).any())
    if mixed and (bool(own.isinf().any()) or bool((own == own.round()).all())):
        return moved
    factor = torch.rand(tuple(whole), generator=seeded(name, draw), dtype=torch.float64) + 0.5
    factor = factor[tuple(slice(start, stop) for start, stop in region)].reshape(own.shape)
    if not bool((own != 0).any()):
        return (0.1 * factor).to(own.dtype)
    return (moved.double() * factor).to(own.dtype)


def within(name: str, own: Any, low: int, high: int, draw: int) -> Any:
    """Integers from `low` to `high`, both included, for the tensor `name`, of the shape and type of `own`."""
    most = min(high, torch.iinfo(own.dtype).max) if own.dtype is not torch.bool else min(high, 1)
    return torch.randint(low, most + 1, own.shape, generator=seeded(name, draw)).to(own.dtype)


class Given(NamedTuple):
    """Whole tensors by name, of which ranks take their shares. moved: the part of itself by which one is at most."""

    numbers: Mapping[str, Any]
    moved: float = 0.0


def is_fixed(held: Any) -> bool:
    """Whether what a tensor holds goes on as it is: integers, truth values, numbers that are all whole or infinite."""
    return not held.is_floating_point() or bool(held.isinf().any()) or bool((held == held.round()).all())


def taken(
    name: str, own: Any, region: Sequence[tuple[int, int]], whole: Sequence[int], part: tuple[int, int], given: Given
) -> Any:
    """What a rank's tensor `name` holds of the numbers that are given, or its own where they are of another shape.

    Numbers that are all whole, or infinite, are not moved, and neither are integers and truth values.
    """
    found = given.numbers.get(name)
    if found is None or part != (0, 1) or tuple(found.shape) != tuple(whole):
        return drawn(f"{name} {part}", own, region, whole, OWN)
    if given.moved and not is_fixed(found):
        noise = torch.rand(tuple(whole), generator=seeded(name, 1), dtype=torch.float64) - 0.5
        found = found.double() * (1 + 2 * given.moved * noise)
    return found[tuple(slice(start, stop) for start, stop in region)].to(own.dtype)


def seeded(name: str, draw: int) -> torch.Generator:
    """The generator of a draw of numbers for the tensor `name`."""
    return torch.Generator().manual_seed(zlib.crc32(f"{name} {draw}".encode()))
