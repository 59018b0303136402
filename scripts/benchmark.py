"""Measure runs of `verdict` on large plans: phases, total, peak memory, and the floor that reading sets.

    python scripts/benchmark.py [--plans ../shared/plans] [--repeat 3] [--output FILE.md]
    python scripts/benchmark.py --flat      time over replicas, microbatches, hidden size, sequence and batch

Each run is a process of its own; of several runs the fastest is shown, since other work on the machine only adds.
The first lines describe the machine.
"""

import os
import platform
import sys
import tempfile
from pathlib import Path
from typing import Any

import click

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from scripts.processes import ask, generate  # noqa: E402

REGION = ("--assume", "chunk-order-by-region")
LLAMA3 = "llama3/llama3_default_dp1_pp1_tp1_nm1_gbs512_ly2_h32_hi4096_sq128"
RUNS = (
    ("ly2 dp16 pp4 tp2 nm8", LLAMA3, "llama3/llama3_default_dp16_pp4_tp2_nm8_gbs512_ly2_h32_hi4096_sq128", (), 2.0),
    ("ly2 dp64 pp4 tp8 nm8", LLAMA3, "llama3/llama3_default_dp64_pp4_tp8_nm8_gbs512_ly2_h32_hi4096_sq128", (), 3.0),
    (
        "ly32 dp2 pp2 tp2 nm2",
        "bugs/llama3_default_dp1_pp1_tp1_nm1_gbs32_ly32_h32_hi128_sq8192",
        "bugs/llama3_default_dp2_pp2_tp2_nm2_gbs32_ly32_h32_hi128_sq8192",
        (),
        3.0,
    ),
    (
        "L1 LLaMA3-8B dp512",
        "large/llama3_default_dp1_pp1_tp1_nm1_gbs512_ly32_h32_hi4096_sq128",
        "large/llama3_default_dp512_pp1_tp1_nm1_gbs512_ly32_h32_hi4096_sq128",
        (),
        2.0,
    ),
    (
        "L2 LLaMA3-70B, refuted",
        "large/llama3_default_dp1_pp1_tp1_nm1_gbs512_ly80_h64_hi4096_sq128",
        "large/llama3_default_dp16_pp4_tp8_nm32_gbs512_ly80_h64_hi4096_sq128",
        (),
        7.0,
    ),
    (
        "L2 LLaMA3-70B, by region",
        "large/llama3_default_dp1_pp1_tp1_nm1_gbs512_ly80_h64_hi4096_sq128",
        "large/llama3_default_dp16_pp4_tp8_nm32_gbs512_ly80_h64_hi4096_sq128",
        REGION,
        7.0,
    ),
    (
        "L3 LLaMA3-405B, refuted",
        "large/llama3_default_dp1_pp1_tp1_nm1_gbs2048_ly126_h128_hi1024_sq128",
        "large/llama3_default_dp64_pp16_tp8_nm16_gbs2048_ly126_h128_hi1024_sq128",
        (),
        10.0,
    ),
    (
        "L3 LLaMA3-405B, by region",
        "large/llama3_default_dp1_pp1_tp1_nm1_gbs2048_ly126_h128_hi1024_sq128",
        "large/llama3_default_dp64_pp16_tp8_nm16_gbs2048_ly126_h128_hi1024_sq128",
        REGION,
        10.0,
    ),
)
"""Name, single-device plan, parallel plan, options, target in seconds."""

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
@click.option("--plans", type=click.Path(path_type=Path), default=ROOT.parent / "shared" / "plans")
@click.option("--repeat", type=click.IntRange(1), default=3, show_default=True, help="Runs; the fastest counts.")
@click.option("--output", type=click.File("w"), default="-", help="Where the Markdown goes.")
@click.option("--flat", is_flag=True, help="Measure over the sizes that time should not depend on.")
def main(plans: Path, repeat: int, output: Any, flat: bool) -> None:
    """Measure, and print a Markdown table."""
    lines = [machine(), ""]
    lines += flat_table(repeat) if flat else plan_table(plans, repeat)
    output.write("\n".join(lines) + "\n")


def machine() -> str:
    """One line about the machine and its present load."""
    return f"{processor()}, load average {os.getloadavg()[0]:.1f} at the start"


def processor() -> str:
    """The cores and the Python."""
    model = next(
        (line.split(":")[1].strip() for line in Path("/proc/cpuinfo").read_text().splitlines() if "model name" in line),
        platform.processor(),
    )
    return f"{os.cpu_count()} cores ({model}), Python {platform.python_version()}"


def plan_table(plans: Path, repeat: int) -> list[str]:
    """The table of real plans."""
    lines = [
        f"| plan | verdict | stages | distinct | {' | '.join(PHASES)} | total s | target s | MiB |",
        f"|---|---|---|---|{'---|' * len(PHASES)}---|---|---|",
    ]
    for name, single, parallel, options, target in RUNS:
        data = best(plans / f"{single}.pkl.xz", plans / f"{parallel}.pkl.xz", options, repeat)
        phases = " | ".join(f"{data['timings'].get(phase, 0):.2f}" for phase in PHASES)
        lines.append(
            f"| {name} | {data['verdict']} | {data['stages']['total']} | {data['stages']['distinct']} | {phases} "
            f"| {data['timings']['total']:.2f} | {target:g} | {data['peak_memory_mib']:.0f} |"
        )
    return lines


def flat_table(repeat: int) -> list[str]:
    """Times of generated LLaMA3 plans over each size alone, as multiples of the series' first."""
    lines = ["| size | value | total s | of the first | distinct |", "|---|---|---|---|---|"]
    for size, values in SERIES.items():
        first = 0.0
        for value in values:
            with tempfile.TemporaryDirectory() as folder:
                single, parallel = generate("llama3", {**BASE, size: value}, Path(folder))
                data = best(single, parallel, (), repeat)
            total = data["timings"]["total"]
            first = first or total
            lines.append(f"| {size} | {value} | {total:.2f} | {total / first:.2f} | {data['stages']['distinct']} |")
    return lines


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
