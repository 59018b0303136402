"""The evaluation's scripts: rows with the published columns, verdicts held against what is expected."""

import csv
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("matplotlib", reason="the plots need the extra dev")

from click.testing import CliRunner

from scripts.evaluate import faster
from scripts.generated import generated
from scripts.plot_trends import PANELS, table
from scripts.run_index import right
from scripts.runs import DEMOS, LARGE, SERIES, TARGETS, TRENDS, WORK
from scripts.write_evaluation import main as write_tables
from tests.sampled import sampled

ROOT = Path(__file__).resolve().parents[1]
PUBLISHED = [
    "success",
    "num_layers",
    "num_dp",
    "num_pp",
    "num_tp",
    "num_mb",
    "gbs",
    "num_heads",
    "hidden_size",
    "seqlen",
    "n_activated_experts",
    "n_routed_experts",
    "t_graph",
    "t_lineage",
    "t_schedule",
    "t_vrf",
    "t_total",
    "sm",
    "pm",
    "error",
]


def evaluate(*words):
    command = [sys.executable, str(ROOT / "scripts" / "evaluate.py"), *words]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def rows_of(file):
    with open(file, newline="") as opened:
        return list(csv.DictReader(opened))


@pytest.mark.parametrize("demo", sampled(DEMOS, 1))
def test_a_demonstration_writes_its_rows(demo, tmp_path):
    done = evaluate(demo, "--output", str(tmp_path / "rows.csv"))
    assert done.returncode == 0, done.stderr
    proved, refuted = rows_of(tmp_path / "rows.csv")
    assert list(proved)[: len(PUBLISHED)] == PUBLISHED
    assert (proved["success"], proved["verdict"], proved["error"]) == ("True", "PROVED", "")
    assert (refuted["success"], refuted["verdict"], refuted["error"]) == (
        "False", "REFUTED", {"demo_llama3": "missing-reduction", "demo_moe": "wrong-constant"}[demo],
    )  # fmt: skip
    assert (proved["num_dp"], proved["num_pp"], proved["num_tp"], proved["hidden_size"]) == ("2", "2", "2", "64")
    assert (proved["n_routed_experts"], proved["n_activated_experts"]) == (
        ("16", "4") if demo == "demo_moe" else ("", "")
    )
    assert "PROVED" in done.stdout
    assert "REFUTED" in done.stdout


def test_plans_that_are_not_there_are_told(tmp_path):
    done = evaluate("bugs", "--only", "bug 14", "--plans", str(tmp_path), "--output", str(tmp_path / "rows.csv"))
    assert done.returncode == 1
    assert "1 of 1 plans are not there: they are of the artifact of TrainVerify" in done.stderr
    (row,) = rows_of(tmp_path / "rows.csv")
    assert (row["success"], row["verdict"]) == ("False", "not there")
    assert (row["num_layers"], row["num_mb"], row["seqlen"]) == ("32", "2", "8192")


def test_generated_plans_stand_for_published_ones(tmp_path):
    """On the same meshes; the fault is found."""
    ours = [*generated(WORK["large"])]
    assert [run.sizes["dp"] for run in ours if "L3" in run.name or "D3" in run.name] == [64, 32]
    assert all(run.model and run.expected == "PROVED" for run in ours if not run.change)
    assert len([run for run in generated(WORK["bugs"]) if run.expected == "REFUTED"]) == 14
    words = ("--generated", "--only", "skip-node", "--output", str(tmp_path / "rows.csv"))
    done = evaluate("bugs", *words)
    assert done.returncode == 0, done.stdout + done.stderr
    (row,) = rows_of(tmp_path / "rows.csv")
    assert (row["verdict"], row["num_dp"], row["num_pp"], row["num_tp"]) == ("REFUTED", "2", "2", "2")


def test_the_trends_are_forty_runs_of_which_each_series_changes_one_size():
    assert len(TRENDS) == 40
    assert set(PANELS) == set(SERIES)
    assert len(WORK["bugs"]) == 15
    for size, (_, values) in SERIES.items():
        runs = [run.sizes for run in TRENDS if run.name.split()[0] == size]
        assert [sizes[size] for sizes in runs] == list(values)
        assert len({tuple(sorted((sizes | {size: 0}).items())) for sizes in runs}) == 1


def test_a_trend_is_told_as_ratios():
    *_, line = table({"dp": {2: (4.0, 2.0), 8: (6.0, 2.5)}})
    assert line == "| dp | 2, 8 | 4.0, 6.0 | 2.0, 2.5 | 4, 1.25 |"


def test_every_real_run_has_a_target():
    assert {run.name.split()[0] for run in LARGE if run.pair[0]} == set(TARGETS)
    assert [run.expected for run in WORK["large"] if run.change] == ["REFUTED", "REFUTED"]


def test_of_two_rounds_the_faster_counts_with_the_least_processor_seconds():
    first, second = {"t_total": 3.0, "t_cpu": 5.0, "load": 1}, {"t_total": 2.0, "t_cpu": 6.0, "load": 2}
    assert faster(first, second) == faster(second, first) == {"t_total": 2.0, "t_cpu": 5.0, "load": 2}


def test_tables_are_written_into_pages_and_nothing_else(tmp_path):
    names = [run.name for run in (*LARGE[:1], *LARGE[-1:])]
    columns = dict.fromkeys(("distinct", "t_graph", "memory_mib", "of_floor", "times_faster"), "7")
    row = columns | {"num_dp": "64", "num_pp": "16", "num_tp": "8", "verdict": "PROVED", "stages": "9", "load": "0.5",
                     "t_total": "1.26", "t_cpu": "2", "published": "685", "machine": "2 cores", "t_lineage": "1",
                     "t_schedule": "1", "t_vrf": "1", "t_repair": "0"}  # fmt: skip
    with open(tmp_path / "large.csv", "w", newline="") as file:
        writer = csv.DictWriter(file, ("name", *row))
        writer.writeheader()
        writer.writerows({"name": name, **row} for name in names)
    page = tmp_path / "page.md"
    kept = "<!-- table trends -->\nno rows yet\n<!-- end -->\n"
    page.write_text(f"before\n<!-- table targets -->\nold\n<!-- end -->\nbetween\n{kept}after\n")
    done = CliRunner().invoke(write_tables, [str(page), "--folder", str(tmp_path)])
    assert done.exit_code == 0, done.output
    text = page.read_text()
    assert text.startswith("before\n<!-- table targets -->\n")
    assert text.endswith(f"<!-- end -->\nbetween\n{kept}after\n")
    assert "old" not in text
    assert "2 cores; load average before the runs: 0.5 to 0.5." in text
    assert f"| {names[0]} | 8,192 | PROVED | 1.3 | 2.0 | 2 | 7 | 685 |" in text


@pytest.mark.parametrize(
    ("verdict", "expected", "execution", "as_wanted"),
    [
        ("PROVED", "PROVED", "agree", True),
        ("PROVED", "not known", "agree", True),
        ("PROVED", "not known", "differ", False),
        ("PROVED", "PROVED", "fault", False),
        ("REFUTED", "not known", "agree", False),
        ("REFUTED", "REFUTED", "differ", True),
        ("UNKNOWN", "not known", "cannot", True),
        ("UNKNOWN", "PROVED", "agree", False),
    ],
)
def test_a_verdict_is_held_against_expectation_and_execution(verdict, expected, execution, as_wanted):
    assert right({"verdict": verdict, "expected": expected, "execution": execution}) is as_wanted
