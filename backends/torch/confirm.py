"""A recording is held against real runs: what every rank holds must be what the replay of the recording holds.

The program is run twice, on its own numbers and on others, by one process for each rank that talk by gloo; the
recordings of all ranks are replayed on the numbers that each rank had when its step began. Rounding is told from a
difference by replays in 64 bits, and by others that round the result of every node otherwise, on numbers that are a
millionth away.
"""

import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from math import prod
from pathlib import Path
from typing import Any

import torch

from verdict.backends.torch.apart import differing, same
from verdict.backends.torch.assemble import plan_of
from verdict.backends.torch.beside import Both, otherwise
from verdict.backends.torch.confirmation import (
    AGREES,
    BEYOND,
    DIFFERS,
    FAILS,
    NOT_RUN,
    OTHERWISE,
    STARTS,
    Confirmation,
    too_many,
)
from verdict.backends.torch.launched import Ended, launch
from verdict.backends.torch.numbers import OWN
from verdict.backends.torch.program import Load
from verdict.backends.torch.ranges import beyond, said
from verdict.backends.torch.real import Ran, Run, first_in, ran_in, run
from verdict.backends.torch.replay import ChosenOtherwise, replay_held
from verdict.backends.torch.trace import DECISION, UNMODELLED, Trace, decides
from verdict.errors import UsageError
from verdict.graph import Plan
from verdict.graph.draws import DRAW, draws_of
from verdict.graph.lockstep import Handlers, lockstep, program
from verdict.graph.memory import check_effects
from verdict.graph.unsaid import UNSAID
from verdict.ops import RULES

MOST_ELEMENTS = 2**25
"""The most elements that all values of all ranks of a program have together, for it to be run."""
DRAWS = (OWN, 1)
MOST_TOLD = 3
"""Of more places at which a program decides, some are told."""
MOVED = 1e-3
"""By how much the numbers of a second run are moved at most where data makes choices: it may go on to make the same."""
CHOSEN = "data chooses otherwise in it"
ALONE = "one run of all ranks on CPUs agrees with it; beside its numbers data chooses otherwise"
SMALL = 1e-6
"""How far the numbers of a replay are moved to see what rounding may do; further where there are narrower types."""
GRIDS = (1.25, 1.5, 1.75)
"""What the results of a replay's nodes are multiplied by before they are rounded, and divided by after it, in each of
the replays on moved numbers: a value that is zero but for rounding, or a square of one, is as large as that makes it.
"""
TINY = 1e-30
"""What two results may differ by, whatever they are made of: so far numbers of usual size of 64 bits miss zero."""


def confirm_traces(
    load: Load, traces: Sequence[Trace], folder: Path, seconds: float, mebibytes: int, given: str = "",
    single: Load | None = None,
) -> Confirmation:  # fmt: skip
    """Run the program that `load` imports, and compare it with the recordings of its ranks.

    folder: a new one, which is gone afterwards. seconds: for one launch. mebibytes: for each process. given: a file
    with the numbers that it is run on, and then on numbers beside these, at which data chooses alike; "" for its own.
    single: the single-device program whose numbers these are, which it is held against on others where data decides.
    """
    plan = plan_of(traces, "the program")
    reason = unfit(plan)
    if reason:
        return Confirmation(NOT_RUN, reason)
    folder.mkdir()
    try:
        found = _confirmed(load, plan, folder, seconds, mebibytes, given)
        if single is None or found.how != AGREES or not any(map(decides, traces)) or any(draws_of(plan)):
            return found
        inputs = dict.fromkeys(bound.name for trace in traces for bound in trace.bound if bound.kind == "input")
        both = Both((single, load), plan.devices, tuple(inputs), given, _rounding(plan), plan.ranges)
        shown = otherwise(both, folder / "beside", seconds, mebibytes)
        return found._replace(shown=f"{shown}; {_deciding(traces)}" if shown else "")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _deciding(traces: Sequence[Trace]) -> str:
    steps = (step for trace in traces for step in trace.steps if step.op == DECISION)
    read = dict.fromkeys(step.name.removeprefix(f"{DECISION} ") for step in steps)
    more = f" and {len(read) - MOST_TOLD} more" if len(read) > MOST_TOLD else ""
    return f"what decides is read at {', '.join([*read][:MOST_TOLD])}{more}"


