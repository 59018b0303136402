"""Programs that data decides in, run on other numbers: what both hold there must be the same.

What data chose in a recording is a premise of the proof, so that ranks that decide by their own rows go unseen where
these happen to decide as all rows do. So both programs are run on further numbers: real ones drawn anew, the rows of
the batch in other orders and of very different sizes, and integers of which the program states what they lie between
anew within that.
"""

import shutil
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import torch

from verdict.backends.torch.launched import launch
from verdict.backends.torch.numbers import OWN, drawn, is_fixed, seeded, within
from verdict.backends.torch.program import Load
from verdict.backends.torch.ranges import Range
from verdict.backends.torch.real import Ran, Run, ran_in, run
from verdict.backends.torch.trace import SUFFIXES, UPDATED

DRAWS = (2, 3, 4, 5, 6, 7)
"""The draws of the further numbers: ranks that decide by their own rows decide as all rows do in some of them."""
WITHIN = (8, 9, 10)
"""The draws of which integers are any of those that the program states: whose batch is alike in all rows says nothing
of another one.
"""
SPREAD = (11, 12, 13, 14)
"""The draws of which each row of real inputs is multiplied by one of FACTORS: bounds that no number of a batch comes
near (`x > -50`) are passed in the rows of some ranks, and not of others.
"""
FACTORS = (1 / 16, 1.0, 16.0, 256.0, 4096.0)
"""From where what keeps a norm from zero counts, to beyond any bound that a program is likely to have; in third powers
still far from what 32 bits hold.
"""
ORDERED = (DRAWS[0], *WITHIN[:2])
"""The draws of which the rows of the batch are in the order of its integers, by which ranks get rows that are as
different as they can be; of the others they are in any order.
"""
CLOSE = 1e-2
"""What two numbers may differ by, of the greatest of their tensor: choices are told, rounding is not."""
NARROW = 25
"""By how many roundings of the narrowest type of the program they may differ, where that is more."""
NOTHING, SOME = 1e-4, 4
"""Of the greatest gradient, what is zero but for rounding: an optimizer may make a whole step of it. It is so of some
roundings of the narrowest type of the program, too, where these are more: ranks add up in another order.
"""
GRADIENT = SUFFIXES["gradient"]


class Both(NamedTuple):
    """The single-device program and the parallel one. load: what imports each. ranks: of the parallel one. batch: the
    names of the inputs, by whose rows integers are ordered first. numbers: a file with those of the recording. eps: the
    rounding of the narrowest type of real numbers in the program, of a number. ranges: what is stated of the inputs.
    """

    load: tuple[Load, Load]
    ranks: int
    batch: Sequence[str]
    numbers: str
    eps: float = 0.0
    ranges: Sequence[Range] = ()


def otherwise(both: Both, folder: Path, seconds: float, mebibytes: int) -> str:
    """What the programs hold otherwise, as a clause; "" where they agree, or one of them does not get to its end.

    folder: a new one, which is gone afterwards. seconds: for one launch. mebibytes: for each process.
    """
    folder.mkdir()
    try:
        whole = torch.load(both.numbers)
        runs = {}
        known = [(name, low, high) for name, low, high in both.ranges if name in both.batch and name in whole]
        stated = [(name, low, high) for name, low, high in known if high is not None and _is_whole(whole[name])]
        draws = (*DRAWS, *(WITHIN if stated else ()), *SPREAD)
        for draw in draws:
            others = stated if draw in WITHIN else []
            given = {**whole, **{name: within(name, whole[name], low, high, draw) for name, low, high in others}}
            torch.save(_anew(given, both.batch, draw), folder / f"{draw}.pt")
            runs[draw] = Run(OWN, given=str(folder / f"{draw}.pt"))
        for load, ranks, name in zip(both.load, (1, both.ranks), ("single", "parallel"), strict=True):
            launch(partial(run, load, ranks, runs, seconds), ranks, folder / name, seconds, mebibytes)
        for draw in draws:
            one = ran_in(folder / "single", 1, draw)
            ranks_hold = ran_in(folder / "parallel", both.ranks, draw) or ()
            overflows = draw in SPREAD and not all(map(_is_finite, ranks_hold))
            found = apart(one[0], ranks_hold, both.eps) if one and not overflows else ""
            if found:
                return f"run on other numbers, {found}"
        return ""
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _anew(whole: Mapping[str, Any], batch: Sequence[str], draw: int) -> dict[str, Any]:
    """Numbers for what the single-device program is given."""
    order = _order([whole[name] for name in batch if name in whole], draw)
    found = {}
    for name, held in whole.items():
        moves = name in batch and order is not None and held.dim() and len(held) == len(order)
        moved = held[order] if moves else held
        region = [(0, size) for size in held.shape]
        found[name] = moved if is_fixed(held) else drawn(name, moved, region, held.shape, draw)
        if draw in SPREAD and name in batch and held.dim() and not is_fixed(held):
            found[name] = _spread(name, found[name], draw)
    return found


