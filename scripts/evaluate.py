"""The evaluation: every run a process of its own, a row of a CSV file, and a line of a Markdown table.

    scripts/run_large.sh      the six large runs: nnScaler's plans where they are, and ours at the models' real widths
    scripts/run_trends.sh     forty runs of generated LLaMA3 plans over each size alone
    scripts/run_bugs.sh       the fourteen published bugs, and the plan that they were put into
    scripts/demo_llama3.sh    a small plan, proved; the same with a fault, refuted
    scripts/demo_moe.sh       the same for a mixture of experts

Each takes --plans, --generated (plans of the same meshes in the place of published ones, which must be there else),
--repeat, --only and --output (build/evaluation/NAME.csv by default). With --repeat all runs are
done in turn and then again, so that a machine's drift meets all alike, and of each pair the fastest counts. The
columns begin with those of the predecessor's statistics:
t_graph is reading and checking, t_lineage the walk, t_schedule the cutting into stages, t_vrf the proofs, t_repair
the search for a repair that is proved, t_report the rest. t_cpu are the processor seconds of all processes of a run,
the least of all rounds; t_floor the seconds of one inert unpickling of its two files, where they are pickles;
of_floor is t_total as a multiple of it. published is what the predecessor took on 32 cores, and times_faster its
multiple of t_total. load is the machine's load average before the run. `success` means PROVED. The exit status is 1
where a verdict is not as expected, or a plan is not there.
"""

import csv
import gc
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import click

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from scripts import processes  # noqa: E402
from scripts.generated import NAME, PROVENANCE, generated  # noqa: E402
from scripts.machine import machine, processor  # noqa: E402
from scripts.pairs import files as files_of  # noqa: E402
from scripts.runs import DEMOS, WORK, Run  # noqa: E402
from verdict.backends.content import Content  # noqa: E402
from verdict.backends.generator import Sizes  # noqa: E402
from verdict.backends.nnscaler import unpickle  # noqa: E402
from verdict.backends.text.packing import unpack  # noqa: E402

ABSENT = "not there"
PUBLISHED_COLUMNS = (
    "success", "num_layers", "num_dp", "num_pp", "num_tp", "num_mb", "gbs", "num_heads", "hidden_size", "seqlen",
    "n_activated_experts", "n_routed_experts", "t_graph", "t_lineage", "t_schedule", "t_vrf", "t_total", "sm", "pm",
    "error",
)  # fmt: skip
OUR_COLUMNS = (
    "name", "verdict", "expected", "assumed", "stages", "distinct", "laws", "memory_mib", "t_report", "t_repair",
    "t_cpu", "t_floor", "of_floor", "published", "times_faster", "load", "machine",
)  # fmt: skip
SHOWN = (
    "name", "verdict", "stages", "distinct", "t_graph", "t_lineage", "t_schedule", "t_vrf", "t_repair", "t_total",
    "t_cpu", "memory_mib", "of_floor", "published", "times_faster",
)  # fmt: skip


@click.command()
@click.argument("what", type=click.Choice([*WORK, "floor"]))
@click.argument("files", nargs=-1, type=click.Path(exists=True))
@click.option("--plans", type=click.Path(path_type=Path), default=ROOT.parent / "shared" / "plans")
@click.option("--generated", "ours", is_flag=True, help="Generated plans of the same meshes for published ones.")
@click.option("--repeat", type=click.IntRange(1), default=1, show_default=True, help="Rounds; the fastest counts.")
@click.option("--only", default="", help="Only runs whose name contains this.")
@click.option("--output", type=click.Path(path_type=Path), help="The CSV file.")
def main(
    what: str, files: tuple[str, ...], plans: Path, ours: bool, repeat: int, only: str, output: Path | None
) -> None:
    """Do the runs of WHAT. (`floor FILE...` prints the seconds of one inert unpickling of the files.)"""
    if what == "floor":
        click.echo(f"{_unpickle(files):.3f}")
        return
    output = output or ROOT / "build" / "evaluation" / f"{what}.csv"
    output.parent.mkdir(parents=True, exist_ok=True)
    click.echo(f"{machine()}; {repeat} rounds\n")
    rows: dict[str, dict[str, Any]] = {}
    for _ in range(repeat):
        for run in generated(WORK[what]) if ours else WORK[what]:
            if only in run.name:
                row = measure(run, plans, told=what in DEMOS)
                rows[run.name] = faster(rows.get(run.name, row), row)
                click.echo(f"{run.name}: {row['verdict']}", err=True)
                write(output, rows.values())
    click.echo("\n".join(markdown(rows.values())))
    absent = sum(row["verdict"] == ABSENT for row in rows.values())
    wrong = sum(row["verdict"] not in (row["expected"], ABSENT) for row in rows.values())
    click.echo(f"\nwrote {output}; {wrong or 'no'} verdicts are not the expected ones")
    if absent:
        click.echo(f"{absent} of {len(rows)} plans are not there: {PROVENANCE}", err=True)
    sys.exit(1 if wrong or absent or not rows else 0)


