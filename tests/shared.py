"""The real plans beside the project, and their expected verdicts."""

import csv
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from verdict.backends import load
from verdict.graph import Plan

PLANS = Path(__file__).resolve().parents[2] / "shared" / "plans"
HERE = PLANS.is_dir()
REASON = "the shared plans are not here (../shared/plans)"
EXPECTED = {"equivalent": "PROVED", "different": "REFUTED", "": ""}


@lru_cache(maxsize=4)
def loaded(path: Path) -> Plan:
    """The plan of a file, which several tests in a row may ask for: it takes half a second to read."""
    return load(str(path))


class Pair(NamedTuple):
    """One row of the index. expected, assumed: a verdict, or empty where nobody knows it."""

    single: Path
    parallel: Path
    expected: str
    assumed: str

    @property
    def family(self) -> str:
        """The folder of the parallel plan."""
        return self.parallel.parent.name

    @property
    def name(self) -> str:
        """Family and file, without endings."""
        return f"{self.family}/{self.parallel.name.split('.')[0]}"


def pairs() -> tuple[Pair, ...]:
    """All rows of the index; none where the shared plans are not here."""
    if not HERE:
        return ()
    with open(PLANS / "index.csv", newline="") as file:
        return tuple(
            Pair(
                PLANS / row["single"],
                PLANS / row["parallel"],
                EXPECTED[row["expected"]],
                EXPECTED[row["expected_assuming_chunk_order_by_region"]],
            )
            for row in csv.DictReader(file)
        )


def dense(pair: Pair) -> bool:
    """Whether the pair is of the mlp or llama3 families (by the folder's and the file's name)."""
    return pair.parallel.name.startswith(("mlp", "llama3"))
