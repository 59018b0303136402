"""One rank of a program, run for real: gloo, the tensors' own memory, and nothing of the recording around it."""

import json
import os
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any, NamedTuple

import torch
import torch.distributed as dist

from verdict.backends.torch import environment, groups, premultiplied
from verdict.backends.torch.beginnings import FIRST_SEED
from verdict.backends.torch.door import require_loss, require_program
from verdict.backends.torch.draws import Kept
from verdict.backends.torch.ends import called, ends_of, named
from verdict.backends.torch.first import moved
from verdict.backends.torch.meeting_place import STORE, store_of
from verdict.backends.torch.numbers import Given, drawn, taken
from verdict.backends.torch.program import Context, Load
from verdict.backends.torch.shares import local, share_of
from verdict.backends.torch.step import Step
from verdict.backends.torch.trace import SUFFIXES


class Place(NamedTuple):
    """Which part of a single-device tensor a rank's tensor is."""

    shape: tuple[int, ...]
    region: tuple[tuple[int, int], ...]
    part: tuple[int, int]


@dataclass(frozen=True)
class Ran:
    """What one rank held. By the names of the single-device program.

    places: of inputs and parameters. built: what the parameters held when the program was built. given: what inputs
    and parameters held when the step began. held: what has a name, after it, and ends: the part that it is. drawn: the
    states that random numbers were drawn from in the step, and what was drawn.
    """

    places: Mapping[str, Place]
    built: Mapping[str, Any]
    given: Mapping[str, Any]
    held: Mapping[str, Any]
    ends: Mapping[str, Place]
    drawn: Sequence[tuple[str, Any]] = ()


class Run(NamedTuple):
    """One run of all ranks. draw: of the numbers. seeds: whether the ranks' default generators are seeded, and differ.
    kept: whether what is drawn at random is kept. given: a file with the numbers that the ranks take instead, "" where
    there is none, and by how much these are moved.
    """

    draw: int
    seeds: bool = False
    kept: bool = False
    given: str = ""
    moved: float = 0.0


def run(
    load: Load, ranks: int, runs: Mapping[int, Run], seconds: float, rank: int,
    folder: Path,
) -> None:  # fmt: skip
    """Run the program that `load` imports once for each of `runs`, and write what it held to FOLDER/NUMBER-RANK.pt, and
    of a Step what its parallel model first holds otherwise than its model to FOLDER/RANK.first.
    """
    os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")
    environment.enter(rank, ranks, 1)
    store = store_of(folder / STORE, ranks, seconds)
    dist.init_process_group("gloo", rank=rank, world_size=ranks, store=store, timeout=timedelta(seconds=seconds))
    setattr(groups.OWNER, groups.NAME, groups.of_the_default_backend(getattr(groups.OWNER, groups.NAME)))
    torch.manual_seed(FIRST_SEED)
    build = load()
    for module, name, function in premultiplied.patches():
        setattr(module, name, function)
    for number, each in runs.items():
        if each.seeds:
            torch.manual_seed(number + rank * 1000)
        held = _once(build(Context(rank, ranks)), each)
        torch.save(vars(held), folder / f"{number}-{rank}.part")
        (folder / f"{number}-{rank}.part").rename(folder / f"{number}-{rank}.pt")
    found = list(moved(build, Context(rank, ranks))) if isinstance(build, Step) and ranks > 1 else []
    (folder / f"{rank}.first").write_text(json.dumps(found))


def _once(made: Any, run: Run) -> Ran:
    program = require_program(made)
    params = named(program)
    places, built, given = {}, {}, {}
    others = Given(torch.load(run.given), run.moved) if run.given else None
    shapes = {name: tuple(local(tensor).shape) for name, tensor in params.items()}
    for name, tensor in {**program.inputs, **params}.items():
        shape, region, part, _ = share_of(name, tensor, program.specs.get(name))
        held, title = local(tensor), called(program, name)
        places[title] = Place(shape, region, part)
        if name in params:
            built[title] = held.detach().clone()
        if others is None:
            numbers = drawn(f"{title} {part}", held, region, shape, run.draw)
        else:
            numbers = taken(title, held, region, shape, part, others)
        if not torch.equal(numbers, held.detach()):
            with torch.no_grad():
                held.copy_(numbers)
    for name, tensor in {**program.inputs, **params}.items():
        given[called(program, name)] = local(tensor).detach().clone()
    kept = Kept()
    with kept if run.kept else nullcontext():
        loss = program.step()
    require_loss(loss)
    ended, ends = {}, {}
    for end in ends_of(program, params, shapes, loss):
        shape, region, part, divisor = share_of(end.name, end.tensor, end.share)
        value, title = local(end.tensor).detach().clone(), called(program, end.name) + SUFFIXES.get(end.kind, "")
        ended[title], ends[title] = value / divisor if divisor != 1 else value, Place(shape, region, part)
    return Ran(places, built, given, ended, ends, kept.drawn)


def first_in(folder: Path, ranks: int) -> list[str] | None:
    """What all ranks' parallel models first hold otherwise than the model, of what `run` wrote to a folder: clauses;
    None where one of them did not get so far.
    """
    files = [folder / f"{rank}.first" for rank in range(ranks)]
    if not all(file.is_file() for file in files):
        return None
    return [text for file in files for text in json.loads(file.read_text())]


def ran_in(folder: Path, ranks: int, number: int) -> list[Ran] | None:
    """What all ranks held in a run, of what `run` wrote to a folder; None where one of them did not get to its end."""
    files = [folder / f"{number}-{rank}.pt" for rank in range(ranks)]
    if not all(file.is_file() for file in files):
        return None
    return [Ran(**torch.load(file, weights_only=False)) for file in files]
