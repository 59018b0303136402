"""How far a run is: counts of every long phase with what is left, on a terminal; elsewhere a line a phase."""

import os
import pty
import re
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from verdict.backends import load_all, save
from verdict.backends.generator import Sizes, generate
from verdict.progress import Bar
from verdict.watching import Counts

ROOT = Path(__file__).resolve().parents[1]
EXAMPLES = ROOT / "examples" / "torch"
STYLE = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
LEFT = r"left: (-:--:--|\d+:\d\d:\d\d)"


def on_a_terminal(*arguments: str) -> tuple[int, str, str]:
    """The status of a run whose standard error is a terminal, what it printed, and what it drew."""
    terminal, other = pty.openpty()
    command = [sys.executable, "-m", "verdict", *arguments]
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "120", "PYTHONPATH": str(ROOT)}
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=other, cwd=ROOT, env=environment)
    os.close(other)
    drawn = bytearray()

    def take() -> None:
        while True:
            try:
                drawn.extend(os.read(terminal, 1 << 16))
            except OSError:  # the other end is closed
                return

    taking = threading.Thread(target=take)
    taking.start()
    assert process.stdout is not None
    printed = process.stdout.read().decode()
    status = process.wait(120)
    taking.join()
    os.close(terminal)
    return status, printed, re.sub(" +", " ", STYLE.sub(" ", drawn.decode()))


@pytest.fixture(scope="module")
def sizeable(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    """A pair whose proof takes a second, of some thousand lines."""
    folder = tmp_path_factory.mktemp("plans")
    sizes = Sizes(layers=8, hidden=16, heads=8, seq=16, batch=16, vocab=16, ffn=16, dp=2, tp=8, sp=True, pp=2,
                  microbatches=2, zero=1, optimizer="adamw")  # fmt: skip
    files = (str(folder / "single.plan"), str(folder / "parallel.plan"))
    for plan, file in zip(generate("llama3", sizes), files, strict=True):
        save(plan, file)
    return files


def test_a_terminal_sees_counts_and_what_is_left_of_every_long_phase(sizeable: tuple[str, str]) -> None:
    status, printed, drawn = on_a_terminal(*sizeable, "--workers", "1")
    assert (status, printed[:6]) == (0, "PROVED")
    assert re.search(r"load .* of [\d,]+ KiB", drawn)
    assert re.search(r"lineage .* of [\d,]+ nodes", drawn)
    assert re.search(rf"prove .* of \d+ stages.*{LEFT}", drawn)
    assert re.search(r"left: \d+:\d\d:\d\d", drawn), "nothing was ever said of what is left"
    assert "left:" not in printed


def test_a_terminal_sees_the_claims_of_a_sweep_and_the_ranks_of_a_recording(tmp_path: Path) -> None:
    status, _, drawn = on_a_terminal(
        "capture", f"{EXAMPLES / 'ring_attention.py'}", "--world", "2", "-o", str(tmp_path),
        "--single", f"{EXAMPLES / 'ring_attention.py'}:build_single",
    )  # fmt: skip
    assert status == 0
    assert re.search(rf"recording .*[01] of 3 ranks.*{LEFT}", drawn)
    assert re.search(rf"running .* of 2 programs.*{LEFT}", drawn)
    status, _, drawn = on_a_terminal(str(tmp_path / "single.plan"), str(tmp_path / "parallel.plan"))
    assert status == 0
    assert re.search(rf"sweep .* of \d+ (claims|steps|islands).*{LEFT}", drawn)


def test_what_draws_has_no_thread_that_would_keep_processes_from_being_copied(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal, other = pty.openpty()
    with os.fdopen(other, "w") as stream:
        monkeypatch.setattr(sys, "stderr", stream)
        before = threading.active_count()
        with Bar() as bar:
            bar.begin("sweep")
            for done in range(3):
                bar.advance("sweep", done, 2, "claims")
                time.sleep(0.15)
            assert threading.active_count() == before
    drawn = os.read(terminal, 1 << 16).decode()
    os.close(terminal)
    assert "2 of 2 claims" in drawn


def test_a_pipe_sees_nothing_but_one_line_a_phase_with_its_counts(sizeable: tuple[str, str]) -> None:
    command = [sys.executable, "-m", "verdict", *sizeable, "-q"]
    quiet = subprocess.run(command, cwd=ROOT, text=True, capture_output=True, check=False)
    assert (quiet.returncode, quiet.stderr) == (0, "")
    told = subprocess.run([*command, "-v"], cwd=ROOT, text=True, capture_output=True, check=False).stderr
    assert re.fullmatch(r"([a-z]+: \d+\.\d s(, [\d,]+ of [\d,]+ [A-Za-z]+)*\n)+", told), told
    for phase, counted in (("load", "KiB"), ("lineage", "nodes"), ("prove", "stages")):
        (done, total), *_ = re.findall(rf"^{phase}: .*?([\d,]+) of ([\d,]+) {counted}", told, re.MULTILINE)
        assert done == total


def test_the_reading_of_a_file_is_told_while_it_is_read(sizeable: tuple[str, str]) -> None:
    told: list[tuple[int, int, str]] = []
    load_all(sizeable, lambda *counts: told.append(counts))
    sizes = [-(-os.stat(file).st_size // 1024) for file in sizeable]
    assert {counted for _, _, counted in told} == {"KiB"}
    assert {total for _, total, _ in told} == {sum(sizes)}
    done = [done for done, _, _ in told]
    assert done == sorted(done) and (done[0], done[-1]) == (0, sum(sizes))
    assert len(set(done) - {0, *sizes, sum(sizes)}) > 2


def test_counts_that_begin_anew_go_on() -> None:
    counts = Counts()
    for done, total, counted in (
        (0, 2, "claims"),
        (2, 2, "claims"),
        (0, 3, "claims"),
        (1, 3, "claims"),
        (1, 1, "runs"),
    ):
        counts.advance(done, total, counted)
    assert list(counts.lines()) == ["3 of 5 claims", "1 of 1 runs"]