def _spread(name: str, held: Any, draw: int) -> Any:
    """Numbers of which each row is multiplied by a factor of its own, and where they have both signs, by a sign."""
    random = seeded(name, draw)
    turns = (torch.randperm(len(held), generator=random) + draw) % len(FACTORS)
    factors = torch.tensor(FACTORS, dtype=held.dtype)[turns]
    if bool((held < 0).any()) and bool((held > 0).any()):
        factors = factors * (1 - 2 * torch.randint(2, factors.shape, generator=random))
    return held * factors.reshape(-1, *[1] * (held.dim() - 1))


def _order(batch: Sequence[Any], draw: int) -> Any:
    """An order of the rows of a batch, by the first of its tensors of integers; None where it has none."""
    whole = [held for held in batch if held.dim() and _is_whole(held)]
    if not whole:
        return None
    if draw in ORDERED:
        rows = whole[0].reshape(len(whole[0]), -1).tolist()
        return torch.tensor(sorted(range(len(rows)), key=lambda row: rows[row]))
    return torch.randperm(len(whole[0]), generator=torch.Generator().manual_seed(draw))


def _is_whole(held: Any) -> bool:
    """Whether it is of integers or truth values."""
    return not (held.is_floating_point() or held.is_complex())


def _is_finite(ran: Ran) -> bool:
    return all(bool(held.isfinite().all()) for held in ran.held.values())


def apart(single: Ran, parallel: Sequence[Ran], eps: float) -> str:
    """The first tensor of which ranks hold something else than the single device does, as a clause; "" where there is
    none, or the single device holds what is no number. eps: the rounding of the narrowest type, of a number.
    """
    if not _is_finite(single):
        return ""
    grads = [held.abs().max() for name, held in single.held.items() if name.endswith(GRADIENT) and held.numel()]
    close, least = max(CLOSE, NARROW * eps), max(NOTHING, SOME * eps) * float(max(grads, default=0.0))
    for name, due in single.held.items():
        counted = torch.ones_like(due, dtype=torch.bool)
        if name.endswith(SUFFIXES[UPDATED]):
            grad = single.held.get(name.removesuffix(SUFFIXES[UPDATED]) + GRADIENT)
            if grad is None or grad.shape != due.shape:
                continue
            counted = grad.abs() > least
        floor = least if name.endswith(GRADIENT) else 0.0
        for ranks, region, held in _sums(name, parallel):
            part = tuple(slice(start, stop) for start, stop in region)
            gap = (_precise(held) - _precise(due[part])).abs()[counted[part]]
            real = (due.is_floating_point() or due.is_complex()) and due.numel()
            bound = close * float(due.abs().max()) + floor if real else 0.0
            if gap.numel() and not bool((gap <= bound).all()):
                who = f"rank {ranks[0]}" if len(ranks) == 1 else f"the sum of ranks {', '.join(map(str, ranks))}"
                return f"{who} holds other numbers in {name} than the single device (by {float(gap.max()):.3g})"
    return ""


def _precise(held: Any) -> Any:
    return held.to(torch.complex128 if held.is_complex() else torch.float64)


def _sums(name: str, parallel: Sequence[Ran]) -> Iterator[tuple[tuple[int, ...], Any, Any]]:
    """Which ranks hold a region of a tensor, alone or as a sum, which region, and what they hold."""
    parts: dict[Any, dict[int, tuple[int, Any]]] = {}
    for rank, ran in enumerate(parallel):
        if name not in ran.held:
            continue
        _, region, (part, count) = ran.ends[name]
        if count == 1:
            yield (rank,), region, ran.held[name]
        else:
            parts.setdefault((region, count), {}).setdefault(part, (rank, ran.held[name]))
    for (region, count), held in parts.items():
        if len(held) == count:
            yield tuple(rank for rank, _ in held.values()), region, sum(_precise(value) for _, value in held.values())
