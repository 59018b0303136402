"""What the runs of a program say of its recording, and what a plan says because of it."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from verdict.backends.torch.assemble import STEP, doubted
from verdict.backends.torch.trace import GIVEN, SEEDED, Trace
from verdict.errors import UsageError
from verdict.graph import Plan
from verdict.graph.schedule import check_schedule
from verdict.outcome import Assumption, Finding

AGREES, DIFFERS, NOT_RUN, HANGS, FAILS = "agrees", "differs", "not run", "hangs", "fails"
MOST_RANKS = 32
"""The most ranks of a program, for it to be run: each is a process of its own on one machine."""
BEYOND = "holds what is in no range that was stated"
OTHERWISE = "draws other random numbers"
STARTS = "begins with other numbers than the model's"
CUT = "correct what cuts or changes it; what each rank has of it on purpose is said in the specs of a Program"
REMEDY = "give a range that has all that the input may hold"
NOT_CONFIRMED = "recording-not-confirmed"
UNSEEDED = "weights-seeded-alike"


class Confirmation(NamedTuple):
    """What the runs of a program say of its recording.

    why: a clause, where it does not agree, or where fewer runs do than usual. apart: replicas of weights that begin the
    step with different values, as clauses. unseeded: weights that do so unless something outside of the program seeds
    the generators of all ranks. shown: what it holds otherwise than the single-device program, on other numbers than
    those of the recording, as a sentence.
    """

    how: str
    why: str = ""
    apart: tuple[str, ...] = ()
    unseeded: tuple[str, ...] = ()
    shown: str = ""


def read_back(told: Sequence[Any]) -> Confirmation:
    """The confirmation that was written as a list."""
    how, why, apart, unseeded, shown = told
    return Confirmation(how, why, tuple(apart), tuple(unseeded), shown)


NOT_ASKED = Confirmation(NOT_RUN, "it was not asked for")


def too_many(ranks: int) -> str:
    """Why a program with so many ranks is not run, as a clause; "" where they are few enough."""
    return f"it has {ranks} ranks, and programs of up to {MOST_RANKS} are run" if ranks > MOST_RANKS else ""


def confirmed(plan: Plan, found: Confirmation, traces: Sequence[Trace] = ()) -> Plan:
    """`plan`, made of the recordings `traces`, with what its runs say of it: as an assumption, or as what is left open.

    Raises UsageError where a run holds something else than the recording, or integers that the program says do not
    occur, or where what parallelizes a model changes it: there is nothing to be said of the program.
    """
    if found.how == BEYOND:
        raise UsageError("Program.ranges", found.why, REMEDY)
    if found.how == STARTS:
        raise UsageError("Step.parallel", found.why, CUT)
    if found.how == DIFFERS and check_schedule(plan):
        found = Confirmation(NOT_RUN, "its ranks call communication that does not fit, of which a run makes anything")
    if found.how == DIFFERS:
        problem = f"the recording is not what the program does when it is run: {found.why}"
        remedy = "something in it cannot be recorded; see docs/pytorch.md, What is recorded"
        raise UsageError(plan.source, problem, remedy)
    if found.shown:
        plan = replace(plan, faults=(*plan.faults, Finding("decides-otherwise", found.shown, plan.source)))
    if found.how == AGREES:
        runs = found.why or "two runs of all ranks on CPUs, on different numbers, agree with it"
        text = f"{STEP.text}; {runs}"
        others = (each for each in plan.assumptions if each.name != STEP.name)
        plan = replace(plan, assumptions=(Assumption(STEP.name, text), *others))
    elif found.how == NOT_RUN:
        text = f"the recording of {plan.source} was not held against a run: {found.why}"
        plan = replace(plan, assumptions=(*plan.assumptions, Assumption(NOT_CONFIRMED, text)))
        found = _told_apart(found, traces)
        plan = doubted(plan, [f"{what} (rank {trace.rank})" for trace in traces for what in trace.heard])
    else:
        plan = doubted(plan, [f"it {found.how} when it is run: {found.why}"])
    if found.unseeded:
        text = f"all ranks are seeded alike outside of the program, without which {found.unseeded[0]}"
        plan = replace(plan, assumptions=(*plan.assumptions, Assumption(UNSEEDED, text)))
    return doubted(plan, [f"{text}, and nobody broadcasts it" for text in found.apart])


def _told_apart(found: Confirmation, traces: Sequence[Trace]) -> Confirmation:
    """What was found, with what the recordings say of how replicas of weights come about."""
    seen: dict[Any, tuple[int, str]] = {}
    known: dict[bool, list[str]] = {True: [], False: []}
    for trace in traces:
        words = dict(trace.beginnings)
        for bound in trace.bound:
            if bound.kind not in GIVEN or bound.name not in words:
                continue
            rank, word = seen.setdefault((bound.name, bound.region, bound.part), (trace.rank, words[bound.name]))
            if word != words[bound.name]:
                text = f"ranks {rank} and {trace.rank} begin with values of {bound.name} that come about differently"
                known[all(each.endswith(SEEDED) for each in (word, words[bound.name]))].append(text)
    return found._replace(apart=tuple(known[True]), unseeded=tuple(known[False]))
