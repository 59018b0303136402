"""The command line as a user meets it: statuses, messages, formats, aliases."""

import csv
import json
import lzma
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
import z3
from click.testing import CliRunner

from tests.process import SMALL, verdict
from verdict.cli import cli
from verdict.errors import UsageError

ROOT = Path(__file__).resolve().parents[1]
SINGLE = str(ROOT / "data" / "llama3" / "single.plan")
PARALLEL = str(ROOT / "data" / "llama3" / "parallel.plan")


def in_a_process(*arguments: str) -> subprocess.CompletedProcess[str]:
    """A process of its own, as a shell begins it."""
    return subprocess.run(
        [sys.executable, "-m", "verdict", *arguments], capture_output=True, text=True, cwd=ROOT, check=False
    )


def wrong_plan(folder: Path) -> str:
    """The shipped plan with the first all-reduce of the forward pass left out: its result is its input."""
    lines = Path(PARALLEL).read_text().splitlines()
    place = next(k for k, line in enumerate(lines) if "= all_reduce(" in line and "replicas" not in line)
    lines[place] = lines[place].replace("all_reduce", "identity").split(" ranks=")[0]
    path = folder / "wrong.plan"
    path.write_text("\n".join(lines) + "\n")
    return str(path)


def test_a_right_plan_is_proved_and_says_what_it_rests_on() -> None:
    run = in_a_process("--sm", SINGLE, "--pm", PARALLEL)
    assert (run.returncode, run.stderr) == (0, "")
    assert run.stdout.startswith("PROVED")
    assert "real-arithmetic" in run.stdout
    assert "shape-reduction" in run.stdout


def test_a_wrong_plan_is_refuted(tmp_path: Path) -> None:
    run = in_a_process("--sm", SINGLE, "--pm", wrong_plan(tmp_path))
    assert run.returncode == 1
    assert run.stdout.startswith("REFUTED")
    assert "error[missing-reduction]" in run.stdout


def test_an_unknown_operator_is_unknown(tmp_path: Path) -> None:
    for path in (SINGLE, PARALLEL):
        text = Path(path).read_text().replace(" silu(", " frobnicate(").replace(" silu.grad(", " frobnicate.grad(")
        (tmp_path / Path(path).name).write_text(text)
    run = verdict("--sm", str(tmp_path / "single.plan"), "--pm", str(tmp_path / "parallel.plan"))
    assert run.returncode == 3
    assert "operator frobnicate has no rule" in " ".join(run.stdout.split())


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--pm", PARALLEL], "--sm (the single-device plan) is missing"),
        (["--sm", SINGLE], "--pm (the parallel plan) is missing"),
        (["--sm", "nowhere", "--pm", PARALLEL], "nowhere: the file cannot be read: no such file or directory"),
        (["--sm", PARALLEL, "--pm", SINGLE], "give the single-device plan to --sm"),
        (["--sm", SINGLE, "--pm", __file__], "test_cli.py: not a plan"),
        (["--sm", SINGLE, "--pm", PARALLEL, "--assume", "luck"], "there is no assumption luck"),
        (["--sm", SINGLE, "--pm", PARALLEL, "--deny-assumption", "luck"], "there is no assumption luck"),
        (["--sm", SINGLE, "--pm", PARALLEL, "--output", "/nowhere/report"], "the report cannot be written"),
        (["--sm", SINGLE, "--pm", PARALLEL, "--stats", "/nowhere/stats"], "the statistics cannot be written"),
        (["--sm", SINGLE, "--pm", PARALLEL, "--workers", "0"], "0 is not in the range"),
        (["--frobnicate"], "No such option"),
        (["frobnicate"], "there is no such command"),
        (["generate", "llama3", "--heads", "4", "--tp", "3", "-o", "/tmp"], "left without a share"),
    ],
)
def test_a_question_that_cannot_be_put_is_one_sentence(arguments: list[str], sentence: str) -> None:
    run = verdict(*arguments)
    assert run.returncode == 2
    assert sentence in run.stderr
    assert "Traceback" not in run.stderr


def test_plans_of_different_models_are_refused(tmp_path: Path) -> None:
    assert verdict("generate", "mlp", "-o", str(tmp_path)).returncode == 0
    run = verdict("--sm", SINGLE, "--pm", str(tmp_path / "parallel.plan"))
    assert run.returncode == 2
    assert "must come from the same model" in run.stderr


def test_plans_with_other_batches_are_refuted(tmp_path: Path) -> None:
    sizes = ["--layers", "2", "--hidden", "64", "--heads", "4", "--seq", "16", "--vocab", "128", "--ffn", "96"]
    assert verdict("generate", "llama3", *sizes, "--batch", "16", "--dp", "2", "-o", str(tmp_path)).returncode == 0
    run = verdict("--sm", SINGLE, "--pm", str(tmp_path / "parallel.plan"))
    assert run.returncode == 1
    assert "error[batch-mismatch]" in run.stdout


def report(*arguments: str) -> dict[str, Any]:
    run = verdict("--format", "json", *arguments)
    data: dict[str, Any] = json.loads(run.stdout)
    assert data["timings"].pop("total") > 0
    del data["timings"], data["peak_memory_mib"]
    return data


