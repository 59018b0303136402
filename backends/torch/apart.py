"""Replicas of weights that begin a step with different values, told from what all ranks of a run held."""

from collections.abc import Iterator, Sequence
from typing import Any

import torch

from verdict.backends.torch.real import Place, Ran


def same(one: Any, other: Any) -> bool:
    """Whether two tensors hold the same."""
    return bool(one.shape == other.shape and torch.allclose(one, other, 0.0, 0.0, equal_nan=True))


def differing(ran: Sequence[Ran]) -> Iterator[str]:
    """Parameters of which two ranks hold the same elements when the program is built, and not the same values."""
    seen: dict[str, list[tuple[int, Place, Any]]] = {}
    for rank, each in enumerate(ran):
        for name, value in each.built.items():
            place = Place(*each.places[name])
            for other, there, held in seen.get(name, ()):
                if place.part == there.part and _conflict(place, value, there, held):
                    yield f"ranks {other} and {rank} begin with different values of {name}"
                    break
            else:
                seen.setdefault(name, []).append((rank, place, value))


def _conflict(one: Place, value: Any, other: Place, held: Any) -> bool:
    both = [(max(a, c), min(b, d)) for (a, b), (c, d) in zip(one.region, other.region, strict=True)]
    if any(start >= stop for start, stop in both):
        return False

    def cut(place: Place, tensor: Any) -> Any:
        pairs = zip(both, place.region, strict=True)
        return tensor[tuple(slice(start - low, stop - low) for (start, stop), (low, _) in pairs)]

    return not same(cut(one, value), cut(other, held))
