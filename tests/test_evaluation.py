"""The evaluation's scripts: rows with the published columns, verdicts held against what is expected."""

import csv
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("matplotlib", reason="the plots need the extra dev")

from scripts.plot_trends import PANELS, table
from scripts.runs import DEMOS, SERIES, TRENDS, WORK

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


@pytest.mark.parametrize("demo", DEMOS)
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
    assert done.returncode == 0
    (row,) = rows_of(tmp_path / "rows.csv")
    assert (row["success"], row["verdict"]) == ("False", "not there")
    assert (row["num_layers"], row["num_mb"], row["seqlen"]) == ("32", "2", "8192")


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
