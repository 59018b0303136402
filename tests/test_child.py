"""Limited children: copies of a process with one thread, and of one with several, which is never copied, fresh ones."""

import os
import signal
import threading
import time
from pathlib import Path

import pytest

from tests.pairs import load
from verdict import backends, child, verify
from verdict.child import Memory, begin, ended, kill, wait
from verdict.options import Options
from verdict.outcome import Unknown
from verdict.report import Verdict
from verdict.workers import run_all


@pytest.fixture(params=["one thread", "threads"])
def threads(request, monkeypatch):
    """With one thread no fresh process is begun, with several none is copied."""
    if request.param == "one thread":
        monkeypatch.setattr(child, "spawnv_passfds", None)
        yield False
        return
    monkeypatch.setattr(os, "fork", None)
    over = threading.Event()
    other = threading.Thread(target=over.wait)
    other.start()
    yield True
    over.set()
    other.join()


def tell(connection, number):
    connection.send(number + connection.recv())


def test_a_child_answers(threads):
    one = begin(lambda connection: tell(connection, 1))
    one.connection.send(41)
    assert one.connection.recv() == 42
    assert wait(one) == 0


def test_what_fails_has_a_status_and_what_hangs_is_killed(threads, capfd):
    assert wait(begin(lambda _: 1 / 0)) == 1 << 8
    assert "ZeroDivisionError" in capfd.readouterr().err
    hanging = begin(lambda _: time.sleep(60))
    assert ended(hanging) is None
    kill(hanging)
    with pytest.raises(ChildProcessError):
        os.waitpid(hanging.process, 0)


def take(connection):
    try:
        connection.send(len(bytearray(2**30)))
    except MemoryError:
        connection.send("too much")


@pytest.mark.parametrize("counted", [child.SPACE, child.OWN])
def test_the_limit_of_memory_holds(threads, counted):
    one = begin(take, Memory(2**28, counted))
    assert one.connection.recv() == "too much"
    assert wait(one) == 0


def test_a_child_ignores_an_interrupt_and_heeds_the_end(threads):
    one = begin(lambda connection: (connection.send("here"), time.sleep(60)))
    assert one.connection.recv() == "here"
    os.kill(one.process, signal.SIGINT)
    time.sleep(0.2)
    assert ended(one) is None
    os.kill(one.process, signal.SIGTERM)
    assert os.WTERMSIG(wait(one)) == signal.SIGTERM


def double(number):
    if number == 3:
        os._exit(0)
    return 2 * number


def test_a_pool_works_in_either(threads):
    outcomes = run_all(range(1, 5), double, 2, 20.0, 1024, lambda _: None)
    assert outcomes == [2, 4, Unknown("its worker process died"), 8]


def test_plans_are_read_and_verified_in_either(threads, tmp_path):
    single, right = load("missing_reduction").twin()
    backends.save(single, str(tmp_path / "single.plan"))
    backends.save(right, str(tmp_path / "parallel.plan"))
    report = verify(tmp_path / "single.plan", tmp_path / "parallel.plan", Options(workers=2))
    assert report.verdict is Verdict.PROVED


def runs(stat):
    try:
        return stat.read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_a_program_in_a_session_leaves_nothing(tmp_path):
    with child.session(["sh", "-c", "sleep 60 & echo $!; wait"], dict(os.environ), tmp_path / "log") as process:
        deadline = time.monotonic() + 20
        while not (tmp_path / "log").read_text().strip() and time.monotonic() < deadline:
            time.sleep(0.05)
    assert process.returncode == -signal.SIGKILL
    left = Path(f"/proc/{int((tmp_path / 'log').read_text())}/stat")
    while runs(left) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not runs(left)
    with pytest.raises(OSError, match="nowhere"), child.session(["/nowhere"], {}, tmp_path / "log"):
        pass
