"""Stages: what is proved at once. Equal stages are one obligation, whichever layer or rank they come from."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from verdict.lineage import Law, Lineages, LinearLaw, Member, Place, Signature, SumLaw, mean
from verdict.lineage.columns import SUMMED


class Members(NamedTuple):
    """All ways in which the parallel plan computes shares of one single-device node."""

    signature: Signature
    members: tuple[Member, ...]


Stage = Members | Law
"""A canonical stage. It names no tensor, no rank and no layer, so that equal ones are proved once."""


class Occurrence(NamedTuple):
    """A stage of the plan: which single-device node, and which parallel nodes compute each member."""

    partner: int
    stage: Members
    places: tuple[tuple[Place, ...], ...]


@dataclass(frozen=True, slots=True)
class Cut:
    """The stages of a plan. occurrences: every stage. questions: what is proved, in a stable order; the
    distinct stages, each once, or all of them where every stage is to be proved by itself. columns: of the batch.
    """

    occurrences: tuple[Occurrence, ...]
    questions: tuple[Stage, ...]
    columns: int = 1


def cut(walks: Sequence[Lineages], every: bool = False) -> Cut:
    """Cut the walked columns of a plan into stages, one for each single-device node and column.

    every: ask every stage, and not only the distinct ones.
    """
    occurrences: list[Occurrence] = []
    asked: list[Stage] = []
    for lineages in walks:
        found, questions = _cut_one(lineages)
        occurrences.extend(found)
        asked.extend(questions if every else {id(stage): stage for stage in questions}.values())
    columns = walks[0].reference.columns if walks else 1
    return Cut(tuple(occurrences), tuple(asked) if every else tuple(dict.fromkeys(asked)), columns)


def _cut_one(lineages: Lineages) -> tuple[list[Occurrence], list[Stage]]:
    """The stages of one column; equal ones are one object."""
    reference = lineages.reference
    ranked = sorted(range(len(lineages.distinct)), key=lambda number: _order(lineages.distinct[number]))
    rank = {number: place for place, number in enumerate(ranked)}
    stages: dict[tuple[int, ...], tuple[Members, tuple[Law, ...]]] = {}
    occurrences: list[Occurrence] = []
    questions: list[Stage] = []
    for partner, members in lineages.members.items():
        numbers = tuple(sorted(members, key=rank.__getitem__))
        if numbers not in stages:
            signature = reference.partners[partner].signature
            stage = Members(signature, tuple(lineages.distinct[number] for number in numbers))
            laws = column_laws(signature, reference.columns) if reference.columns > 1 else ()
            stages[numbers] = (stage, laws)
        stage, laws = stages[numbers]
        occurrences.append(Occurrence(partner, stage, tuple(members[number] for number in numbers)))
        questions.extend((stage, *laws))
    questions.extend(sorted(lineages.laws, key=repr))
    return occurrences, questions


def column_laws(signature: Signature, columns: int) -> tuple[Law, ...]:
    """The laws by which the columns of a node's outputs add up to the whole."""
    meaning = mean(signature, columns)
    if meaning.problem or SUMMED not in meaning.columns:
        return ()
    if meaning.column_atom is None:
        return (LinearLaw(signature, tuple(sorted(meaning.summands))),)
    return tuple(
        SumLaw(signature, k, meaning.column_atom, ())
        for k, column in enumerate(meaning.columns)
        if column == SUMMED and signature.wanted[k]
    )


def _order(member: Member) -> tuple[str, ...]:
    return (repr(member.regions), repr(member.attrs), repr(member.claims))