def markdown(rows: Iterable[Mapping[str, Any]]) -> list[str]:
    """The rows as lines of a Markdown table."""
    head = [f"| {' | '.join(SHOWN)} |", f"|{'---|' * len(SHOWN)}"]
    return [*head, *("| " + " | ".join(str(row[column]) for column in SHOWN) + " |" for row in rows)]


def faster(one: dict[str, Any], other: dict[str, Any]) -> dict[str, Any]:
    """Of two rounds of a run the faster, with the smaller number of processor seconds."""
    return min(one, other, key=lambda row: row["t_total"] or 0) | {"t_cpu": min(one["t_cpu"], other["t_cpu"])}


def write(output: Path, rows: Iterable[Mapping[str, Any]]) -> None:
    """Write the rows to the CSV file."""
    with open(output, "w", newline="") as file:
        writer = csv.DictWriter(file, (*PUBLISHED_COLUMNS, *OUR_COLUMNS))
        writer.writeheader()
        writer.writerows(rows)


def measure(run: Run, plans: Path, told: bool) -> dict[str, Any]:
    """The row of one run; told: print the report for people, too."""
    with tempfile.TemporaryDirectory() as folder:
        single, parallel = files_of(run, plans, Path(folder))
        row: dict[str, Any] = dict.fromkeys((*PUBLISHED_COLUMNS, *OUR_COLUMNS), "")
        row |= {"name": run.name, "expected": run.expected, "assumed": run.assumed, "published": run.published or "",
                "sm": run.pair[0] or single.name, "pm": run.pair[1] or parallel.name, "machine": processor(),
                "load": round(os.getloadavg()[0], 1), **_sizes_of(run)}  # fmt: skip
        if not (single.exists() and parallel.exists()):
            return row | {"success": False, "verdict": ABSENT, "error": f"{parallel} is not there"}
        options = ("--assume", run.assumed) if run.assumed else ()
        row |= _once(single, parallel, options)
        if run.pair[0]:
            row["t_floor"] = _floor(single, parallel)
            row["of_floor"] = round(row["t_total"] / row["t_floor"], 1)
        if run.published and row["t_total"]:
            row["times_faster"] = round(run.published / row["t_total"])
        if told:
            processes.run("--sm", str(single), "--pm", str(parallel), *options, shown=True)
        return row


def _sizes_of(run: Run) -> dict[str, Any]:
    if not run.model:
        found = NAME.search(run.pair[1])
        return {name: value or "" for name, value in found.groupdict().items()} if found else {}
    sizes = Sizes(**run.sizes)
    return {
        "num_layers": sizes.layers, "num_dp": sizes.dp, "num_pp": sizes.pp, "num_tp": sizes.tp,
        "num_mb": sizes.microbatches, "gbs": sizes.batch, "num_heads": sizes.heads, "hidden_size": sizes.hidden,
        "seqlen": sizes.seq, "n_activated_experts": sizes.topk if run.model == "deepseek" else "",
        "n_routed_experts": sizes.experts if run.model == "deepseek" else "",
    }  # fmt: skip


def _once(single: Path, parallel: Path, options: tuple[str, ...]) -> dict[str, Any]:
    """What one process of `verdict` says of a pair, and what it takes."""
    done = processes.ask(single, parallel, *options)
    if not done.data:
        return {"success": False, "verdict": f"exit {done.status}", "error": done.errors.strip(), "t_total": 0.0}
    data = done.data
    seconds = data["timings"]
    reasons = [finding["code"] for finding in data["findings"]] or [item["reason"] for item in data["unknown"]]
    return {
        "success": data["verdict"] == "PROVED",
        "verdict": data["verdict"],
        "error": "; ".join(dict.fromkeys(reasons)),
        "t_graph": round(seconds["load"] + seconds["check"], 3),
        "t_lineage": seconds.get("lineage", 0.0),
        "t_schedule": seconds.get("stage", 0.0),
        "t_vrf": round(seconds.get("prove", 0.0) + seconds.get("sweep", 0.0), 3),
        "t_report": seconds.get("report", 0.0),
        "t_repair": seconds.get("repair", 0.0),
        "t_total": seconds["total"],
        "t_cpu": round(done.cpu, 3),
        "memory_mib": round(data["peak_memory_mib"]),
        **{name: data["stages"].get(name, "") for name in ("distinct", "laws")},
        "stages": data["stages"]["total"],
    }


def _floor(single: Path, parallel: Path) -> float:
    command = [sys.executable, __file__, "floor", str(single), str(parallel)]
    return float(subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=True).stdout)


def _unpickle(files: tuple[str, ...]) -> float:
    """Seconds of unpacking and unpickling `files` to inert records, one after the other, in this process."""
    gc.disable()
    since = time.perf_counter()
    for file in files:
        unpickle.load(Content.of(unpack(Path(file).read_bytes(), file)), file)
    return time.perf_counter() - since


if __name__ == "__main__":
    main()
