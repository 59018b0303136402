"""Write the tables of docs/evaluation.md and README.md anew, from the CSV files of docs/evaluation/.

    python scripts/write_evaluation.py

A table stands between the lines `<!-- table NAME -->` and `<!-- end -->`. Where its CSV file is not there, what stands
there is left alone. scripts/run_evaluation.sh measures anew, draws the plots and calls this.
"""

import csv
import re
import sys
from collections.abc import Callable
from pathlib import Path

import click

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from scripts.evaluate import markdown  # noqa: E402
from scripts.plot_trends import read, table  # noqa: E402
from scripts.runs import TARGETS  # noqa: E402

Rows = list[dict[str, str]]
BLOCK = re.compile(r"(<!-- table (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)


@click.command()
@click.option("--folder", type=click.Path(path_type=Path), default=ROOT / "docs" / "evaluation", show_default=True)
@click.argument("pages", nargs=-1, type=click.Path(exists=True, path_type=Path))
def main(folder: Path, pages: tuple[Path, ...]) -> None:
    """Write the tables in PAGES (docs/evaluation.md and README.md by default)."""
    for page in pages or (ROOT / "docs" / "evaluation.md", ROOT / "README.md"):
        page.write_text(BLOCK.sub(lambda block: _filled(block, folder), page.read_text()))
        click.echo(f"wrote {page}")


def _filled(block: re.Match[str], folder: Path) -> str:
    begin, name, end = block.groups()
    make, source = TABLES[name]
    if not (folder / source).exists():
        return block.group()
    return "\n".join([begin, *make(folder / source), "", end])


def _rows(path: Path) -> Rows:
    with open(path, newline="") as file:
        return list(csv.DictReader(file))


def _large(path: Path) -> list[str]:
    return [*_measured_on(_rows(path)), "", *markdown(_rows(path))]


def _targets(path: Path) -> list[str]:
    lines = [
        "| plan | ranks | verdict | seconds | of the processors | target | MiB | published, 32 cores |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for row in _rows(path):
        ranks = int(row["num_dp"]) * int(row["num_pp"]) * int(row["num_tp"])
        target = TARGETS.get(row["name"].split(" ")[0], "")
        lines.append(
            f"| {row['name']} | {ranks:,} | {row['verdict']} | {float(row['t_total']):.1f} | {float(row['t_cpu']):.1f} "
            f"| {target} | {row['memory_mib']} | {int(float(row['published'])):,} |"
        )
    return [*_measured_on(_rows(path)), "", *lines]


def _measured_on(rows: Rows) -> list[str]:
    loads = [float(row["load"]) for row in rows if row.get("load")]
    if not loads:
        return ["The machine's load was not recorded."]
    machines = "; ".join(dict.fromkeys(row["machine"] for row in rows))
    return [f"{machines}; load average before the runs: {min(loads):.1f} to {max(loads):.1f}."]


def _trends(path: Path) -> list[str]:
    return [*_measured_on(_rows(path)), "", *table(read(path))]


def _index(path: Path) -> list[str]:
    lines = [
        "| pair | known before | verdict | by region | execution | findings, or what is open |",
        "|---|---|---|---|---|---|",
    ]
    rows = _rows(path)
    by_region = {row["pair"]: row["verdict"] for row in rows if row["mode"] == "by region"}
    for row in rows:
        if row["mode"] == "default":
            cells = (row["expected"], row["verdict"], by_region[row["pair"]], row["execution"], row["reasons"])
            lines.append(f"| {row['pair'].replace('_', ' ')} | {' | '.join(cells)} |")
    return lines


TABLES: dict[str, tuple[Callable[[Path], list[str]], str]] = {
    "targets": (_targets, "large.csv"),
    "large": (_large, "large.csv"),
    "trends": (_trends, "trends.csv"),
    "index": (_index, "index.csv"),
}
"""Name of a table -> how it is made, from which file."""


if __name__ == "__main__":
    main()
