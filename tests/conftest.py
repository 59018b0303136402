"""What tests of several rooms ask pytest for."""

import gc
import os
import resource
import signal
import sys
from contextlib import suppress
from ctypes import CDLL
from functools import cache
from pathlib import Path

import pytest

from tests import few
from tests.warm import sessions, shared_by_this_run
from verdict.backends.torch import launch
from verdict.child import keep_freed
from verdict.observer import SILENT
from verdict.outcome import Unknown
from verdict.phases.prove import prove

os.environ.setdefault("OMP_NUM_THREADS", "1")  # the suite has a process for each core
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # its processes are many: what they import is compiled once
sys.dont_write_bytecode = False
keep_freed()
HERE = Path(__file__).resolve().parent
LONG = tuple(f"{HERE / folder}{os.sep}" for folder in ("batches", "torch", "backends/hlo", "campaigns"))
"""Where the files are that take longest."""
MUCH = 64 * 2**20
"""By so many bytes a process is larger than when what nobody holds was last looked for, when it is again."""
HELD = [0]
"""How large it was then."""


def pytest_collection_modifyitems(config, items):
    """What takes longest begins first, so that processes among which files are divided end together."""
    few.leave_out(config, items, HERE)
    items.sort(key=lambda item: not str(item.path).startswith(LONG))


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node):
    """Each process among which tests are divided has found all of them, and tells how many it left out."""
    node.config.stash[few.LEFT_OUT] = getattr(node, "workeroutput", {}).get("left_out", 0)


def pytest_terminal_summary(terminalreporter, config):
    """Tests that were not run are told of."""
    count = config.stash.get(few.LEFT_OUT, 0)
    if count:
        terminalreporter.write_line(f"{count} tests of costly families were left out (VERDICT_WHOLE=tests: all run)")


def pytest_collection_finish(session):
    """Tests make few cycles, and what is imported is none: the collector seldom runs, and looks at what is new."""
    gc.freeze()
    gc.set_threshold(1_000_000, 5, 5)
    HELD[0] = resident()


@pytest.fixture(autouse=True, scope="session")
def torch_imported_once():
    """Each program is recorded in a process of its own; that these import torch, too, is not asked of each test."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(launch, "session", sessions(*shared_by_this_run()))
        yield


@pytest.fixture(autouse=True, scope="module")
def little_kept(request):
    """Of what a file's tests remembered nothing is kept behind them, as what is copied takes time: for each gigabyte
    that this process has, a fifth of a second, for each child that it begins, and the same for its end.
    """
    yield
    for each in vars(request.module).values():
        if hasattr(each, "cache_clear") and each.__module__.startswith("tests."):
            each.cache_clear()
    if resident() - HELD[0] < MUCH:
        return
    gc.collect()
    gc.freeze()
    with suppress(AttributeError):
        CDLL(None).malloc_trim(0)
    HELD[0] = resident()


def resident():
    """The bytes of memory that this process has, where the system tells."""
    with suppress(OSError):
        return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()
    return 0


@pytest.fixture
def heeds_interrupts():
    """What a shell runs in the background ignores interrupts, and so do its children."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@cache
def outcomes_of(columns, solver, exhaustive):
    """What is known of stages, by all that an outcome depends on."""
    return {}


@pytest.fixture
def shared_proofs(monkeypatch):
    """What plans of several tests have in common is proved once. Not for tests that change how anything is proved."""

    def remembered(stages, columns, options, known, observer=SILENT):
        shared = outcomes_of(columns, options.solver, options.exhaustive)
        found = prove(stages, columns, options, {**shared, **known}, observer)
        both = zip(stages, found, strict=True)
        shared.update((stage, outcome) for stage, outcome in both if not isinstance(outcome, Unknown))
        return found

    monkeypatch.setattr(sys.modules["verdict.phases.walk"], "prove", remembered)
