"""Measure pieces of work against their targets, and against an older version of the project.

    python scripts/benchmark.py [--only WORDS] [--against PATH] [--repeat 3] [--timeout 300] [--output FILE.md]
    python scripts/benchmark.py --phases    the phases of a verdict on large plans
    python scripts/benchmark.py --flat      time over replicas, microbatches, hidden size, sequence and batch

PATH is another checkout (`git worktree add PATH COMMIT`). It is asked the same in turn with this one, by the same
interpreter, with the programs and the generated plans of this one. Each run is a process of its own; of several runs
the fastest is shown, since other work on the machine only adds. A process that takes longer than --timeout is ended,
and its row says so. The first lines describe the machine.
"""

import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, TextIO

import click

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from scripts.benchmark_rows import ROWS, Part, Place, Row, Took  # noqa: E402
from scripts.machine import machine  # noqa: E402
from scripts.processes import ask, generate  # noqa: E402
from scripts.runs import BUGS, LARGE, TARGETS, Run  # noqa: E402

LLAMA3, SMALL = "llama3/llama3_default_", "gbs512_ly2_h32_hi4096_sq128.pkl.xz"
ONE = f"{LLAMA3}dp1_pp1_tp1_nm1_{SMALL}"
RUNS = (
    (Run("ly2 dp16 pp4 tp2 nm8", "PROVED", (ONE, f"{LLAMA3}dp16_pp4_tp2_nm8_{SMALL}")), 2.0),
    (Run("ly2 dp64 pp4 tp8 nm8", "PROVED", (ONE, f"{LLAMA3}dp64_pp4_tp8_nm8_{SMALL}")), 3.0),
    (BUGS[0]._replace(name="ly32 dp2 pp2 tp2 nm2"), 3.0),
    *((run, TARGETS[run.name[:2]]) for run in LARGE if run.name[:2] in ("L1", "L2", "L3")),
)
"""Of the large shared plans those whose phases are shown, each with its target in seconds."""

BASE = {
    "layers": 2,
    "hidden": 1024,
    "heads": 16,
    "seq": 128,
    "batch": 512,
    "dp": 2,
    "tp": 2,
    "pp": 2,
    "microbatches": 2,
}
SERIES = {
    "dp": (2, 8, 32, 128),
    "microbatches": (2, 8, 32, 64),
    "hidden": (1024, 4096, 16384),
    "seq": (128, 1024, 8192),
    "batch": (512, 2048, 8192),
}
PHASES = ("load", "check", "lineage", "stage", "prove", "repair", "report")


@click.command()
@click.option("--only", default="", help="Only rows whose name contains this.")
@click.option("--against", type=click.Path(exists=True, file_okay=False, path_type=Path), help="Another checkout.")
@click.option("--plans", type=click.Path(path_type=Path), default=ROOT.parent / "shared" / "plans")
@click.option("--repeat", type=click.IntRange(1), default=3, show_default=True, help="Runs; the fastest counts.")
@click.option("--timeout", default=300.0, show_default=True, help="Seconds for one process.")
@click.option("--output", type=click.File("w"), default="-", help="Where the Markdown goes.")
@click.option("--phases", is_flag=True, help="Measure the phases of verdicts on large plans.")
@click.option("--flat", is_flag=True, help="Measure over the sizes that time should not depend on.")
def main(
    only: str, against: Path | None, plans: Path, repeat: int, timeout: float, output: TextIO, phases: bool, flat: bool
) -> None:
    """Measure, and print a Markdown table, each row when it is known."""
    if flat or phases:
        table = flat_table(repeat) if flat else phase_table(plans, only, repeat)
    else:
        checkouts = [ROOT, *([against.resolve()] if against else [])]
        places = [Place(checkout, plans.resolve(), timeout) for checkout in checkouts]
        table = work_table([row for row in ROWS if only in row.name], places, repeat)
    output.write(f"{machine()}\n\n")
    for line in table:
        output.write(f"{line}\n")
        output.flush()


def work_table(rows: Iterable[Row], places: Sequence[Place], repeat: int) -> Iterator[str]:
    """The rows at one place, or at two beside each other."""
    heads = ["work", "target", "s", "MiB", "outcome"]
    heads += ["s before", "MiB before", "outcome before", "times as fast"] if len(places) > 1 else []
    yield f"| {' | '.join(heads)} |"
    yield f"|{'---|' * len(heads)}"
    for row in rows:
        named = {name: rounds(row, name, places, repeat) for name in row.works}
        for index, part in enumerate(row.parts):
            cells = [f"{row.name}: {part.name}" if part.name else row.name, part.target]
            shown = [told(part, {name: at[side][index] for name, at in named.items()}) for side in range(len(places))]
            for took in shown:
                cells += ["" if took.seconds is None else f"{took.seconds:.1f}", f"{took.memory:.0f}", took.said]
            cells += [ratio(*shown)] if len(places) > 1 else []
            yield f"| {' | '.join(cell.replace('|', '/') for cell in cells)} |"


