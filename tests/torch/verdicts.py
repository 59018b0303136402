"""Verdicts on many programs at once: recorded, run and verified as `verdict torch` does, with one worker for all."""

from collections.abc import Mapping
from functools import cache
from typing import NamedTuple
from zlib import crc32

from tests.builders import EXPLAINED
from tests.sampled import WHOLE
from verdict.backends.text import read, write
from verdict.backends.torch.assemble import plan_of
from verdict.backends.torch.command import behind_choices
from verdict.backends.torch.confirmation import confirmed
from verdict.backends.torch.launch import Limits, Target, record_each
from verdict.errors import VerdictError
from verdict.options import Options
from verdict.pipeline import verify

ALL = "all"
"""Where findings are looked at of each: of all it is asked what makes them wrong."""


class Answer(NamedTuple):
    """verdict: PROVED, REFUTED or UNKNOWN, or "not put". why: what the report finds and leaves open, or the error."""

    verdict: str
    why: str
    report: object = None


class Answers(Mapping):
    """name -> Answer, each found when it is asked for first: what no test that runs looks at costs nothing."""

    def __init__(self, names, found):
        self.names, self.found = names, cache(found)

    def __getitem__(self, name):
        if name not in self.names:
            raise KeyError(name)
        return self.found(name)

    def __iter__(self):
        return iter(self.names)

    def __len__(self):
        return len(self.names)


@cache
def answers(file, pairs, world=2, tensors="fake", confirm=60.0, causes=()):
    """builder -> Answer, for each (builder, single-device builder) of `pairs` of a file. causes: the builders of which
    it is asked, too, what makes them wrong, or ALL: a finding is looked at. Of others one in five is asked.
    """
    single_of = dict(pairs)
    asked = explained(file, list(single_of), causes)
    manner = tensors, Limits(120.0, confirm=confirm)

    def found(name):
        single, parallel = recorded(file, ((single_of[name], 1), (name, world)), *manner)
        return answer(single, parallel, name, name in asked)

    return Answers(tuple(single_of), found)


RECORDED = {}
"""What was recorded of one file: a single-device program once for all that are held against it."""


def recorded(file, programs, tensors, limits):
    """What is recorded of each (builder, number of ranks), or the error that stands in its place."""
    keys = [(file, *program, tensors, limits) for program in programs]
    new = [(key, program) for key, program in zip(keys, programs, strict=True) if key not in RECORDED]
    if new:
        if RECORDED and file != next(iter(RECORDED))[0]:
            RECORDED.clear()
        targets = [(Target(str(file), name), world) for _, (name, world) in new]
        each = record_each(targets, tensors, 2, limits)
        RECORDED.update(zip([key for key, _ in new], each, strict=True))
    return [RECORDED[key] for key in keys]


def explained(file, names, causes):
    """Those of which it is asked, too, what makes them wrong."""
    if causes == ALL or WHOLE:
        return names
    return [name for name in names if name in causes or crc32(f"{file.stem}.{name}".encode()) % EXPLAINED == 0]


def answer(single, parallel, name, causes=True):
    """The answer to one pair of what `record_each` returns."""
    try:
        report = verify(*(plan(each, name) for each in (single, parallel)), Options(), causes=causes)
    except VerdictError as error:
        return Answer("not put", str(error))
    told = [finding.title for finding in report.findings] + [f"{each.where}: {each.reason}" for each in report.open]
    return Answer(report.verdict.name, "; ".join(told), report)


def plan(recorded, name):
    """The plan, through its text; or the error that stands in its place."""
    if isinstance(recorded, Exception):
        raise recorded
    found = confirmed(plan_of(recorded.traces, name), recorded.confirmation, recorded.traces)
    return read(write(found).encode(), name)


@cache
def live_answers(file, single, builders, world=2, confirm=60.0, causes=()):
    """builder -> Answer, where all ranks are recorded together, on the single-device program's numbers. causes: see
    `answers`.
    """
    asked = explained(file, builders, causes)

    def found(name):
        programs = (Target(str(file), single), 1), (Target(str(file), name), world)
        alone, parallel = record_each(programs, "live", 2, Limits(120.0, confirm=confirm))
        return _live_answer(alone, parallel, name, name in asked)

    return Answers(builders, found)


def _live_answer(single, parallel, name, causes):
    if not any(isinstance(each, Exception) for each in (single, parallel)):
        single, parallel = behind_choices([single, parallel])
    return answer(single, parallel, name, causes)
