"""A line that runs several times, with attributes that change from run to run: learning rates."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from verdict.graph.sources import in_short
from verdict.sweep.flow import Step
from verdict.sweep.trace import frozen
from verdict.sweep.why.fix import Fix
from verdict.sweep.why.mend import Change, State
from verdict.sweep.why.scene import Scene
from verdict.sweep.why.siblings import Instance, Siblings
from verdict.sweep.why.steps import in_turn
from verdict.sweep.why.words import node_text, ranks_text

MOST_SHOWN = 3
"""Of how many runs the attributes are told."""
Attributes = Mapping[str, Any]


def attributes_of_runs(scene: Scene, state: State, at: Siblings) -> Iterator[Fix]:
    """In every run the attributes that one of the ranks has there, and those of the single-device plan's runs."""
    runs = sorted({run for _, run in at.steps})
    if at.op.startswith("~") or len(runs) < 2:
        return
    own = {place: scene.step(number) for place, number in at.steps.items()}
    for rank in sorted({rank for rank, _ in at.steps}):
        due = {run: own[rank, run] for run in runs if (rank, run) in own}
        yield from _with(scene, state, at, due, "on the other ranks it has")
    same = (step for step in scene.one.steps if (step.op, in_short(step.place.name)) == (at.op, in_short(at.name)))
    single = list(same)
    if len(single) == len(runs):
        yield from _with(scene, state, at, dict(zip(runs, single, strict=True)), "the single-device node has")


def _with(scene: Scene, state: State, at: Siblings, due: Mapping[int, Step], against: str) -> Iterator[Fix]:
    """The steps with the attributes of those that are due in their runs, one run after the other: each goes on from the
    last.
    """
    apart = {
        (rank, run): number
        for (rank, run), number in at.steps.items()
        if run in due and frozen(scene.step(number).attrs) != frozen(due[run].attrs)
    }
    if len({run for _, run in apart}) < 2:
        return
    steps = {place: scene.step(number)._replace(attrs=due[place[1]].attrs) for place, number in apart.items()}
    each = sorted({run for _, run in apart})
    found = in_turn(scene, state, ({p: step for p, step in steps.items() if p[1] == run} for run in each))
    if not found:
        return
    places = sorted(apart, key=lambda place: place[::-1])
    mine = [scene.step(apart[place]).stated for place in _of_one_rank(places)]
    wanted = [due[run].stated for _, run in _of_one_rank(places)]
    names = sorted({k for one, two in zip(mine, wanted, strict=True) for k in one if one[k] != two.get(k)})
    node, where = node_text(scene, scene.step(apart[places[0]])), ranks_text(rank for rank, _ in apart)
    title = f"{node} has {_values(mine, names)} on {where}; {against} {_values(wanted, names)}"
    yield Fix("wrong-constant", title, at, tuple(places), Change(found), help=f"use {_values(wanted, names)}")


def _of_one_rank(places: Sequence[Instance]) -> list[Instance]:
    return [place for place in places if place[0] == places[0][0]]


def _values(runs: Sequence[Attributes], names: Sequence[str]) -> str:
    shown = [" then ".join(repr(attrs.get(name)) for attrs in runs[:MOST_SHOWN]) for name in names]
    return ", ".join(f"{name}={text}" for name, text in zip(names, shown, strict=True))