def unfit(plan: Plan) -> str:
    """Why a recording cannot be held against a run: a clause, or "" where it can."""
    if too_many(plan.devices):
        return too_many(plan.devices)
    elements = sum(prod(stop - start for start, stop in tensor.region) for tensor in plan.tensors)
    if elements > MOST_ELEMENTS:
        return f"its ranks compute {elements:,} numbers, and programs of up to {MOST_ELEMENTS:,} are run"
    nodes = [node for segment in plan.segments for node in segment.nodes if node.op in (UNMODELLED, UNSAID)]
    if nodes:
        return f"its recording holds what is not modelled ({dict(nodes[0].attrs)['reason']})"
    if check_effects(plan, RULES):
        return "what its ranks read depends on how fast they are"
    programs = [program(plan, calls) for calls in plan.programs]
    if lockstep(programs, Handlers(*[lambda *_: None] * 4)).stuck:
        return "its ranks wait for each other"
    return ""


def _confirmed(
    load: Callable[[], Any], plan: Plan, folder: Path, seconds: float, mebibytes: int, given: str
) -> Confirmation:
    kept = any(node.op == DRAW for segment in plan.segments for node in segment.nodes)
    both = {number: Run(draw, draw != OWN, kept) for number, draw in enumerate(DRAWS)}
    if given:
        both = {number: Run(OWN, draw != OWN, kept, given, draw * MOVED) for number, draw in enumerate(DRAWS)}

    def launched(name: str, runs: Mapping[int, Run]) -> Ended:
        return launch(partial(run, load, plan.devices, runs, seconds), plan.devices, folder / name, seconds, mebibytes)

    ended = launched("both", both)
    first, second = (ran_in(folder / "both", plan.devices, number) for number in both)
    if first is None:
        return _unrun(ended)
    moved = first_in(folder / "both", plan.devices)
    if moved is None:
        ended = launched("first", {})
        moved = first_in(folder / "first", plan.devices)
    if moved is None or moved:
        return Confirmation(STARTS, moved[0]) if moved else _unrun(ended)
    outside = _outside(plan, first)
    if outside:
        return Confirmation(BEYOND, outside)
    otherwise = _drawn_otherwise(plan, first)
    if otherwise:
        return Confirmation(OTHERWISE, otherwise)
    differs = _difference(plan, first)
    if given and not differs and (second is None or _difference(plan, second) == CHOSEN):
        return Confirmation(AGREES, ALONE, tuple(differing(first)))
    if second is None or _drawn_otherwise(plan, second, states=False) or _difference(plan, second):
        ended = launched("again", {1: both[1]})
        second = ran_in(folder / "again", plan.devices, 1)
    if second is None:
        return _unrun(ended)
    otherwise = _drawn_otherwise(plan, second, states=False)
    if otherwise:
        return Confirmation(OTHERWISE, otherwise)
    differs = differs or _difference(plan, second)
    different = tuple(differing(first))
    unseeded = tuple(text for text in differing(second) if not different)
    return Confirmation(DIFFERS if differs else AGREES, differs, different, unseeded)


def _outside(plan: Plan, ran: Sequence[Ran]) -> str:
    """The first number that a rank was given and that its stated range leaves out, as a clause; "" where none is."""
    for name, low, high in plan.ranges:
        for rank, each in enumerate(ran):
            found = beyond(each.given[name], low, high) if name in each.given else None
            if found is not None:
                return f"that of {name} is {said(low, high)}, and it holds {found} on rank {rank}"
    return ""


def _unrun(ended: Ended) -> Confirmation:
    return Confirmation({"cannot": NOT_RUN, "late": NOT_RUN, "well": FAILS}.get(ended.how, ended.how), ended.why)


