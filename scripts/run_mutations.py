"""The mutation campaign: faults in right plans of every family, the verdict on each, and the oracle's.

    python scripts/run_mutations.py --count 5000 --seed 1 --out build/mutations

Writes mutants.csv (a line a mutant; family, seed, kind and number make it again), matrix.csv and matrix.md (the kill
matrix: kinds by family), and prints the totals. A new family is one line of FAMILIES.
"""

import argparse
import csv
import gc
import os
import platform
import signal
import sys
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from backends import load  # noqa: E402
from backends.generator import Sizes, generate  # noqa: E402
from verdict.graph import Plan  # noqa: E402
from verdict.mutate import KINDS  # noqa: E402
from verdict.mutate.judge import CLASSES, EQUIVALENT, Judgement, Known, judge  # noqa: E402
from verdict.mutate.mutate import Mutant, mutant_of  # noqa: E402
from verdict.options import Options, SolverOptions  # noqa: E402

SHARED = ROOT.parent / "shared" / "plans"
SMALL = Sizes(
    layers=2, hidden=16, heads=4, seq=4, batch=8, vocab=8, ffn=8,
    experts=8, topk=2, groups=2, topk_groups=1, moe_ffn=4, dp=1, tp=1, pp=1, microbatches=1,
)  # fmt: skip
ORACLE_SEEDS = (11, 12, 13)
MOST_SECONDS = 120
"""Of the processor, for one mutant; what takes longer counts as unknown."""

Pair = tuple[Plan, Plan]


def generated(
    model: str, dp: int, pp: int, tp: int, microbatches: int, layers: int = 2, **more: Any
) -> Callable[[], Pair]:
    """A pair of the generator, at sizes that the oracle runs as they are. more: other fields of Sizes."""
    sizes = replace(SMALL, dp=dp, pp=pp, tp=tp, microbatches=microbatches, layers=layers, **more)
    return lambda: generate(model, sizes)


def shared(single: str, parallel: str) -> Callable[[], Pair]:
    """A pair of the shared plans."""
    return lambda: (load(str(SHARED / f"{single}.pkl.xz")), load(str(SHARED / f"{parallel}.pkl.xz")))


_LLAMA = "policies/llama3_default_dp1_pp1_tp1_nm1_gbs16_ly4_h8_hi256_sq128"
_MOE = "policies/moe_default_dp1_pp1_tp1_nm1_gbs16_ly4_h8_hi256_sq128_a2_r16"
_MLP = "policies/mlp_mgener_dp1_pp1_tp1_nm1_gbs16_dim1024_ly8"
_ADAPT = "llama3-adpt/llama3adpt_mgener_dp1_pp1_tp1_nm1_gbs64_ly2_h32_hi4096_sq128"
_GPT = "policies/gpt_mgener_dp1_pp1_tp1_nm1_gbs16_dim1024_ly4_h8_hi256_sq128"

