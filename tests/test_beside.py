"""What a copy of this process does meanwhile is what this one would have done, and no copy is left."""

import os
import signal
import threading
from dataclasses import replace
from pathlib import Path

import pytest

from tests.repair.make import OPTIONS, pair
from tests.repair.test_generated import no_forward_all_reduce
from verdict import pipeline
from verdict.beside import beside
from verdict.pipeline import verify


def die():
    """Only in a copy."""
    if os.getpid() != HERE:
        os.kill(os.getpid(), signal.SIGKILL)
    return "here"


def fail():
    if os.getpid() != HERE:
        raise ValueError("in the copy")
    return "here"


def children():
    """Processes that this one began, and has not seen to end; other tests may have left some."""
    return set(Path(f"/proc/self/task/{threading.get_native_id()}/children").read_text().split())


HERE = os.getpid()
WAYS = {"a copy that is killed": die, "a copy that fails": fail, "no copy": lambda: os.getpid() == HERE and "here"}


@pytest.mark.parametrize("way", WAYS)
def test_what_no_copy_does_is_done_here(way, capfd):
    before = children()
    with beside(WAYS[way], wanted=way != "no copy") as result:
        assert result() == "here"
    assert capfd.readouterr().err == ""
    assert children() == before


def test_a_copy_does_the_work_and_is_gone_when_nobody_asks():
    before = children()
    with beside(os.getpid, wanted=True) as result:
        assert result() != os.getpid()
    with beside(lambda: threading.Event().wait(60), wanted=True):
        assert len(children() - before) == 1
    assert children() == before


def test_a_process_with_threads_is_not_copied():
    done = threading.Event()
    thread = threading.Thread(target=done.wait)
    thread.start()
    try:
        with beside(os.getpid, wanted=True) as result:
            assert result() == os.getpid()
    finally:
        done.set()
        thread.join()


def test_repairs_are_the_same_beside_and_behind_the_questions_to_numbers(monkeypatch):
    single, right = pair()
    wrong = no_forward_all_reduce(right)
    behind = verify(single, wrong, replace(OPTIONS, workers=2))
    monkeypatch.setattr(pipeline, "MANY_NODES", 0)
    asked, search = [], pipeline.found_repairs
    monkeypatch.setattr(pipeline, "found_repairs", lambda *args: (asked.append(args), search(*args))[1])
    found = verify(single, wrong, replace(OPTIONS, workers=2))
    assert not asked, "this process has looked for them itself"
    assert found.repairs == behind.repairs
    assert found.findings == behind.findings
    assert [one.proved for one in found.repairs] == [True]
