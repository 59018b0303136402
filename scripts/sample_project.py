"""Write a project of twelve pairs and programs into a folder, and with --measure check it in all the ways there are.

    python scripts/sample_project.py FOLDER
    python scripts/sample_project.py FOLDER --measure    # first and second run, four shards, Ray if it is installed

Ends with 1 where two reports differ by more than times, or the second run (the median of
several, each of which makes another sample again) takes more than a fifth of the first.
"""

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import time
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from machine import machine

import verdict

ROOT = Path(__file__).resolve().parents[1]
SMALL = {"layers": 2, "hidden": 16, "heads": 4, "seq": 4, "batch": 8, "vocab": 16, "ffn": 16}
PAIRS: dict[str, tuple[str, dict[str, Any]]] = {
    "llama3 on a mesh of three axes": ("llama3", {**SMALL, "dp": 2, "tp": 2, "pp": 2, "microbatches": 2}),
    "llama3 with ZeRO 1 and AdamW": ("llama3", {**SMALL, "dp": 4, "tp": 2, "zero": 1, "optimizer": "adamw"}),
    "llama3, sequence parallel": ("llama3", {**SMALL, "tp": 4, "sp": True}),
    "gpt": ("gpt", {**SMALL, "dp": 2, "tp": 2}),
    "deepseek, experts on two ranks": ("deepseek", {**SMALL, "dp": 2, "tp": 1, "ep": 2, "experts": 8, "groups": 4}),
    "mlp": ("mlp", {"layers": 4, "hidden": 16, "batch": 8, "dp": 2, "tp": 2}),
}
PROGRAMS = {
    "averaged by hand": ("linear_ddp.py", 4),
    "summed by hand, which is wrong": ("linear_ddp.py:build_sum", 4),
    "Megatron's perceptron": ("mlp_megatron.py", 4),
    "ZeRO 1": ("zero1.py", 2),
    "pipeline": ("pipeline.py", 2),
    "ring attention": ("ring_attention.py", 4),
}
TIMES = ("timings", "peak_memory_mib", "seconds")
SHARDS, MOST, SEEDS = 4, 0.2, range(5)
"""Into how many shards the list is cut; the most that a second run may take of the first; samples of the cache that are
made again in second runs.
"""


def write_project(folder: Path) -> None:
    """The plans, the programs, and the pyproject.toml that lists them."""
    folder.mkdir(parents=True, exist_ok=True)
    entries = []
    for number, (name, (model, sizes)) in enumerate(PAIRS.items()):
        for side, plan in zip(("single", "parallel"), verdict.generate(model, **sizes), strict=True):
            verdict.save(plan, folder / f"{number}-{side}.plan")
        entry = f'single = "{number}-single.plan"\nparallel = "{number}-parallel.plan"'
        entries.append(f'[[tool.verdict.pairs]]\nname = "{name}"\n{entry}\n')
    for name, (program, world) in PROGRAMS.items():
        shutil.copy(ROOT / "examples" / "torch" / program.partition(":")[0], folder)
        entries.append(f'[[tool.verdict.programs]]\nname = "{name}"\nprogram = "{program}"\nworld = {world}\n')
    (folder / "pyproject.toml").write_text("[tool.verdict]\n\n" + "\n".join(entries), encoding="utf-8")


def untimed(told: Any) -> Any:
    """The report without times."""
    if isinstance(told, dict):
        return {key: untimed(value) for key, value in told.items() if key not in TIMES}
    return [untimed(item) for item in told] if isinstance(told, list) else told


def check(folder: Path, name: str, *options: str, command: str = "check") -> tuple[float, str]:
    """Run the command in the folder: how many seconds it takes, and its report without times, as text."""
    outputs = ["--output", f"json:{name}.json"] if command == "check" else ["--output", f"{name}.json"]
    # a worker of Ray begins elsewhere, and must find the same Verdict
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])}
    begun = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-m", "verdict", command, *options, *outputs],
        cwd=folder, env=environment, text=True, capture_output=True, check=False,
    )  # fmt: skip
    seconds = time.monotonic() - begun
    if done.returncode not in (0, 1, 3) or not (folder / f"{name}.json").is_file():
        raise SystemExit(f"{command} {' '.join(options)} ended with {done.returncode}\n{done.stdout}{done.stderr}")
    told = untimed(json.loads((folder / f"{name}.json").read_text(encoding="utf-8")))
    return seconds, json.dumps(told, indent=2)


def measure(folder: Path) -> int:
    """A table of all runs. The status."""
    cached = ["-q", "--cache", str(folder / "kept"), "--sample-seed", str(SEEDS[0])]
    first, report = check(folder, "first", *cached)
    rows, wrong = [("first run", first, "")], 0
    os.environ["VERDICT_CACHE"] = str(folder / "kept")
    for part in range(1, SHARDS + 1):
        check(folder, f"shard-{part}", *cached, "--shard", f"{part}/{SHARDS}")
    others = {
        **{f"second run, sample {seed}": partial(check, folder, "second", *cached[:-1], str(seed)) for seed in SEEDS},
        "four shards merged": lambda: check(
            folder, "merged", *(f"shard-{part}.json" for part in range(1, SHARDS + 1)), command="merge"
        ),
    }
    if find_spec("ray") is not None:
        others["on Ray"] = lambda: check(folder, "ray", "-q", "--engine", "ray", "--sample-seed", str(SEEDS[0]))
    for name, run in others.items():
        seconds, told = run()
        same = told == report
        wrong += not same
        rows.append((name, seconds, "the same report" if same else "ANOTHER REPORT"))
    ratio = statistics.median(seconds for _, seconds, _ in rows[1 : 1 + len(SEEDS)]) / first
    print(f"{machine()}\n")
    for name, seconds, told in rows:
        print(f"{name:<50} {seconds:6.1f} s  {told}")
    print(f"\nsecond / first, median: {ratio:.2f}")
    return int(wrong > 0 or ratio > MOST)


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--measure", action="store_true")
    given = parser.parse_args()
    write_project(given.folder)
    return measure(given.folder.resolve()) if given.measure else 0


if __name__ == "__main__":
    sys.exit(main())