FAMILIES: dict[str, Callable[[], Pair]] = {
    "mlp dp2 pp2 tp2 nm2": generated("mlp", 2, 2, 2, 2, 4),
    "mlp tp4": generated("mlp", 1, 1, 4, 1),
    "mlp pp4 nm4": generated("mlp", 1, 4, 1, 4, 4),
    "llama3 dp2 pp2 tp2 nm2": generated("llama3", 2, 2, 2, 2),
    "llama3 tp4": generated("llama3", 1, 1, 4, 1, 1),
    "llama3 dp2 nm2": generated("llama3", 2, 1, 1, 2, 1),
    "deepseek dp2 pp2 tp2 nm2": generated("deepseek", 2, 2, 2, 2),
    "deepseek tp4": generated("deepseek", 1, 1, 4, 1),
    "gpt dp2 pp2 tp2 nm2": generated("gpt", 2, 2, 2, 2, dropout=0.25),
    "gpt tp4 tied": generated("gpt", 1, 1, 4, 1, tied=True, dropout=0.25),
    "llama3 sp dp2 tp2": generated("llama3", 2, 1, 2, 1, 1, sp=True),
    "llama3 sp pp2 tp2 nm2": generated("llama3", 1, 2, 2, 2, sp=True),
    "gpt sp tp2": generated("gpt", 1, 1, 2, 1, 1, sp=True, dropout=0.25),
    "mlp step adamw dp2 tp2": generated("mlp", 2, 1, 2, 1, optimizer="adamw"),
    "mlp step adamw zero1 dp2": generated("mlp", 2, 1, 1, 1, optimizer="adamw", zero=1),
    "mlp step adamw zero2 clip dp2": generated("mlp", 2, 1, 1, 1, optimizer="adamw", zero=2, clip=1.0),
    "mlp step adamw zero3 dp2": generated("mlp", 2, 1, 1, 1, optimizer="adamw", zero=3),
    "mlp step adamw zero1 clip dp2 tp2 nm2": generated("mlp", 2, 1, 2, 2, optimizer="adamw", zero=1, clip=1.0),
    "mlp step adamw zero1 clip dp2 listed": generated(
        "mlp", 2, 1, 1, 1, optimizer="adamw", zero=1, clip=1.0, list_ranks=True
    ),
    "mlp step sgd clip dp2 pp2 tp2 nm2": generated("mlp", 2, 2, 2, 2, 4, optimizer="sgd", clip=1.0),
    "mlp steps2 sgd dp2 tp2": generated("mlp", 2, 1, 2, 1, optimizer="sgd", steps=2),
    "mlp steps2 adamw zero1 dp2": generated("mlp", 2, 1, 1, 1, optimizer="adamw", zero=1, steps=2),
    "mlp steps2 sgd zero3 pp2 dp2": generated("mlp", 2, 2, 1, 2, optimizer="sgd", zero=3, steps=2),
    "mlp step flat dp2": generated("mlp", 2, 1, 1, 1, optimizer="adamw", zero=1, flat=True, hidden=5, ffn=3),
    "mlp step master dp2 tp2": generated("mlp", 2, 1, 2, 1, optimizer="adamw", zero=1, master=True),
    "mlp uneven tp3": generated("mlp", 1, 1, 3, 1, ffn=8),
    "nnscaler mlp dp2 pp2 tp2 nm2": shared(_MLP, "policies/mlp_mgener_dp2_pp2_tp2_nm2_gbs16_dim1024_ly8"),
    "nnscaler mlp tp4": shared(_MLP, "policies/mlp_mgener_dp1_pp1_tp4_nm1_gbs16_dim1024_ly8"),
    "nnscaler llama3 default": shared(_LLAMA, "policies/llama3_default_dp4_pp2_tp2_nm2_gbs16_ly4_h8_hi256_sq128"),
    "nnscaler llama3 megatron": shared(_LLAMA, "policies/llama3_megatron_dp2_pp2_tp2_nm2_gbs16_ly4_h8_hi256_sq128"),
    "nnscaler llama3 gpipe": shared(_LLAMA, "policies/llama3_megatron_dp2_pp2_tp2_nm4_gpipe_gbs16_ly4_h8_hi256_sq128"),
    "nnscaler llama3 flex": shared(_LLAMA, "policies/llama3_flex_dp2_pp2_tp2_nm2_gbs16_ly4_h8_hi256_sq128"),
    "nnscaler llama3 tp": shared(_LLAMA, "policies/llama3_tp_dp2_pp1_tp4_nm1_gbs16_ly4_h8_hi256_sq128"),
    "nnscaler llama3-adpt": shared(_ADAPT, "llama3-adpt/llama3adpt_mgener_dp2_pp2_tp2_nm2_gbs64_ly2_h32_hi4096_sq128"),
    "nnscaler moe": shared(_MOE, "policies/moe_megatron_dp2_pp2_tp2_nm2_gbs16_ly4_h8_hi256_sq128_a2_r16"),
    "nnscaler gpt": shared(_GPT, "policies/gpt_mgener_dp2_pp2_tp2_nm2_gbs16_dim1024_ly4_h8_hi256_sq128"),
}
"""Every family of plans, and how its pair is made. Generated ones run at full shapes, the others shrink."""


class Line(NamedTuple):
    """One mutant's line of mutants.csv."""

    family: str
    seed: int
    kind: str
    number: int
    outcome: str
    verdict: str
    oracle: str
    reasons: str
    description: str
    detail: str
    seconds: float


class _TooLong(Exception):
    pass


def _alarm(signum: int, frame: object) -> None:
    raise _TooLong


def examine(single: Plan, mutant: Mutant, known: Known) -> tuple[Judgement, float]:
    """The judgement on one mutant, and the seconds it took. A crash of ours is a judgement too."""
    options = Options(workers=0, solver=SolverOptions(z3=False, timeout=20.0))
    started = time.perf_counter()
    signal.signal(signal.SIGPROF, _alarm)
    signal.setitimer(signal.ITIMER_PROF, MOST_SECONDS)
    try:
        found = judge(single, mutant.plan, ORACLE_SEEDS, options, known)
    except _TooLong:
        found = Judgement("unknown", "TIMEOUT", "not run", (f"more than {MOST_SECONDS} s",), "")
    except Exception:
        last = traceback.format_exc().strip().splitlines()
        found = Judgement("crash", "CRASH", "not run", (last[-1],), " | ".join(last[-4:]))
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
    return found, time.perf_counter() - started