def _difference(plan: Plan, ran: Sequence[Ran]) -> str:
    """The first tensor and rank that hold something else than the replay says, as a clause; "" where none does."""
    for device, each in enumerate(ran):
        stated = {end_name for rank, end_name in _declared(plan) if rank == device}
        for name, value in each.held.items():
            kept = each.given.get(name.removesuffix(".updated"))
            if name in stated or (kept is not None and name.endswith(".updated") and same(kept, value)):
                continue
            what = "changes" if name.endswith(".updated") else "has"
            return f"rank {device} {what} {name.removesuffix('.updated')}, of which its recording says nothing"
        for name in sorted(stated - each.held.keys()):
            return f"rank {device} has no {name}, which its recording has"
    try:
        found, exact = (_replayed(plan, ran, double) for double in (False, True))
    except ChosenOtherwise:
        return CHOSEN
    except UsageError as error:
        return f"the recordings cannot be replayed: {error.problem}"
    moved: list[Mapping[Any, Any]] = []
    for (device, name), value in found.items():
        real = ran[device].held[name]
        if real.shape != value.shape:
            return f"rank {device} holds {name} of shape {list(real.shape)}, its recording {list(value.shape)}"
        if _close(real, value, [exact[device, name]]):
            continue
        moved = moved or list(_moved(plan, ran))
        if not _close(real, value, [exact[device, name], *(each[device, name] for each in moved)]):
            return f"rank {device} holds other numbers in {name} than its recording computes ({_worst(real, value)})"
    return ""


def _moved(plan: Plan, ran: Sequence[Ran]) -> Iterator[Mapping[Any, Any]]:
    """What the recordings compute of numbers beside those that each rank was given, each time rounded otherwise, where
    data chooses alike there.
    """
    small = max(SMALL, _rounding(plan) / 4)
    for grid, step in zip(GRIDS, (small, -small, 3 * small), strict=True):
        try:
            yield _replayed(plan, ran, True, step, grid)
        except ChosenOtherwise:
            continue


def _rounding(plan: Plan) -> float:
    """The rounding of the narrowest type of real numbers in a plan, of a number."""
    types = {getattr(torch, each.dtype, None) for each in plan.logicals}
    return max([0.0, *(float(torch.finfo(each).eps) for each in types if each and each.is_floating_point)])


def _drawn_otherwise(plan: Plan, ran: Sequence[Ran], states: bool = True) -> str:
    """Which draw of a run is another one than was recorded, as a clause; "" where none is. states: whether the
    generators were those that the recording began with.
    """
    for draw in draws_of(plan):
        number, drawn = int(str(draw.attrs["number"])), ran[draw.device].drawn
        if len(drawn) < number or tuple(drawn[number - 1][1].shape) != draw.shape:
            return f"draw {number} of rank {draw.device} is not there"
        if states and drawn[number - 1][0] != draw.state:
            return f"draw {number} of rank {draw.device}, of {draw.module}, is from another state"
    return ""


def _declared(plan: Plan) -> Iterator[tuple[int, str]]:
    for end in plan.declared:
        yield end.device, plan.logicals[plan.tensors[end.tensor].logical].name


def _replayed(
    plan: Plan, ran: Sequence[Ran], double: bool, moved: float = 0.0, grid: float | None = None
) -> dict[tuple[int, str], Any]:
    """What the recordings compute of what each rank was given, moved by a part of itself."""

    def given(device: int, tensor: int, name: str) -> Any:
        value = ran[device].given[name].clone()
        if not moved or not value.is_floating_point():
            return value
        noise = torch.rand(value.shape, generator=torch.Generator().manual_seed(len(name)), dtype=torch.float64)
        return value.double() * (1 + moved * (noise - 0.3))

    with torch.no_grad():
        return replay_held(plan, given, double, lambda device, number: ran[device].drawn[number - 1][1], grid)


def _close(real: Any, value: Any, others: Sequence[Any]) -> bool:
    """Whether two results differ by no more than rounding, of which the other replays show what it may do."""
    if not real.is_floating_point() and not real.is_complex():
        return bool(torch.equal(real.to(value.dtype), value))
    step = torch.finfo(real.dtype).eps
    real, value, others = real.double(), value.double(), [other.double() for other in others]
    finite = value[value.isfinite()].abs()
    size = float(finite.max()) if finite.numel() else 0.0
    apart = torch.stack([(other - value).abs().nan_to_num(0.0, 0.0) for other in others]).amax(0)
    usual = float(apart.reshape(-1).quantile(0.9)) if 0 < apart.numel() < 2**24 else 0.0
    bound = 64 * apart + 16 * usual + 256 * step * size + TINY
    same = (real == value) | (real.isnan() & value.isnan())
    return bool((same | ((real - value).abs() <= bound)).all())


def _worst(real: Any, value: Any) -> str:
    gap = (real.double() - value.double()).abs().nan_to_num(float("inf")).reshape(-1)
    at = int(gap.argmax())
    return f"{float(real.reshape(-1)[at]):.6g}, and {float(value.reshape(-1)[at]):.6g}"
