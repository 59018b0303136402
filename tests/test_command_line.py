"""The command line's conveniences: plans without options, standard input, nearest names, help, encodings, memory."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.process import SMALL, verdict
from verdict import cli

ROOT = Path(__file__).resolve().parents[1]
SINGLE, PARALLEL = SMALL


def in_a_process(*arguments: str, given: str = "", **environment: str) -> subprocess.CompletedProcess[str]:
    """As a shell runs it."""
    return subprocess.run(
        [sys.executable, "-m", "verdict", *arguments], capture_output=True, input=given, cwd=ROOT, check=False,
        encoding="utf-8", env={**os.environ, **environment},
    )  # fmt: skip


@pytest.mark.parametrize(
    "arguments",
    [
        (SINGLE, PARALLEL, "-q"),
        ("-q", SINGLE, PARALLEL),
        ("-q", "--", SINGLE, PARALLEL),
        (SINGLE, "-q", "--pm", PARALLEL),
    ],
    ids=["first", "last", "behind dashes", "one"],
)
def test_two_files_are_the_two_plans(arguments: tuple[str, ...]) -> None:
    ran = verdict(*arguments)
    assert (ran.returncode, ran.stderr) == (0, "")
    assert ran.stdout.startswith("PROVED")


def test_one_plan_may_come_from_standard_input() -> None:
    for run, arguments, given in (
        (in_a_process, (SINGLE, "-", "-q"), PARALLEL),
        (verdict, ("--sm", "-", "--pm", PARALLEL, "-q"), SINGLE),
    ):
        ran = run(*arguments, given=Path(given).read_text())
        assert (ran.returncode, ran.stderr) == (0, "")
    ran = verdict("-", "-")
    assert (ran.returncode, "given as both plans" in ran.stderr) == (2, True)


def test_a_plan_that_is_run_or_gets_a_fault_may_come_from_standard_input(tmp_path: Path) -> None:
    given = Path(PARALLEL).read_text()
    for arguments in (("run", "-"), ("mutate", "-", "--kinds", "skip-node", "--count", "1", "-o", str(tmp_path))):
        ran = verdict(*arguments, given=given)
        assert (ran.returncode, ran.stderr) == (0, ""), ran.stderr
    assert (tmp_path / "skip-node-0.plan").is_file()


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ((), "--sm SINGLE --pm PARALLEL"),
        ((SINGLE,), "--pm (the parallel plan) is missing"),
        ((SINGLE, PARALLEL, "frobnicate"), "frobnicate: there is no such command or file"),
        (("nowhere.plan", PARALLEL), "nowhere.plan: the file cannot be read"),
        (("generat", "llama3"), "did you mean generate?"),
        (("explain", "missing-reductoin"), "did you mean missing-reduction?"),
        (("mutate", SINGLE, "--kinds", "skip-nod", "-o", "nowhere"), "did you mean skip-node?"),
        ((SINGLE, PARALLEL, "--assume", "chunk-order-by-regio"), "did you mean chunk-order-by-region?"),
        ((SINGLE, PARALLEL, "--deny-assumption", "real-aritmetic"), "did you mean real-arithmetic?"),
        (("bugs", "accelerate-266"), "did you mean accelerate-2665?"),
    ],
)
def test_what_is_misspelled_or_missing_is_told(arguments: tuple[str, ...], sentence: str) -> None:
    ran = verdict(*arguments)
    assert (ran.returncode, ran.stdout) == (2, "")
    assert sentence in ran.stderr
    assert "Traceback" not in ran.stderr


@pytest.mark.parametrize("given", ["nan", "inf", "1e300", "0", "-1"])
@pytest.mark.parametrize(
    "command",
    [(SINGLE, PARALLEL, "--time-limit"), (SINGLE, PARALLEL, "--timeout"), ("jax", "a.py", "--compile-timeout")],
)
def test_seconds_that_no_clock_counts_are_refused(command: tuple[str, ...], given: str) -> None:
    ran = verdict(*command, given)
    assert (ran.returncode, ran.stdout) == (2, "")
    assert f"Invalid value for '{command[-1]}'" in ran.stderr
    assert "Traceback" not in ran.stderr


def test_seconds_that_a_clock_counts_are_taken() -> None:
    assert verdict(SINGLE, PARALLEL, "-q", "--time-limit", "1e6", "--timeout", "1e6").returncode == 0


def test_a_folder_that_cannot_be_made_is_a_sentence() -> None:
    ran = verdict("jax", "a.py", "-o", f"{SINGLE}/below")
    assert (ran.returncode, ran.stdout) == (2, "")
    assert ran.stderr.endswith("below: the folder cannot be made: Not a directory\n")


def test_the_command_line_is_there_without_torch_and_does_not_wait_for_it() -> None:
    code = "import sys, verdict.cli, verdict.torch; sys.exit('torch' in sys.modules)"
    ran = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stderr) == (0, "")


def test_reports_are_utf_8_whatever_the_locale(tmp_path: Path) -> None:
    named = tmp_path / "einzeln-ü.plan"
    named.write_bytes(Path(PARALLEL).read_bytes().replace(b"verdict-plan", b"no plan", 1))
    for locale in ({"LC_ALL": "C"}, {"PYTHONIOENCODING": "ascii"}):
        ran = in_a_process(SINGLE, str(named), **locale)
        assert ran.returncode == 2
        assert "einzeln-ü.plan: not a plan" in ran.stderr


def test_no_memory_is_a_sentence(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def fail(*_: object, **__: object) -> None:
        raise MemoryError

    monkeypatch.setattr(cli, "_main_job", fail)
    monkeypatch.setattr(sys, "argv", ["verdict", SINGLE, PARALLEL])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    assert ended.value.code == 3
    assert capsys.readouterr().err == "verdict: there was no memory left; nothing was decided\n"


def test_an_interrupt_of_what_explains_the_verdict_leaves_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("verdict.pipeline.explain", interrupted)
    monkeypatch.setattr(sys, "argv", ["verdict", SINGLE, PARALLEL])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    told = capsys.readouterr()
    assert (ended.value.code, told.err) == (0, "")
    assert told.out.startswith("PROVED")
    assert "it was interrupted" in told.out


def test_commands_and_options_are_completed() -> None:
    completing = {"_VERDICT_COMPLETE": "bash_complete"}
    command = [sys.executable, "-c", "from verdict.cli import cli; cli(prog_name='verdict')"]
    for words, at, wanted in (("verdict ge", "1", "generate"), ("verdict --deny", "1", "--deny-assumption")):
        ran = subprocess.run(
            command, capture_output=True, text=True, cwd=ROOT, check=False,
            env={**os.environ, **completing, "COMP_WORDS": words, "COMP_CWORD": at},
        )  # fmt: skip
        assert wanted in ran.stdout, ran.stderr


@pytest.mark.parametrize(
    ("choice", "environment", "coloured"),
    [
        ("auto", {}, False),
        ("auto", {"FORCE_COLOR": "1"}, True),
        ("always", {}, True),
        ("never", {"FORCE_COLOR": "1"}, False),
    ],
)
def test_colours_are_for_terminals_or_where_they_are_asked_for(
    choice: str, environment: dict[str, str], coloured: bool
) -> None:
    ran = verdict(SINGLE, PARALLEL, "-q", "--color", choice, **environment)
    assert (ran.returncode, "\x1b[" in ran.stdout) == (0, coloured)


def test_an_operator_that_is_misspelled_is_told_with_the_nearest(tmp_path: Path) -> None:
    for path in (SINGLE, PARALLEL):
        (tmp_path / Path(path).name).write_text(Path(path).read_text().replace(" relu(", " rellu("))
    ran = verdict(str(tmp_path / "single.plan"), str(tmp_path / "parallel.plan"))
    assert ran.returncode == 3
    assert "operator rellu has no rule (did you mean relu?)" in " ".join(ran.stdout.split())
