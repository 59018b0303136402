"""Pairs as they are: every parallelism that is offered, every family, at small sizes; small plans of a real tool."""

import csv
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from scripts.campaigns.families import FAMILIES, SHARED, Pair, shared
from scripts.campaigns.lines import NONE, Answer, Campaign
from scripts.campaigns.plans import OPTIONS
from scripts.campaigns.truth import truth
from scripts.processes import generate
from scripts.run_parallelisms import COMMON, ROWS, Row, is_small
from verdict.backends import load
from verdict.backends.text import write
from verdict.mutate.judge import Oracle, outcome_of
from verdict.pipeline import verify

SECONDS = 300
DATA = Path(__file__).resolve().parents[2] / "data" / "llama3"
LARGE = ("large", "bugs")
"""Folders of the real tool's plans that hold large ones."""
ENDING = ".pkl.xz"


def _offered(row: Row) -> Pair:
    with TemporaryDirectory(prefix="verdict-pairs-") as folder:
        single, parallel = generate(row.model, COMMON, Path(folder), *row.flags.split())
        return load(str(single)), load(str(parallel))


def _written() -> Pair:
    return load(str(DATA / "single.plan")), load(str(DATA / "parallel.plan"))


def _real() -> dict[str, Callable[[], Pair]]:
    """The small plans of the index, where it is."""
    if not SHARED.is_dir():
        return {}
    with (SHARED / "index.csv").open(newline="") as file:
        rows = [[row[side].removesuffix(ENDING) for side in ("single", "parallel")] for row in csv.DictReader(file)]
    return {f"nnscaler {other}": shared(one, other) for one, other in rows if not other.startswith(LARGE)}


PAIRS: dict[str, Callable[[], Pair]] = {
    **{f"offered: {row.name}": partial(_offered, row) for row in ROWS if is_small(row)},
    **{f"family: {name}": make for name, make in FAMILIES.items() if not name.startswith("nnscaler")},
    "data/llama3": _written,
    **_real(),
}
"""Every pair, and how it is made."""
COUNT = len(PAIRS)


def campaign(seed: int) -> Campaign:
    """Question n is the n-th pair. seed: of the random points that are tried."""
    return Campaign("pairs", partial(ask, truth(), seed), SECONDS)


def ask(oracle: Oracle, seed: int, number: int) -> Answer:
    """The answer to one question."""
    name, make = list(PAIRS.items())[number]
    pair = make()
    report = verify(*pair, replace(OPTIONS, solver=replace(OPTIONS.solver, seed=seed)))
    said, detail = oracle(*pair)
    verdict, codes = report.verdict.name, dict.fromkeys(finding.code for finding in report.findings)
    told = "; ".join(codes) or "; ".join(f"{each.where}: {each.reason}" for each in report.unanswered[:1])
    return Answer(
        name, NONE, outcome_of(verdict, said), verdict, said, told, "", detail,
        lambda: {f"{side}.plan": write(plan) for side, plan in zip(("single", "parallel"), pair, strict=True)}, pair,
    )  # fmt: skip
