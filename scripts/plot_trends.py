"""Draw what scripts/run_trends.sh measured beside the predecessor's figures: one panel for each size, PNG and SVG.

Prints a Markdown table, too: for each size its values, seconds, processor seconds, and what grows from first to last.

    python scripts/plot_trends.py [build/evaluation/trends.csv] [--output docs/evaluation/trends]

Needs matplotlib (`pip install -e '.[dev]'`). Both axes are logarithmic: a line that rises by the width of a decade for
each decade grows in proportion. Seconds are of the fastest run; processor seconds of all its processes together are
the thin line, since other work on a shared machine lengthens the first more than the second.
"""

import csv
from collections.abc import Mapping
from pathlib import Path

import click
import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt

ROOT = Path(__file__).resolve().parents[1]
PANELS = {
    "dp": "replicas (dp)",
    "microbatches": "microbatches",
    "tp": "tensor parallel ranks (tp)",
    "pp": "pipeline stages (pp)",
    "layers": "layers",
    "batch": "samples of a step",
    "heads": "attention heads",
    "hidden": "hidden size",
    "seq": "tokens of a sample",
}
PUBLISHED: Mapping[str, Mapping[int, float]] = {
    "dp": {2: 115, 8: 447, 16: 914, 32: 2093, 64: 3670},
    "microbatches": {2: 224, 4: 452, 8: 851, 16: 1714, 32: 3532},
    "tp": {1: 107, 2: 261, 4: 412, 8: 875},
    "layers": {4: 143, 8: 242, 16: 497, 32: 949},
}
"""Seconds in all of TrainVerify, from the statistics that its artifact ships (32 cores, 30 workers): LLaMA3-8B with
dp 16, pp 4, tp 8 and 8 microbatches where these do not vary. Other sizes need not be ours: compare slopes."""
RERUN: Mapping[str, Mapping[int, float]] = {
    "pp": {2: 7.94, 4: 14.48, 8: 5.34, 16: 5.64},
    "batch": {512: 7.94, 1024: 5.58, 2048: 4.43},
    "heads": {8: 7.06, 16: 7.88, 32: 7.94},
    "hidden": {1024: 6.94, 4096: 7.94, 8192: 8.12, 16384: 7.47},
    "seq": {128: 7.94, 256: 4.29},
}
"""The same tool run again on 2 shared cores, where its artifact has a plan but no figure: LLaMA3, 2 layers, 2 ranks an
axis and 2 microbatches."""


@click.command()
@click.argument("rows", type=click.Path(exists=True, path_type=Path), default=ROOT / "build/evaluation/trends.csv")
@click.option("--output", type=click.Path(path_type=Path), default=ROOT / "docs/evaluation/trends", show_default=True)
def main(rows: Path, output: Path) -> None:
    """Draw ROWS to OUTPUT.png and OUTPUT.svg."""
    ours = read(rows)
    matplotlib.rcParams.update({"svg.hashsalt": "trends", "font.size": 9})
    figure, axes = plt.subplots(3, 3, figsize=(11, 8.5), layout="constrained")
    for axis, (size, label) in zip(axes.flat, PANELS.items(), strict=True):
        panel(axis, label, ours.get(size, {}), size)
    handles = {
        label: handle for axis in axes.flat for handle, label in zip(*axis.get_legend_handles_labels(), strict=True)
    }
    figure.legend(handles.values(), handles.keys(), loc="outside upper center", ncols=4, frameon=False)
    click.echo("\n".join(table(ours)))
    for suffix, metadata in (("png", {}), ("svg", {"Date": None})):
        figure.savefig(f"{output}.{suffix}", dpi=110, metadata=metadata)
        click.echo(f"wrote {output}.{suffix}")


def table(ours: Mapping[str, Mapping[int, tuple[float, float]]]) -> list[str]:
    """Lines of Markdown."""
    lines = [
        "| size | values | seconds | processor seconds | last / first: size, processor seconds |",
        "|---|---|---|---|---|",
    ]
    for size, found in ours.items():
        totals, cpus = zip(*found.values(), strict=True)
        cells = (", ".join(map(str, found)), *(", ".join(f"{each:.1f}" for each in row) for row in (totals, cpus)))
        lines.append(f"| {size} | {' | '.join(cells)} | {max(found) / min(found):.0f}, {cpus[-1] / cpus[0]:.2f} |")
    return lines


def read(rows: Path) -> dict[str, dict[int, tuple[float, float]]]:
    """By size, for each value: seconds and processor seconds."""
    found: dict[str, dict[int, tuple[float, float]]] = {}
    with open(rows, newline="") as file:
        for row in csv.DictReader(file):
            size, value = row["name"].split(" ")
            found.setdefault(size, {})[int(value)] = (float(row["t_total"]), float(row["t_cpu"]))
    return found


def panel(axis: plt.Axes, label: str, ours: Mapping[int, tuple[float, float]], size: str) -> None:
    """One size: our seconds, and the predecessor's where there are any."""
    axis.plot(list(ours), [total for total, _ in ours.values()], "o-", color="C0", label="Verdict, 2 shared cores")
    axis.plot(list(ours), [cpu for _, cpu in ours.values()], "-", color="C0", lw=0.7, label="its processor seconds")
    for table, mark, text in (
        (PUBLISHED, "s-", "TrainVerify, published, 32 cores"),
        (RERUN, "s--", "TrainVerify, run on 2 shared cores (smaller plans)"),
    ):
        if size in table:
            axis.plot(list(table[size]), list(table[size].values()), mark, color="C1", label=text)
    axis.set_xscale("log", base=2)
    axis.set_yscale("log")
    axis.set_ylim(0.5, 10000)
    values = sorted({*ours, *PUBLISHED.get(size, {}), *RERUN.get(size, {})})
    axis.set_xticks(values, [str(value) for value in values])
    axis.minorticks_off()
    axis.set_xlabel(label)
    axis.set_ylabel("seconds")
    axis.grid(alpha=0.3)


if __name__ == "__main__":
    main()