def test_json_is_versioned_and_the_same_for_any_number_of_workers(tmp_path: Path) -> None:
    one = report("--sm", SINGLE, "--pm", PARALLEL, "--workers", "1")
    assert one == report("--sm", SINGLE, "--pm", PARALLEL, "--workers", "3")
    assert {"version", "verdict", "findings", "assumptions", "stages"} <= one.keys()
    assert one["verdict"] == "PROVED"
    assert 0 < one["stages"]["distinct"] < one["stages"]["total"]
    wrong = wrong_plan(tmp_path)
    two = report("--sm", SINGLE, "--pm", wrong, "--workers", "1")
    assert two == report("--sm", SINGLE, "--pm", wrong, "--workers", "2")
    assert two["verdict"] == "REFUTED"
    assert all({"code", "title", "where"} <= finding.keys() for finding in two["findings"])


def test_a_report_goes_to_a_file_and_statistics_are_appended(tmp_path: Path) -> None:
    to, stats = tmp_path / "report.json", tmp_path / "stats.csv"
    for _ in range(2):
        run = verdict(
            *SMALL, "--format", "json", "--output", str(to), "--stats", str(stats)
        )
        assert (run.returncode, run.stdout) == (0, "")
    assert json.loads(to.read_text())["verdict"] == "PROVED"
    with open(stats, newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["verdict"] for row in rows] == ["PROVED", "PROVED"]
    assert float(rows[0]["t_total"]) > 0
    assert rows[0]["ranks"] == "8"


def test_the_predecessors_spellings_are_accepted() -> None:
    run = verdict(
        *SMALL, "--seed", "0", "--time", "--max_ser_proc", "30", "--max_vrf_proc", "2",
        "--loglevel", "INFO", "--no_cache_nodes", "--no_cache_stages",
    )  # fmt: skip
    assert run.returncode == 0


def test_quiet_is_one_line() -> None:
    assert len(verdict(*SMALL, "-q").stdout.splitlines()) == 1


@pytest.mark.parametrize(
    ("what", "line"), [("nodes", "segment"), ("lineages", "device 0 tensor"), ("stages", "proved as")]
)
def test_dumps_come_before_the_report(what: str, line: str) -> None:
    run = verdict(*SMALL, "--dump", what)
    assert run.returncode == 0
    assert line in run.stdout.split("PROVED")[0]


def test_a_denied_assumption_is_a_failure() -> None:
    run = verdict(*SMALL, "--deny-assumption", "real-arithmetic")
    assert run.returncode == 1
    assert "error[assumption-denied]" in run.stdout


def test_compressed_plans_are_read_whatever_their_names(tmp_path: Path) -> None:
    packed = tmp_path / "plan.txt"
    packed.write_bytes(lzma.compress(Path(SMALL[1]).read_bytes()))
    assert verdict(SMALL[0], str(packed), "-q").returncode == 0


def test_the_shipped_pair_is_what_the_generator_makes(tmp_path: Path) -> None:
    sizes = {
        "layers": 2, "hidden": 64, "heads": 4, "seq": 16, "batch": 8, "vocab": 128, "ffn": 96,
        "dp": 2, "tp": 2, "pp": 2, "microbatches": 2,
    }  # fmt: skip
    options = [word for name, size in sizes.items() for word in (f"--{name}", str(size))]
    assert verdict("generate", "llama3", *options, "-o", str(tmp_path)).returncode == 0
    assert (tmp_path / "single.plan").read_text() == Path(SINGLE).read_text()
    assert (tmp_path / "parallel.plan").read_text() == Path(PARALLEL).read_text()


def test_the_small_pair_is_what_the_generator_makes(tmp_path: Path) -> None:
    assert verdict("generate", "mlp", "--hidden", "64", "--ffn", "96", "-o", str(tmp_path)).returncode == 0
    for path in map(Path, SMALL):
        assert (tmp_path / path.name).read_text() == path.read_text()


def test_help_names_the_exit_statuses() -> None:
    run = verdict("--help")
    assert run.returncode == 0
    assert "Exit status" in run.stdout


@pytest.mark.skipif(find_spec("cvc5") is None, reason="cvc5 is not installed")
def test_two_solvers_are_counted_in_the_report() -> None:
    run = verdict("--sm", SINGLE, "--pm", PARALLEL, "--solver", "both", "--format", "json")
    data = json.loads(run.stdout)
    for counts in (data["solvers"]["z3"], data["solvers"]["cvc5"]):
        assert counts["unsat"] == counts["obligations"] == data["stages"]["distinct"] + data["stages"]["laws"]


def test_a_solver_that_is_not_installed_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("verdict.solver.solvers.find_spec", lambda name: None if name == "cvc5" else name)
    run = CliRunner().invoke(cli, ["--sm", SINGLE, "--pm", PARALLEL, "--solver", "both"])
    assert isinstance(run.exception, UsageError)
    assert str(run.exception) == "--solver: cvc5 is not installed (python -m pip install 'verdict-parallel[cvc5]')"


def test_dumped_obligations_are_scripts_that_any_solver_reads() -> None:
    run = verdict("--sm", SINGLE, "--pm", PARALLEL, "--dump", "obligations", "-q")
    assert run.returncode == 0
    scripts = run.stdout.split("(reset)")[:-1]
    assert len(scripts) > 50
    for script in scripts[:5]:
        solver = z3.Solver()
        solver.from_string(script)
        assert solver.check() == z3.unsat


def test_a_piped_run_tells_of_each_phase_in_one_line() -> None:
    told = in_a_process("--sm", SINGLE, "--pm", PARALLEL, "-v").stderr.splitlines()
    phases = [line.split(":")[0] for line in told]
    assert phases == ["load", "check", "lineage", "stage", "prove", "report", "repair", "report"]
    assert re.search(r" s, (\d+) of \1 KiB$", told[0])
    done, total = re.findall(r" s, (\d+) of (\d+) stages$", told[4])[0]
    assert int(done) == int(total) > 1
    assert verdict(*SMALL).stderr == ""
