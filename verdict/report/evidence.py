"""What a proof must establish, and what it has established: PROVED is built of these, and never what is left over."""

from typing import NamedTuple

from verdict.report.questions import NOT_DECLARED, NOT_ESTABLISHED, NOTHING_TO_COMPARE


class Open(NamedTuple):
    """Something that was neither proved nor refuted: where, why, and which kind of question it is (`QUESTIONS`)."""

    where: str
    reason: str
    code: str


class Due(NamedTuple):
    """What must be established before anything is PROVED.

    outputs: the declared outputs of the parallel plan in words, in the order of `Plan.declared`; each is due on every
    rank that stands for its device. uncovered: declared outputs of the single-device plan of which the parallel plan
    does not declare all elements.
    """

    outputs: tuple[str, ...] = ()
    uncovered: tuple[str, ...] = ()


class Evidence(NamedTuple):
    """What was established. outputs: places in `Due.outputs`. by: the engine that did it. layers: how many of how many
    equal layers were looked at, where that tells of all; of none where all of the plans was.
    """

    outputs: frozenset[int] = frozenset()
    by: str = ""
    layers: tuple[int, int] = (0, 0)


def lacking(due: Due, evidence: Evidence) -> tuple[Open, ...]:
    """What is due and was not established."""
    if not due.outputs:
        return (Open("the parallel plan", "it declares no output that could be compared", NOTHING_TO_COMPARE),)
    covered = tuple(Open(name, "the parallel plan does not declare all of it", NOT_DECLARED) for name in due.uncovered)
    missing = [name for place, name in enumerate(due.outputs) if place not in evidence.outputs]
    return (*covered, *(Open(name, "nothing establishes what it holds", NOT_ESTABLISHED) for name in missing))
