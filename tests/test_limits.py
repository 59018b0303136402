"""Limits of the main process: what is decided within them stands, and the rest is UNKNOWN with the limit's name."""

import gc
import json
import resource
import signal
import time
from importlib import import_module

import pytest

from tests.builders import FAST, mlp, rewrite_where
from tests.test_cli import PARALLEL, SINGLE, verdict, wrong_plan
from verdict.limits import Limits, OutOfTime, begin, limited
from verdict.options import Options
from verdict.pipeline import verify
from verdict.report import Verdict

PLAIN, TWIN = mlp(), mlp(tp=2)
WRONG = rewrite_where(TWIN, "relu.grad", lambda node: node._replace(op="identity.grad"), device=1)
NONE = Limits()
story = import_module("verdict.pipeline")


def told(parallel, limits=NONE):
    return verify(PLAIN, parallel, Options(solver=FAST, limits=limits, attempts=None))


def too_late(*arguments, **named):
    raise OutOfTime


def too_much(*arguments, **named):
    raise MemoryError


def test_the_clock_ends_what_runs_too_long():
    before = signal.getsignal(signal.SIGALRM)
    with pytest.raises(OutOfTime), limited(begin(0.05, None)):
        while True:
            time.sleep(0.01)
    assert signal.getsignal(signal.SIGALRM) is before
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)


def test_memory_beyond_the_limit_is_not_given():
    before = resource.getrlimit(resource.RLIMIT_AS)
    with pytest.raises(MemoryError), limited(begin(None, 64)):
        bytearray(2**32)  # more than what tests before may have freed
    assert resource.getrlimit(resource.RLIMIT_AS) == before
    with limited(begin(None, 512)):
        bytearray(256 * 2**20)


def test_nothing_is_limited_where_no_limit_is_set():
    assert told(TWIN).verdict is Verdict.PROVED
    assert told(WRONG).verdict is Verdict.REFUTED


@pytest.mark.parametrize("stop", [too_late, too_much])
@pytest.mark.parametrize("step", ["walk", "decide"])
def test_what_is_ended_before_it_is_decided_is_unknown(step, stop, monkeypatch):
    monkeypatch.setattr(story, step, stop)
    for plan in (WRONG, TWIN) if step == "walk" else (WRONG,):
        report = told(plan, begin(300, 8000))
        assert report.verdict is Verdict.UNKNOWN
        assert "the limit of" in report.open[0].reason


@pytest.mark.parametrize("step", ["explain", "found_repairs"])
def test_what_is_ended_after_it_is_decided_keeps_its_verdict_and_says_so(step, monkeypatch):
    monkeypatch.setattr(story, step, too_late)
    report = told(WRONG, begin(300, 8000))
    assert report.verdict is Verdict.REFUTED
    assert [note.code for note in report.notes] == ["cut-short"]
    assert told(TWIN, begin(300, 8000)).verdict is Verdict.PROVED


def test_the_command_ends_in_time(tmp_path):
    slow = ("--exhaustive", "--workers", "1")
    run = verdict("--sm", SINGLE, "--pm", PARALLEL, *slow, "--time-limit", "0.4", "--format", "json")
    assert run.returncode in (2, 3), run.stderr
    if run.returncode == 3:
        assert "--time-limit" in json.loads(run.stdout)["unknown"][0]["reason"]
    else:
        assert "--time-limit" in run.stderr
    assert "Traceback" not in run.stderr
    assert verdict("--sm", SINGLE, "--pm", wrong_plan(tmp_path), "--time-limit", "300").returncode == 1


@pytest.mark.parametrize("enabled", [True, False])
def test_the_collector_rests_while_a_plan_is_verified_and_is_then_as_before(enabled, monkeypatch):
    seen, before, decide = [], gc.isenabled(), story.decide
    monkeypatch.setattr(story, "decide", lambda *given: seen.append(gc.isenabled()) or decide(*given))
    try:
        (gc.enable if enabled else gc.disable)()
        assert told(TWIN).verdict is Verdict.PROVED
        assert (seen, gc.isenabled()) == ([False], enabled)
        with pytest.raises(KeyboardInterrupt):
            monkeypatch.setattr(story, "decide", lambda *given: (_ for _ in ()).throw(KeyboardInterrupt))
            told(TWIN)
        assert gc.isenabled() == enabled
    finally:
        (gc.enable if before else gc.disable)()


class Slow:
    """Of what is raised while it is deleted nobody hears."""

    def __del__(self):
        time.sleep(0.5)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_the_end_of_the_time_is_said_again_where_it_was_lost():
    started = time.monotonic()
    with pytest.raises(OutOfTime), limited(begin(0.1, 8000)):
        Slow()
        time.sleep(30)
    assert 0.5 < time.monotonic() - started < 15
    assert signal.getitimer(signal.ITIMER_REAL) == (0, 0)
