"""Runs that confirm a recording: what they find, what they cannot do, and that nothing is left of them."""

import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

from tests.process import verdict  # noqa: E402
from tests.torch.test_recorded import PROGRAMS, ROOT, recorded_here  # noqa: E402
from tests.torch.verdicts import answers  # noqa: E402
from verdict.backends.torch.confirm import GRIDS, unfit  # noqa: E402
from verdict.backends.torch.confirmation import AGREES, HANGS, NOT_CONFIRMED, NOT_RUN, Confirmation, confirmed  # noqa: E402
from verdict.backends.torch.launch import Limits, Target, record_each  # noqa: E402
from verdict.backends.torch.numbers import OWN, drawn  # noqa: E402
from verdict.backends.torch.replay import on_grid, replay_held  # noqa: E402
from verdict.errors import UsageError, VerdictError  # noqa: E402


def run(*builders, world=2, seconds=60.0):
    programs = [(Target(str(PROGRAMS), builder), world) for builder in builders]
    found = record_each(programs, cores=2, limits=Limits(confirm=seconds))
    return [each if isinstance(each, VerdictError) else each.confirmation for each in found]


def test_what_runs_say_of_a_recording():
    right, slow, unsaid = run("build_waited", "build_slow", "build_random", seconds=5.0)
    assert right.how == AGREES
    assert (slow.how, "within 5 s" in slow.why) == (NOT_RUN, True)
    assert (unsaid.how, "not modelled" in unsaid.why) == (NOT_RUN, True)


def test_recordings_that_do_not_fit_together_are_refused():
    (refused,) = run("build_unlike")
    assert "piece: one rank says its shape is [4], another [2] (correct its spec" in str(refused)


def test_limits_hold_for_recordings_and_runs():
    limits = Limits(seconds=8.0, mebibytes=1024, confirm=30.0)
    builders = ("build_waited", "build_endless", "build_huge", "build_huge_run")
    programs = [(Target(str(PROGRAMS), builder), 2) for builder in builders]
    fits, endless, huge, huge_run = record_each(programs, cores=2, limits=limits)
    assert fits.confirmation.how == AGREES
    assert "does not end within 8 s" in str(endless)
    assert "more than 1024 MiB of memory" in str(huge)
    assert (huge_run.confirmation.how, "MemoryError" in huge_run.confirmation.why) == (NOT_RUN, True)


@pytest.mark.parametrize("asked", [False, True])
def test_a_program_is_run_unless_that_is_refused(asked):
    command = ["torch", f"{PROGRAMS}:build_mean", "--world", "2", "-v", "--single", f"{PROGRAMS}:build_mean"]
    ended = verdict(*command, *([] if asked else ["--no-confirm"]))
    assert ended.returncode == 0, ended.stdout
    assert (NOT_CONFIRMED in ended.stdout) is not asked
    assert ("two runs of all ranks on CPUs, on different numbers, agree with it" in ended.stdout) is asked


def test_a_program_that_hangs_is_not_proved():
    found = answers(PROGRAMS, (("build_hangs", "build_single"),))["build_hangs"]
    assert found.verdict == "UNKNOWN"
    assert "programs.py" in found.why
    assert HANGS in found.why


def test_a_plan_says_what_its_runs_say():
    plan = recorded_here("programs", "build_single")
    assert "agree with it" in confirmed(plan, Confirmation(AGREES)).assumptions[0].text
    assert {a.name for a in confirmed(plan, Confirmation(NOT_RUN, "why")).assumptions} > {NOT_CONFIRMED}
    with pytest.raises(UsageError, match=r"not what the program does.*rank 1"):
        confirmed(plan, Confirmation("differs", "rank 1 holds other numbers in x"))


def test_what_is_too_large_is_not_run():
    plan = recorded_here("programs", "build_single")
    assert not unfit(plan)
    wide = plan.tensors[0]._replace(region=((0, 2**13), (0, 2**13)))
    assert "numbers" in unfit(replace(plan, tensors=(wide, *plan.tensors[1:])))


