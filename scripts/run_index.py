"""Decide every pair of an index of plans, by default and under --assume chunk-order-by-region; print a table.

    python scripts/run_index.py [--plans ../shared/plans] [--only TEXT ...] [--oracle] [--output FILE.csv]

Each run is a process of its own, so that its time and memory are its own. --oracle also executes each pair on random
numbers (`verdict run`): whether the plans agree there is evidence that does not come from the proof. The exit status
is 1 where a verdict is not the expected one, or is contradicted by the execution.
"""

import csv
import sys
from pathlib import Path

import click
from rich.console import Console
from rich.table import Table

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from scripts.processes import ask, run  # noqa: E402

WANTED = {"equivalent": "PROVED", "different": "REFUTED", "": "not known"}
MODES = {
    "default": ("expected", ()),
    "by region": ("expected_assuming_chunk_order_by_region", ("--assume", "chunk-order-by-region")),
}

CONTRADICTIONS = {("PROVED", "differ"), ("PROVED", "fault"), ("REFUTED", "agree")}


@click.command()
@click.option("--plans", type=click.Path(exists=True, path_type=Path), default=ROOT.parent / "shared" / "plans")
@click.option("--only", multiple=True, help="Only pairs whose parallel file's path contains this (repeatable).")
@click.option("--oracle", is_flag=True, help="Execute each pair, too.")
@click.option("--output", type=click.Path(path_type=Path), help="Write the rows to this CSV file, too.")
def main(plans: Path, only: tuple[str, ...], oracle: bool, output: Path | None) -> None:
    """Run the index in PLANS and print a table of verdicts."""
    with open(plans / "index.csv", newline="") as file:
        rows = [row for row in csv.DictReader(file) if any(text in row["parallel"] for text in only or ("",))]
    results = [
        decide(plans, row, mode) | ({"execution": executed(plans, row) if mode == "default" else ""} if oracle else {})
        for row in rows
        for mode in MODES
    ]
    if output:
        with open(output, "w", newline="") as file:
            writer = csv.DictWriter(file, results[0].keys())
            writer.writeheader()
            writer.writerows(results)
    show(results)
    wrong = [result for result in results if not right(result)]
    click.echo(f"{len(results) - len(wrong)} of {len(results)} as expected or not known before")
    sys.exit(1 if wrong else 0)


def decide(plans: Path, row: dict[str, str], mode: str) -> dict[str, str]:
    """The verdict on one pair, its reasons and its costs."""
    column, options = MODES[mode]
    done = ask(plans / row["single"], plans / row["parallel"], *options)
    return {
        "pair": row["parallel"].removesuffix(".pkl.xz"),
        "mode": mode,
        "expected": WANTED[row[column]],
        "verdict": done.verdict,
        "reasons": "; ".join(done.reasons),
        "stages": str(done.data.get("stages", {}).get("total", "")),
        "distinct": str(done.data.get("stages", {}).get("distinct", "")),
        "seconds": f"{done.data.get('timings', {}).get('total', 0):.1f}",
        "MiB": f"{done.data.get('peak_memory_mib', 0):.0f}",
    }


def executed(plans: Path, row: dict[str, str]) -> str:
    """Whether the pair agrees on random numbers: agree, differ or cannot be run."""
    done = run("run", "--sm", str(plans / row["single"]), "--pm", str(plans / row["parallel"]), "--format", "json")
    return str(done.data.get("outcome", f"exit {done.status}"))


def right(result: dict[str, str]) -> bool:
    """Whether a verdict is the expected one, if that is known, and not contradicted by an execution."""
    contradiction = (result["verdict"], result.get("execution")) in CONTRADICTIONS
    return result["expected"] in ("not known", result["verdict"]) and not contradiction


def show(results: list[dict[str, str]]) -> None:
    """Print the table; wrong verdicts stand out."""
    table = Table(*results[0].keys())
    for result in results:
        table.add_row(*(value[:60] for value in result.values()), style=None if right(result) else "bold red")
    Console(width=None if sys.stdout.isatty() else 200).print(table)


if __name__ == "__main__":
    main()
