"""Operators on groups of unlike sizes, taken apart into ones that are known.

`_grouped_mm` multiplies groups of rows (or of what is summed over), which end where `offs` says: data decides that.
`histc` counts how many numbers lie in each of some equal bins. `_pack_padded_sequence` joins sequences of unlike
lengths, the first elements of all, then the second ones; how many there are of each is read by recurrent networks.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch._subclasses.fake_tensor import FakeTensor

Given = Mapping[str, Any]
PRODUCT, COUNTS, PACKED = "_grouped_mm", "histc", "_pack_padded_sequence"
_DECIDES = {PRODUCT: "offs", PACKED: "lengths"}


def offsets(name: str, given: Given) -> Any:
    """The tensor that decides how a call is taken apart; None where there is none."""
    return given[_DECIDES[name]] if name in _DECIDES else None


def is_known(name: str, given: Given) -> bool:
    """Whether a call of the operator `name` with these arguments can be taken apart."""
    if name == COUNTS:
        return float(given["min"]) < float(given["max"])
    if name == PACKED:
        return not isinstance(given["input"], FakeTensor)
    return name == PRODUCT and given["bias"] is None and given["out_dtype"] in (None, given["self"].dtype)


def take(name: str, given: Given, ends: Sequence[int]) -> Any:
    """What a call returns, by other operators. ends: what the offsets hold."""
    if name == COUNTS:
        return _counts(given["self"], int(given["bins"]), float(given["min"]), float(given["max"]))
    if name == PACKED:
        return _packed(given["input"], ends, given["batch_first"])
    return _product(given["self"], given["mat2"], [(low, high) for low, high in zip((0, *ends), ends, strict=False)])


def _product(one: Any, other: Any, groups: Sequence[tuple[int, int]]) -> Any:
    """Groups of the rows of `one`, of the columns of `other`, or of what both are summed over; all, where both are
    three-dimensional. Memory that belongs to no group is not written.
    """
    if one.dim() == other.dim() == 3:
        return torch.bmm(one, other)
    if one.dim() == other.dim():
        return torch.stack([one[:, low:high] @ other[low:high] for low, high in groups])
    if other.dim() == 3:
        made = [one[low:high] @ other[group] for group, (low, high) in enumerate(groups)]
        rest, dim = one.new_empty(len(one) - groups[-1][1], other.shape[2]), 0
    else:
        made = [one[group] @ other[:, low:high] for group, (low, high) in enumerate(groups)]
        rest, dim = one.new_empty(one.shape[1], other.shape[1] - groups[-1][1]), 1
    return torch.cat([*made, rest] if rest.numel() else made, dim)


def _packed(x: Any, lengths: Sequence[int], batch_first: bool) -> tuple[Any, Any]:
    """The elements of all sequences, by their places in them, and how many there are at each place."""
    count = x.shape[0 if batch_first else 1]
    if len(lengths) != count or list(lengths) != sorted(lengths, reverse=True) or min(lengths) < 1:
        raise RuntimeError(f"lengths of {count} sequences that are packed must fall, and be above zero: {[*lengths]}")
    sizes = [sum(length > place for length in lengths) for place in range(lengths[0])]
    time = 1 if batch_first else 0
    return torch.cat([x.select(time, place)[:size] for place, size in enumerate(sizes)]), torch.tensor(sizes)


def _counts(numbers: Any, bins: int, low: float, high: float) -> Any:
    """The last bin holds its upper end, too."""
    edges = torch.tensor([low + (high - low) * place / bins for place in range(bins)], dtype=numbers.dtype)
    column = numbers.reshape(-1, 1)
    above = (column >= edges).to(numbers.dtype).sum(0) - (column > high).to(numbers.dtype).sum(0)
    return above - torch.cat([above[1:], above.new_zeros(1)])
