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


Stage = Members | SumLaw | LinearLaw
"""A canonical stage. It names no tensor, no rank and no layer, so that equal ones are proved once."""


class Occurrence(NamedTuple):
    """A stage of the plan: which single-device node, and which parallel nodes compute each member."""

    partner: int
    stage: Members
    places: tuple[tuple[Place, ...], ...]


@dataclass(frozen=True, slots=True)
class Cut:
    """The stages of a plan. occurrences: every stage. questions: what is proved, in a stable order; the
    distinct stages, each once, or all of them where every stage is to be proved by itself.
    """

    occurrences: tuple[Occurrence, ...]
    questions: tuple[Stage, ...]


def cut(walks: Sequence[Lineages], every: bool = False) -> Cut:
    """Cut the walked columns of a plan into stages, one for each single-device node and column.

    every: ask every stage, and not only the distinct ones.
    """
    occurrences = []
    asked: list[Stage] = []
    for lineages in walks:
        reference = lineages.reference
        for partner, members in lineages.members.items():
            ordered = tuple(sorted(members, key=_order))
            stage = Members(reference.partners[partner].signature, ordered)
            occurrences.append(Occurrence(partner, stage, tuple(members[member] for member in ordered)))
            asked.append(stage)
            asked.extend(column_laws(stage.signature, reference.columns) if reference.columns > 1 else ())
        asked.extend(sorted(lineages.laws, key=repr))
    return Cut(tuple(occurrences), tuple(asked) if every else tuple(dict.fromkeys(asked)))


def column_laws(signature: Signature, columns: int) -> tuple[Law, ...]:
    """The laws by which the columns of a node's outputs add up to the whole."""
    meaning = mean(signature, columns)
    if meaning.problem or SUMMED not in meaning.columns:
        return ()
    if meaning.column_atom is None:
        positions = tuple(k for k, column in enumerate(signature.columns) if column == SUMMED)
        return (LinearLaw(signature, positions),)
    return tuple(
        SumLaw(signature, k, meaning.column_atom, ())
        for k, column in enumerate(meaning.columns)
        if column == SUMMED and signature.wanted[k]
    )


def _order(member: Member) -> tuple[str, ...]:
    return (repr(member.regions), repr(member.attrs), repr(member.claims))
