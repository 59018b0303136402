"""Tasks that kill their process, never end or take all memory cost themselves an answer, and nothing else."""

import os
import signal
import time
from functools import partial
from pathlib import Path
from subprocess import Popen

import pytest

from verdict import workers
from verdict.child import begin, wait
from verdict.outcome import Proved, Refuted, Unknown
from verdict.solver import InternalError
from verdict.workers import GRACE, run_all

QUICK, SMALL = 20.0, 512


def answer(task):
    """The task `n` is proved by n methods; words do what they say."""
    if isinstance(task, int):
        time.sleep(0.01 * (5 - task % 5))
        return Proved((("same", task),))
    if task == "die":
        os.kill(os.getpid(), signal.SIGKILL)
    if task == "exit":
        os._exit(0)
    if task == "sleep":
        time.sleep(60)
    if task == "eat":
        return Proved((("same", len(bytearray(4 * 2**30))),))
    if task == "fail":
        raise SystemError("error return without exception set")
    if task == "nest":
        return answer(task)
    if task == "raise":
        raise InternalError("a bug of ours")
    return Refuted((), ())


def run(tasks, workers, timeout=QUICK, memory=SMALL):
    counted = []
    outcomes = run_all(tasks, answer, workers, timeout, memory, counted.append)
    assert counted == list(range(1, len(tasks) + 1))
    return outcomes


def proved(*numbers):
    return [Proved((("same", number),)) for number in numbers]


@pytest.mark.parametrize("workers", [0, 1, 2, 4])
def test_outcomes_stand_in_the_order_of_the_tasks(workers):
    assert run(range(12), workers) == proved(*range(12))


@pytest.mark.parametrize("workers", [0, 1, 3])
def test_no_tasks_have_no_outcomes(workers):
    assert run([], workers) == []


@pytest.mark.parametrize("word", ["die", "exit"])
@pytest.mark.parametrize("workers", [1, 2, 4])
def test_a_task_that_kills_its_process(word, workers):
    outcomes = run([0, word, 2, 3, word, 5], workers)
    assert [outcomes[k] for k in (0, 2, 3, 5)] == proved(0, 2, 3, 5)
    assert outcomes[1] == outcomes[4] == Unknown("its worker process died")


@pytest.mark.parametrize("workers", [1, 2])
def test_a_task_that_takes_too_much_memory(workers):
    outcomes = run([0, "eat", 2, 3], workers)
    assert [outcomes[k] for k in (0, 2, 3)] == proved(0, 2, 3)
    assert outcomes[1] == Unknown(f"more than {SMALL} MiB of memory were needed")


@pytest.mark.parametrize("workers", [1, 2])
def test_a_task_in_which_python_fails(workers):
    """As where C code gets no memory, and does not say so."""
    outcomes = run([0, "fail", 2, 3], workers)
    assert [outcomes[k] for k in (0, 2, 3)] == proved(0, 2, 3)
    assert outcomes[1] == Unknown("Python itself failed: error return without exception set")


@pytest.mark.parametrize("workers", [0, 1, 2])
def test_a_task_that_is_nested_too_deeply(workers):
    outcomes = run([0, "nest", 2], workers)
    assert [outcomes[k] for k in (0, 2)] == proved(0, 2)
    assert outcomes[1] == Unknown("it is nested more deeply than Python's calls may be")


def test_a_task_that_does_not_end():
    begun = time.monotonic()
    outcomes = run([0, "sleep", 2, 3], 2, timeout=0.2)
    assert time.monotonic() - begun < 0.2 + GRACE + 5
    assert [outcomes[k] for k in (0, 2, 3)] == proved(0, 2, 3)
    assert isinstance(outcomes[1], Unknown)
    assert "0.2 s" in outcomes[1].reason


@pytest.mark.parametrize("workers", [0, 1, 2])
def test_a_bug_of_ours_is_not_an_outcome(workers):
    with pytest.raises(InternalError, match="a bug of ours"):
        run([0, "raise", 2], workers)


def test_a_worker_that_dies_before_it_reads_its_task(monkeypatch):
    """What was sent to it is lost, and its end of the connection is reset, not just closed."""

    def dies():
        time.sleep(0.2)
        os.kill(os.getpid(), signal.SIGKILL)

    monkeypatch.setattr(workers, "keep_freed", dies)
    assert run([0, 1], 2) == [Unknown("its worker process died")] * 2


@pytest.mark.parametrize("answers", [0, 1, 2])
def test_a_worker_whose_parent_goes_ends_in_silence(answers, capfd):
    """Whether or not all its answers were read, as where an interrupt comes between two tasks."""
    child = begin(partial(workers._work, tasks=[5, 5], run=answer, memory_mib=None))
    for index in range(answers):
        child.connection.send(index)
    assert answers == 0 or child.connection.poll(QUICK)
    child.connection.close()
    assert (wait(child), capfd.readouterr().err) == (0, "")


def children():
    """The processes that this one has begun, those among them that have ended and nobody waited for."""
    threads = Path("/proc/self/task").iterdir()
    return {int(child) for thread in threads for child in (thread / "children").read_text().split()}


def test_no_process_is_left_behind():
    before = children()
    with Popen(["true"]) as other:
        assert children() == before | {other.pid}
        run([0, "die", 2], 2)
        assert children() == before | {other.pid}
