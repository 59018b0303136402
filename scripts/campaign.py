"""A mix of campaigns on fresh seeds, for a time: mutants of plans and programs, changed attributes; or right pairs.

    python scripts/campaign.py --seconds 600
    python scripts/campaign.py --count plans=6000 --count programs=1000 --count attributes=5000 --cores 2
    python scripts/campaign.py --only pairs --way exhaustive --way sweep

Writes a line a question to OUT/lines.csv; started again with the same OUT and seed it goes on where it stopped. What
fails is written to OUT/failures, the figures to OUT/figures.json and OUT/tables.md. Exit status 1 where a wrong one was
proved, a right one refuted, two ways of asking contradict each other, or something crashed.
"""

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from scripts.campaigns import plans  # noqa: E402
from scripts.campaigns.apart import Asker  # noqa: E402
from scripts.campaigns.lines import BLOCK, FAILURES, Book, Line, figures, of_shards, table, told  # noqa: E402
from scripts.campaigns.makers import COUNTS, ENDLESS, SECONDS, maker  # noqa: E402
from scripts.campaigns.spread import Some, ask_all  # noqa: E402
from scripts.campaigns.truth import one_thread  # noqa: E402
from scripts.campaigns.ways import SECONDS as EACH_WAY  # noqa: E402
from scripts.campaigns.ways import WAYS, of_ways  # noqa: E402
from verdict.batches.cluster import on_ray  # noqa: E402


def numbers(shard: tuple[int, int], count: int) -> Iterator[int]:
    """The numbers of the questions of one shard, which has whole blocks, of so many in all."""
    for start in range(shard[0] * BLOCK, count, shard[1] * BLOCK):
        yield from range(start, min(start + BLOCK, count))


def run(
    askers: Sequence[Asker], seed: int, shard: tuple[int, int], book: Book, until: float, counts: Mapping[str, int]
) -> None:
    """Ask questions in turn, until the time is up or so many were answered in each campaign."""
    left = {
        asker.name: counts[asker.name] - sum(line.campaign == asker.name for line in book.lines) for asker in askers
    }
    at = {asker.name: numbers(shard, COUNTS[asker.name]) for asker in askers}
    while any(number > 0 for number in left.values()):
        for asker in askers:
            if time.monotonic() > until:
                return
            if left[asker.name] <= 0:
                continue
            number = next((n for n in at[asker.name] if not book.has(asker.name, seed, n)), None)
            if number is None:
                left[asker.name] = 0
                continue
            line = asker.ask(number)
            if line is not None:
                book.add(line)
                left[asker.name] -= 1


def asked_here(given: argparse.Namespace, out: Path, seed: int, counts: Mapping[str, int]) -> list[Line]:
    """The lines of one shard, asked by this process."""
    first, every = map(int, given.shard.split("/"))
    one_thread()
    book = Book(out / "lines.csv")
    ways = given.way or ()
    makers = {name: maker(name, seed, families_of(given), given.kind or (), ways) for name in counts}
    askers = [Asker(name, make, seed, out, SECONDS[name] + len(ways) * EACH_WAY) for name, make in makers.items()]
    try:
        run(askers, seed, (first, every), book, time.monotonic() + given.seconds, counts)
    finally:
        for asker in askers:
            asker.close()
    return book.lines


def asked_on_ray(given: argparse.Namespace, out: Path, seed: int, counts: Mapping[str, int]) -> list[Line]:
    """The lines of questions that the nodes of a cluster ask."""
    named = families_of(given), tuple(given.kind or ())
    first = Some("", seed, (), *named, time.time() + given.seconds, tuple(given.way or ()))
    return ask_all(on_ray(given.ray_address), first, out, counts)


def families_of(given: argparse.Namespace) -> tuple[str, ...]:
    """The families that are named by a part of theirs."""
    return tuple(name for name in plans.FAMILIES if any(part in name for part in given.family or ()))


def asked_beside(given: argparse.Namespace, out: Path, seed: int, counts: Mapping[str, int]) -> list[Line]:
    """The lines of as many shards as there are cores, each asked by a process like this one."""
    cores = given.cores
    more = [f"--{name}={part}" for name in ("family", "kind", "way") for part in getattr(given, name) or ()]
    more += [f"--count={name}={-(-count // cores)}" for name, count in counts.items()]
    more += [f"--only={name}" for name in counts]
    command = [sys.executable, __file__, f"--seed={seed}", f"--seconds={given.seconds}", *more]
    shards = [out / str(shard) for shard in range(cores)]
    started = [
        subprocess.Popen([*command, f"--shard={shard}/{cores}", f"--out={folder}"], stdout=subprocess.DEVNULL)
        for shard, folder in enumerate(shards)
    ]
    try:
        statuses = [process.wait() for process in started]
    finally:
        for process in started:
            process.terminate()
    if any(status not in (0, 1) for status in statuses):
        raise SystemExit(f"a shard ended with status {max(statuses)}")
    return of_shards(out, shards)


def wanted(given: argparse.Namespace) -> dict[str, int]:
    """How many questions of each campaign."""
    counts = {name: COUNTS[name] for name in given.only or ENDLESS}
    for text in given.count or ():
        name, equals, number = text.rpartition("=")
        for each in (name,) if equals else tuple(counts):
            if each not in counts:
                raise SystemExit(f"--count {text}: there is no campaign {each} here, only {', '.join(counts)}")
            counts[each] = min(int(number), COUNTS[each])
    return counts


def main() -> int:
    """Run what the arguments ask for."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--seconds", type=float, default=float("inf"), help="how long (default: until --count)")
    parser.add_argument("--count", action="append", help="questions of each campaign, or CAMPAIGN=N (repeatable)")
    parser.add_argument("--seed", type=int, help="default: the time")
    parser.add_argument("--only", action="append", choices=sorted(COUNTS), help="repeatable; default: all but pairs")
    parser.add_argument("--family", action="append", help="of plans: a part of a family's name (repeatable)")
    parser.add_argument("--kind", action="append", help="of plans: kinds of faults (repeatable)")
    parser.add_argument("--way", action="append", choices=WAYS, help="ask each question in this way, too (repeatable)")
    parser.add_argument("--cores", type=int, default=1, help="so many processes beside each other")
    parser.add_argument("--engine", choices=("local", "ray"), default="local", help="ray: tasks of a cluster")
    parser.add_argument("--ray-address", help="of the cluster; default: the one that runs, else one of this machine")
    parser.add_argument("--shard", default="0/1", help="K/N: every N-th block of questions from the K-th on")
    parser.add_argument("--out", type=Path, help="default: build/campaign-SEED")
    given = parser.parse_args()
    seed = int(time.time()) if given.seed is None else given.seed
    out = given.out or ROOT / "build" / f"campaign-{seed}"
    out.mkdir(parents=True, exist_ok=True)
    started = time.monotonic()
    ask = asked_on_ray if given.engine == "ray" else asked_beside if given.cores > 1 else asked_here
    lines = ask(given, out, seed, wanted(given))
    found = figures(lines, seed, given.shard, given.cores, time.monotonic() - started)
    (out / "figures.json").write_text(json.dumps(found, indent=1) + "\n")
    page = "\n\n".join((told(found), *(table(lines, field) for field in ("campaign", "kind", "name")), of_ways(lines)))
    (out / "tables.md").write_text(page + "\n")
    print(told(found))
    print(table(lines, "campaign"), of_ways(lines), sep="\n\n")
    return int(any(line.outcome in FAILURES for line in lines))


if __name__ == "__main__":
    sys.exit(main())
