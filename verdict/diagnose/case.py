"""A finding on its way: with what it is about, so that those of one cause become one."""

from collections.abc import Hashable, Sequence
from dataclasses import replace
from typing import NamedTuple

from verdict.graph import Node
from verdict.graph.lockstep import attribute
from verdict.outcome import Finding, Refuted, joined
from verdict.stage import Occurrence

STRUCTURE, WALK, END = 0, 1, 2
"""Where a fault is found: in the form and the schedule, in what nodes read and compute, in the results."""


class Wrong(NamedTuple):
    """A refuted stage at one of its occurrences, and which members are wrong for one reason."""

    occurrence: Occurrence
    outcome: Refuted
    members: tuple[int, ...]


class Case(NamedTuple):
    """key: findings with equal keys are one. order: the phase, then the place in the single-device program.

    bases: the single-device values that are wrong. tensors: the logical tensors of the parallel plan concerned.
    names: of the nodes concerned. refuted: where it is a stage that is refuted. op: of the node at which it shows, ""
    for none.
    """

    finding: Finding
    key: Hashable
    order: tuple[int, int]
    bases: frozenset[int] = frozenset()
    tensors: frozenset[int] = frozenset()
    names: frozenset[str] = frozenset()
    refuted: Wrong | None = None
    op: str = ""


def group_kind(node: Node, device: int) -> str:
    """What is wrong with the group of a collective, whichever it is, where its rank is alone in it; else nothing."""
    return "alone" if tuple(attribute(node, "ranks") or ()) == (device,) else ""


def merged(cases: Sequence[Case]) -> Case:
    """One case for all that have one key: the first, with the extent of all."""
    first = min(cases, key=lambda case: case.order)
    finding = joined(first.finding, [case.finding for case in cases if case is not first], _elsewhere(first, cases))
    return first._replace(
        finding=finding,
        bases=frozenset().union(*(case.bases for case in cases)),
        tensors=frozenset().union(*(case.tensors for case in cases)),
        names=frozenset().union(*(case.names for case in cases)),
    )


def attached(case: Case, follower: Case) -> Case:
    """The case with a note of another finding that only follows from it, unless it says the same."""
    found = follower.finding
    if (found.code, found.where) == (case.finding.code, case.finding.where):
        return case
    note = f"follows from it: {found.code}, {found.where}: {found.title}"
    return case._replace(finding=replace(case.finding, notes=(*case.finding.notes, note)))


def _elsewhere(first: Case, cases: Sequence[Case]) -> tuple[str, ...]:
    """A note of the other operators at which the same fault shows."""
    lowest_last = sorted(cases, key=lambda case: case.finding.ranks, reverse=True)
    others = {case.op: case.finding.where for case in lowest_last if case.op != first.op}
    return tuple(f"the same at {where}" for where in others.values())
