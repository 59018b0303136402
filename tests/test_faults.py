"""Faults of the machine: the verdict is right, unknown, or a sentence with status 2; nothing hangs or stays behind."""

import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from tests.builders import mlp
from tests.process import SMALL
from verdict.options import Options, SolverOptions
from verdict.phases import Query, prove, walk
from verdict.pipeline import verify
from verdict.stage import run

ROOT = Path(__file__).resolve().parents[1]
PAIR = ("--sm", str(ROOT / "data" / "llama3" / "single.plan"), "--pm", str(ROOT / "data" / "llama3" / "parallel.plan"))
PATIENCE = 60


pytestmark = pytest.mark.usefixtures("heeds_interrupts")


def start(*arguments, pair=SMALL, **streams):
    command = [sys.executable, "-m", "verdict", *pair, *arguments]
    streams = {"stderr": subprocess.PIPE, **streams}
    return subprocess.Popen(command, cwd=ROOT, text=True, start_new_session=True, **streams)


def group_of(process):
    """The processes of the session that `process` began, those that ended and wait for their parent left out: of
    proc(5), the state and the group that follow a program's name.
    """
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, _, group = path.read_text().rpartition(")")[2].split()[:3]
        except OSError:
            continue
        if int(group) == process.pid and state != "Z":
            found.append(path.parent.name)
    return found


def has_begun(process):
    """Whether the interpreter is past its own beginning, and Verdict has loaded the solver."""
    return "libz3" in Path(f"/proc/{process.pid}/maps").read_text()


def until(holds):
    """Wait until `holds()`, for a while."""
    end = time.monotonic() + PATIENCE
    while not (held := holds()) and time.monotonic() < end:
        time.sleep(0.05)
    return held


@pytest.fixture
def first_stage(monkeypatch):
    """Have the first stage that is asked do something else in its worker."""

    def replace(what):
        def instead(stage, columns, options, exhaustive=False):
            return what() if stage.signature.op == "relu" else run(stage, columns, options, exhaustive)

        monkeypatch.setattr(prove, "run", instead)

    return replace


@pytest.mark.parametrize(
    ("what", "reason"),
    [
        (lambda: os.kill(os.getpid(), signal.SIGKILL), "its worker process died"),
        (lambda: bytearray(8 << 30), "MiB of memory"),
        (lambda: time.sleep(60), "no answer within"),
    ],
    ids=["killed", "out of memory", "timeout"],
)
@pytest.mark.parametrize("workers", [1, 2])
def test_a_worker_that_fails_leaves_its_stage_unknown_and_the_others_proved(first_stage, what, reason, workers):
    options = Options(workers, 512, solver=SolverOptions(timeout=3, z3=False))
    right = walk(Query(mlp(), mlp(2, 2), options)).report
    first_stage(what)
    report = walk(Query(mlp(), mlp(2, 2), options)).report
    assert (right.verdict.name, report.verdict.name) == ("PROVED", "UNKNOWN")
    assert [reason in item.reason for item in report.open] == [True]
    assert 0 < report.proofs.obligations < right.proofs.obligations


def test_a_fault_and_a_wrong_plan_are_refuted(first_stage):
    first_stage(lambda: os.kill(os.getpid(), signal.SIGKILL))
    halves = mlp(2, 2)
    segments = tuple(
        segment._replace(nodes=tuple(node for node in segment.nodes if "replicas" not in dict(node.attrs)))
        for segment in halves.segments
    )
    wrong = replace(halves, segments=segments)
    report = verify(mlp(), wrong, Options(2, 512, solver=SolverOptions(timeout=3, z3=False)))
    assert report.verdict.name == "REFUTED"
    assert report.open


@pytest.mark.parametrize("everyone", [True, False], ids=["from the terminal", "to the process alone"])
@pytest.mark.parametrize("busy", [1, 3], ids=["reading", "proving"])
def test_an_interrupt_is_one_sentence(everyone, busy):
    process = start("--exhaustive", pair=PAIR, stdout=subprocess.PIPE)
    until(lambda: len(group_of(process)) >= busy and has_begun(process))
    time.sleep(0.3 if busy > 1 else 0)
    (os.killpg if everyone else os.kill)(process.pid, signal.SIGINT)
    out, err = process.communicate(timeout=PATIENCE)
    assert until(lambda: not group_of(process)), "processes are left behind"
    assert (process.returncode, out, err.strip()) == (2, "", "verdict: interrupted; nothing was decided")


def test_an_interrupt_while_an_attribute_of_a_class_is_named_is_one_sentence():
    """Of which the interpreter makes the cause of a RuntimeError."""
    text = """
import builtins, verdict.__main__
class Named:
    def __set_name__(self, owner, name): raise KeyboardInterrupt
brought = builtins.__import__
def bring(name, *more, **named):
    return type("Class", (), {"it": Named()}) if name == "verdict.cli" else brought(name, *more, **named)
builtins.__import__ = bring
verdict.__main__.main()
"""
    run = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=False)
    assert (run.returncode, run.stdout, run.stderr.strip()) == (2, "", "verdict: interrupted; nothing was decided")


def test_a_killed_run_leaves_no_process_behind():
    process = start("--exhaustive", pair=PAIR, stdout=subprocess.PIPE)
    assert until(lambda: len(group_of(process)) >= 3)
    process.kill()
    process.communicate(timeout=PATIENCE)
    assert until(lambda: not group_of(process))


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
@pytest.mark.parametrize("option", ["--output", "--stats", "standard output"])
def test_a_full_disk_is_a_sentence(option):
    with open("/dev/full", "w") as full:
        arguments = (option, "/dev/full") if option.startswith("--") else ()
        process = start(*arguments, stdout=subprocess.PIPE if arguments else full)
        _, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 2
    assert len(err.splitlines()) == 1
    assert "cannot be written: no space left on device" in err.lower()


@pytest.mark.parametrize("option", ["--output", "--stats"])
def test_a_place_that_cannot_be_written_is_a_sentence(option, tmp_path):
    process = start(option, str(tmp_path), stdout=subprocess.PIPE)
    _, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 2
    assert len(err.splitlines()) == 1
    assert "cannot be written" in err


@pytest.mark.parametrize("more", [("--dump", "nodes"), ("--dump", "obligations", "--format", "json")])
def test_a_closed_pipe_is_no_verdict(more):
    process = start(*more, stdout=subprocess.PIPE)
    process.stdout.readline()
    process.stdout.close()
    err = process.stderr.read()
    process.stderr.close()
    assert process.wait(PATIENCE) == 2
    assert err == "verdict: standard output: the report cannot be written: broken pipe\n"


def test_a_closed_pipe_of_both_streams_is_no_verdict():
    process = start("--dump", "nodes", stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    process.stdout.readline()
    process.stdout.close()
    assert process.wait(PATIENCE) == 2


def test_a_closed_standard_error_changes_nothing():
    process = start("-v", stdout=subprocess.PIPE)
    process.stderr.close()
    assert process.stdout.read().startswith("PROVED")
    assert process.wait(PATIENCE) == 0


def test_no_standard_output_at_all_changes_nothing():
    run_ = subprocess.run(
        ["sh", "-c", 'exec "$0" -m verdict "$@" >&-', sys.executable, *SMALL],
        capture_output=True, text=True, cwd=ROOT, check=False,
    )  # fmt: skip
    assert (run_.returncode, run_.stderr) == (0, "")