def test_other_roundings_leave_equal_numbers_equal():
    value = torch.randn(1000, dtype=torch.float64) * 1e3
    for scale in GRIDS:
        once = on_grid(value, "float32", scale)
        assert torch.equal(on_grid(once, "float32", scale), once)
        assert 0 < float(((once - value) / value).abs().max()) < 2**-23
    integers = torch.tensor([0.0, 1.0, -3.0, 2.0**30, 1e300], dtype=torch.float64)
    assert torch.equal(on_grid(integers, "float32", GRIDS[0]), integers)
    assert on_grid(value, "float64", GRIDS[0]) is value


def test_other_roundings_show_how_large_is_what_is_zero_but_for_rounding():
    plan = recorded_here("programs", "build_shifted")
    given = {"x": torch.randn(4, 4), "weight": torch.randn(4, 4)}

    def gradient(grid):
        found = replay_held(plan, lambda device, tensor, name: given[name], True, grid=grid)
        return float(found[0, "weight.grad"].abs().max())

    assert gradient(None) < 1e-14
    assert all(1e-10 < gradient(scale) < 1e-5 for scale in GRIDS)


def test_other_numbers_are_alike():
    own = torch.tensor([[0.5, 2.0], [1.5, 4.0]])
    whole = ((0, 2), (0, 2))
    other = drawn("w", own, whole, (2, 2), 1)
    assert bool((other > 0).all())
    assert not torch.equal(other, own)
    assert torch.equal(drawn("w", own, whole, (2, 2), OWN), own)
    ids = torch.arange(6)
    assert sorted(drawn("ids", ids, ((0, 6),), (6,), 1).tolist()) == ids.tolist()
    mask = torch.tensor([0.0, -torch.inf, 0.0, 0.0])
    assert sorted(drawn("mask", mask, ((0, 4),), (4,), 1).tolist()) == sorted(mask.tolist())
    assert bool(drawn("room", torch.tensor([1e30, torch.nan]), ((0, 2),), (2,), OWN).isfinite().all())


@pytest.mark.usefixtures("heeds_interrupts")
@pytest.mark.skipif(not Path("/proc").is_dir(), reason="looks at the processes")
@pytest.mark.parametrize("sign", [signal.SIGTERM, signal.SIGKILL, signal.SIGINT])
def test_a_signal_leaves_neither_processes_nor_folders(sign, tmp_path):
    command = [sys.executable, "-m", "verdict", "torch", f"{PROGRAMS}:build_slow", "--world", "2"]
    command += ["--single", f"{PROGRAMS}:build_single"]
    environment = {**os.environ, "TMPDIR": str(tmp_path), "PYTHONPATH": str(ROOT)}
    process = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    until = time.monotonic() + 90
    while not list(tmp_path.glob("verdict-capture-*/*-runs/both/store")) and time.monotonic() < until:
        time.sleep(0.1)
    assert any(str(tmp_path) in words for words in commands())
    process.send_signal(sign)
    process.communicate(timeout=60)
    while any(str(tmp_path) in words for words in commands()) and time.monotonic() < until:
        time.sleep(0.1)
    assert not [words for words in commands() if str(tmp_path) in words]
    left = list(tmp_path.iterdir())
    assert not ([path for path in left if list(path.iterdir())] if sign == signal.SIGKILL else left)


WRITES = """
import os, sys, time
from contextlib import suppress
from pathlib import Path
from verdict.backends.torch.worker import _end
folder = Path(sys.argv[1])
if os.fork() == 0:
    for number in range(10**9):
        with suppress(OSError):
            (folder / "runs").mkdir(parents=True, exist_ok=True)
            (folder / "runs" / str(number)).touch()
while not (folder / "runs" / "3000").exists():
    time.sleep(0.01)
_end(folder)
"""


def test_what_is_written_while_all_ends_is_gone_too(tmp_path):
    folder = tmp_path / "folder"
    command = [sys.executable, "-c", WRITES, str(folder)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    subprocess.run(command, check=False, env=environment, start_new_session=True, timeout=60)
    until = time.monotonic() + 30
    while folder.exists() and time.monotonic() < until:
        time.sleep(0.1)
    time.sleep(0.2)
    assert not folder.exists()


def commands():
    """What the running processes were called with."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            found.append(path.read_bytes().replace(b"\0", b" ").decode(errors="replace"))
        except OSError:
            continue
    return found
