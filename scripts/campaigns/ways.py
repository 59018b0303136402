"""One question asked in further ways, which rest on fewer caches, short cuts and budgets, or on one engine alone.

No two ways may decide one pair differently. A way that does not decide is no contradiction: each engine has its reach,
and without short cuts there is often no time. Both are counted, one by one.
"""

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial

from scripts.campaigns.lines import CONTRADICTION, CRASH, FAILURES, Answer, Campaign, Line, TooLong, limited
from verdict.backends.text import write
from verdict.errors import UsageError, VerdictError
from verdict.graph import Plan
from verdict.graph.kept import with_kept
from verdict.options import Options
from verdict.phases import Examined, Query, side_of, walk, with_draws
from verdict.phases.door import admit
from verdict.phases.due import due_of
from verdict.pipeline import decide
from verdict.report import Open, Proofs, Report
from verdict.report.questions import NOT_FOLLOWED

EXHAUSTIVE, WALK, SWEEP = "exhaustive", "walk", "sweep"
WAYS = (EXHAUSTIVE, WALK, SWEEP)
"""EXHAUSTIVE: as `--exhaustive`, on nothing that is known. WALK: the walk alone, on nothing that is known. SWEEP: the
second engine alone, from end to end, exhaustively.
"""
SECONDS = 30
"""Of the processor, for one question in one way."""
UNKNOWN, LIMIT = "UNKNOWN", "LIMIT"
SAME, LESS, MORE, NO_TIME = "same", "not decided", "decided alone", "no time"
FOUND = (SAME, LESS, MORE, NO_TIME, CRASH, CONTRADICTION)
"""What a way says beside the campaign's verdict. LESS: it leaves open what the campaign decides; MORE: it decides what
the campaign leaves open; NO_TIME: it ended at a limit of time or memory.
"""


def in_ways(campaign: Campaign, ways: Sequence[str], options: Options) -> Campaign:
    """The campaign, each question of which is asked in these ways, too."""
    if not ways:
        return campaign
    seconds = campaign.seconds + len(ways) * SECONDS
    return replace(campaign, ask=partial(_ask, campaign, tuple(ways), options), seconds=seconds)


def _ask(campaign: Campaign, ways: Sequence[str], options: Options, number: int) -> Answer | None:
    with limited(campaign.seconds):
        found = campaign.ask(number)
    return found if found is None or found.pair is None else held_against(found, found.pair, ways, options)


def held_against(found: Answer, pair: tuple[Plan, Plan], ways: Sequence[str], options: Options) -> Answer:
    """The answer with what each way says of its pair; a failure where one contradicts it."""
    said = {way: asked(way, pair, options) for way in ways}
    classes = {compared(found.verdict, told) for told in said.values()}
    outcome = next((each for each in (CONTRADICTION, CRASH) if each in classes), found.outcome)
    found = found._replace(ways=json.dumps(said))
    if found.outcome in FAILURES or outcome == found.outcome:
        return found
    texts = {side: write(plan) for side, plan in zip(("single.plan", "parallel.plan"), pair, strict=True)}
    return found._replace(outcome=outcome, files=lambda: texts)


def asked(way: str, pair: tuple[Plan, Plan], options: Options) -> str:
    """What one way says: PROVED, REFUTED, UNKNOWN, REFUSED, CRASH or LIMIT, and behind a colon the first reason."""
    single, parallel = pair
    options = replace(options, exhaustive=way != WALK, most_swept=0 if way == WALK else None)
    query = Query(with_kept(single, parallel), parallel, options, causes=False)
    try:
        with limited(SECONDS):
            *_, report = with_draws(query, partial(_answers, way))
    except (TooLong, MemoryError) as error:
        return f"{LIMIT}: {type(error).__name__}"
    except (UsageError, VerdictError) as error:
        return f"REFUSED: {error}"[:200]
    except Exception as error:
        return f"CRASH: {error!r}"[:400]
    why = [finding.code for finding in report.findings] + [f"{each.where}: {each.reason}" for each in report.unanswered]
    return f"{report.verdict.name}: {next(iter(why), '')}"[:200]


def _answers(way: str, query: Query) -> Iterator[Report]:
    yield decide(query, _unwalked(query) if way == SWEEP else walk(query)).report


def _unwalked(query: Query) -> Examined:
    """What is known before anything is followed: what is wrong with the form, which is all that the walk is asked."""
    admitted, (single, parallel) = admit(query, sound=False), query.values
    if admitted.structural or admitted.binding.findings or admitted.binding.unstated:
        return walk(query)
    open_ = (Open(parallel.source, "it was not walked", NOT_FOLLOWED),)
    sides = side_of(single), side_of(parallel)
    return Examined(Report(*sides, (), open_, (), Proofs(), due=due_of(single, parallel)))


def compared(verdict: str, told: str) -> str:
    """What has become of a question that has this verdict in the campaign, and of which a way told this."""
    said = told.partition(":")[0]
    if CRASH.upper() in (said, verdict):
        return CRASH
    if said == verdict:
        return SAME
    if LIMIT in (said, verdict) or verdict == "TIMEOUT":
        return NO_TIME
    if said == UNKNOWN and verdict != "REFUSED":
        return LESS
    return MORE if verdict == UNKNOWN and said != "REFUSED" else CONTRADICTION


def of_ways(lines: Sequence[Line]) -> str:
    """How often each way says what, in each campaign, as markdown; and one by one what is to be looked at."""
    counts: dict[tuple[str, str], Counter[str]] = {}
    for line in lines:
        for way, told in _said(line).items():
            counts.setdefault((line.campaign, way), Counter())[compared(line.verdict, told)] += 1
    rows = [["campaign", "way", "asked", *FOUND], ["---"] * (3 + len(FOUND))]
    for names, found in sorted(counts.items()):
        rows.append([*names, str(found.total()), *(str(found[each]) for each in FOUND)])
    table = "\n".join("| " + " | ".join(row) + " |" for row in rows)
    looked = [told for line in lines for told in _to_look_at(line)]
    return "\n".join([table, "", *looked]) if counts else ""


def _to_look_at(line: Line) -> Iterator[str]:
    """A sentence for each way that contradicts or crashes, or without short cuts comes to something else in time."""
    for way, told in _said(line).items():
        found = compared(line.verdict, told)
        if found in (CONTRADICTION, CRASH) or (way == EXHAUSTIVE and found in (LESS, MORE)):
            asked_ = f"{line.campaign} {line.seed} {line.number} ({line.name}, {line.kind}: {line.description})"
            yield f"- {found}: {asked_} {line.verdict} ({line.reasons}), {line.truth}; {way} {told}"


def _said(line: Line) -> Mapping[str, str]:
    said: dict[str, str] = json.loads(line.ways) if line.ways else {}
    return said