def rounds(row: Row, name: str, places: Sequence[Place], repeat: int) -> list[list[Took]]:
    """For each place, of each part the fastest of `repeat` runs in turn; what was ended once is not begun again."""
    found: list[list[Took]] = [[] for _ in places]
    for _ in range(repeat):
        for side, place in enumerate(places):
            if all(took.ended is None for took in found[side]):
                parts = list(row.works[name](place))
                parts += [Took("not reached")] * (len(row.parts) - len(parts))
                found[side] = [faster(*pair) for pair in zip(found[side], parts, strict=True)] if found[side] else parts
    return found


def faster(one: Took, other: Took) -> Took:
    """Of two runs the one that came to an answer, and sooner; the later one where neither or both at once did."""
    if one.seconds is not None and (other.seconds is None or one.seconds < other.seconds):
        return one
    return other


def told(part: Part, took: dict[str, Took]) -> Took:
    """What a row says of its works: of several the slowest, how many took longer than they should, and outcomes."""
    slowest = max(took, key=lambda name: took[name].ended or took[name].seconds or 0.0)
    if len(took) == 1:
        return took[slowest]
    beyond = sum(one.seconds is None or one.seconds > (part.seconds or 0.0) for one in took.values())
    outcomes = ", ".join(f"{count} {said}" for said, count in Counter(one.said for one in took.values()).items())
    words = f"{outcomes}; slowest {slowest}; {beyond} of {len(took)} beyond the target"
    return took[slowest]._replace(said=words, memory=max(one.memory for one in took.values()))


def ratio(here: Took, before: Took) -> str:
    """How many times as fast this checkout is as the other; a bound where one of them was ended."""
    if here.seconds and before.seconds:
        return f"{before.seconds / here.seconds:.2f}"
    if here.seconds and before.ended:
        return f"> {before.ended / here.seconds:.2f}"
    if before.seconds and here.ended:
        return f"< {before.seconds / here.ended:.2f}"
    return ""


def phase_table(plans: Path, only: str, repeat: int) -> Iterator[str]:
    """The phases of verdicts on real plans."""
    yield f"| plan | verdict | stages | distinct | {' | '.join(PHASES)} | total s | target s | MiB |"
    yield f"|---|---|---|---|{'---|' * len(PHASES)}---|---|---|"
    for run, target in RUNS:
        if only in run.name:
            options = ("--assume", run.assumed) if run.assumed else ()
            data = best(plans / run.pair[0], plans / run.pair[1], options, repeat)
            phases = " | ".join(f"{data['timings'].get(phase, 0):.2f}" for phase in PHASES)
            yield (
                f"| {run.name} | {data['verdict']} | {data['stages']['total']} | {data['stages']['distinct']} "
                f"| {phases} | {data['timings']['total']:.2f} | {target:g} | {data['peak_memory_mib']:.0f} |"
            )


def flat_table(repeat: int) -> Iterator[str]:
    """Times of generated LLaMA3 plans over each size alone, as multiples of the series' first."""
    yield "| size | value | total s | of the first | distinct |"
    yield "|---|---|---|---|---|"
    for size, values in SERIES.items():
        first = 0.0
        for value in values:
            with tempfile.TemporaryDirectory() as folder:
                single, parallel = generate("llama3", {**BASE, size: value}, Path(folder))
                data = best(single, parallel, (), repeat)
            total = data["timings"]["total"]
            first = first or total
            yield f"| {size} | {value} | {total:.2f} | {total / first:.2f} | {data['stages']['distinct']} |"


def best(single: Path, parallel: Path, options: tuple[str, ...], repeat: int) -> dict[str, Any]:
    """The JSON report of the fastest of `repeat` runs."""
    runs = [once(single, parallel, options) for _ in range(repeat)]
    return min(runs, key=lambda data: data["timings"]["total"])


def once(single: Path, parallel: Path, options: tuple[str, ...]) -> dict[str, Any]:
    """The JSON report of one run."""
    done = ask(single, parallel, *options)
    if not done.data:
        raise click.ClickException(done.errors)
    return done.data


if __name__ == "__main__":
    main()