def campaign(families: Sequence[str], kinds: Sequence[str], seed: int, count: int) -> Iterator[Line]:
    """`count` mutants, dealt out to families and kinds in turn."""
    pairs: dict[str, Pair] = {}
    known: dict[str, Known] = {}
    for family in families:
        try:
            pairs[family] = FAMILIES[family]()
        except Exception as error:
            print(f"skipped {family}: {error}", file=sys.stderr)
            continue
        known[family] = Known()
        base, _ = examine(pairs[family][0], Mutant("none", 0, "unmutated", pairs[family][1]), known[family])
        if base.outcome != EQUIVALENT:
            print(f"skipped {family}: the plan itself is {base}", file=sys.stderr)
            del pairs[family]
    made, number = 0, 0
    open_kinds = {(family, kind) for family in pairs for kind in kinds}
    while open_kinds and made < count:
        for family, (single, parallel) in pairs.items():
            for kind in kinds:
                if (family, kind) not in open_kinds or made >= count:
                    continue
                mutant = mutant_of(parallel, seed, kind, number)
                if mutant is None:
                    open_kinds.discard((family, kind))
                    continue
                found, seconds = examine(single, mutant, known[family])
                made += 1
                yield Line(
                    family, seed, kind, number, found.outcome, found.verdict, found.oracle,
                    "; ".join(found.reasons), mutant.description, found.detail, round(seconds, 3),
                )  # fmt: skip
            gc.collect()
        number += 1


def machine() -> str:
    """One line about the machine."""
    return f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}, {platform.system()}"


def matrix(lines: Sequence[Line]) -> list[list[str]]:
    """Kinds by outcome, with a line of totals: the kill matrix over all families, then one by family."""
    outcomes = [*CLASSES, "crash"]
    table = [["kind or family", "mutants", *outcomes]]
    for field in ("kind", "family"):
        for name in sorted({getattr(line, field) for line in lines}):
            counts = Counter(line.outcome for line in lines if getattr(line, field) == name)
            table.append([name, str(sum(counts.values())), *(str(counts[outcome]) for outcome in outcomes)])
    total = Counter(line.outcome for line in lines)
    table.append(["all", str(len(lines)), *(str(total[outcome]) for outcome in outcomes)])
    return table


def cells(lines: Sequence[Line]) -> list[list[str]]:
    """Kinds by family: killed of all, and in brackets what is neither killed nor equivalent."""
    families = list(dict.fromkeys(line.family for line in lines))
    table = [["kind", *families]]
    for kind in sorted({line.kind for line in lines}):
        row = [kind]
        for family in families:
            counts = Counter(line.outcome for line in lines if (line.kind, line.family) == (kind, family))
            other = sum(n for outcome, n in counts.items() if outcome not in ("killed", "equivalent"))
            row.append(f"{counts['killed']}/{sum(counts.values())}" + (f" ({other})" if other else ""))
        table.append(row)
    return table


def markdown(table: list[list[str]]) -> str:
    """A table as markdown."""
    head, *rows = table
    return "\n".join("| " + " | ".join(row) + " |" for row in (head, ["---"] * len(head), *rows))


def write(lines: Sequence[Line], out: Path, told: str) -> None:
    """The matrices of what has been judged so far."""
    with (out / "matrix.csv").open("w", newline="") as file:
        csv.writer(file).writerows(matrix(lines))
    (out / "matrix.md").write_text(f"{told}\n\n{markdown(matrix(lines))}\n\n{markdown(cells(lines))}\n")


def main() -> None:
    """Run the campaign that the arguments describe."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--count", type=int, default=5000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--family", action="append", help="a part of a family's name (repeatable; default: all)")
    parser.add_argument("--kind", action="append", choices=sorted(KINDS), help="repeatable; default: all")
    parser.add_argument("--out", type=Path, default=ROOT / "build" / "mutations")
    given = parser.parse_args()
    families = [name for name in FAMILIES if not given.family or any(part in name for part in given.family)]
    kinds = given.kind or list(KINDS)
    given.out.mkdir(parents=True, exist_ok=True)
    started, lines = time.time(), []
    with (given.out / "mutants.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(Line._fields)
        for line in campaign(families, kinds, given.seed, given.count):
            lines.append(line)
            writer.writerow(line)
            file.flush()
            if line.outcome in ("missed", "crash"):
                print(f"{line.outcome}: {line}", file=sys.stderr)
            if len(lines) % 200 == 0:
                write(lines, given.out, f"{len(lines)} mutants so far")
    spent = time.time() - started
    told = f"{len(lines)} mutants, seed {given.seed}, oracle seeds {ORACLE_SEEDS}, {spent:.0f} s on {machine()}"
    write(lines, given.out, told)
    print(told)
    print(markdown(matrix(lines)))


if __name__ == "__main__":
    main()
