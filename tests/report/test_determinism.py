"""The same plans give the same report: for any number of workers, and however Python hashes its strings."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.builders import FAST, mlp, rewrite_where
from tests.plans import sequence_parallel, tied
from verdict.options import Options
from verdict.pipeline import verify
from verdict.report import as_data

ROOT = Path(__file__).resolve().parents[2]


def faulty():
    """Several faults of several kinds, so that there is an order to keep."""
    plan = rewrite_where(mlp(dp=2, tp=2, pp=2, nm=2), "relu", lambda n: n._replace(op="silu"), device=1)
    return rewrite_where(plan, "all_reduce", lambda n: n._replace(op="identity", attrs=()), device=2, nth=0)


PAIRS = {
    "right": lambda: (mlp(), mlp(dp=2, tp=2, pp=2, nm=2)),
    "sequence": lambda: (sequence_parallel(), sequence_parallel(tp=2, dp=2)),
    "tied": lambda: (tied(), tied(pp=2, summed=False)),
    "faulty": lambda: (mlp(), faulty()),
}


def data(name, workers=0):
    return as_data(verify(*PAIRS[name](), Options(workers=workers, solver=FAST)))


@pytest.mark.parametrize("name", PAIRS)
def test_any_number_of_workers_gives_one_report(name):
    alone = data(name)
    assert alone["stages"]["total"] > 0
    assert data(name, 1) == alone
    assert data(name, 3) == alone


PRINT = """
import json
from tests.report.test_determinism import PAIRS, data
print(json.dumps([data(name) for name in PAIRS]))
"""


def test_any_seed_of_the_hash_gives_one_report():
    printed = []
    for seed in ("0", "1", "4242"):
        environment = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": str(ROOT)}
        run = subprocess.run(
            [sys.executable, "-c", PRINT], env=environment, cwd=ROOT, capture_output=True, text=True, check=True
        )
        printed.append(run.stdout)
    assert printed[0] == printed[1] == printed[2]
    assert json.loads(printed[0]) == json.loads(json.dumps([data(name) for name in PAIRS]))


def test_asking_twice_changes_nothing():
    single, parallel = PAIRS["faulty"]()
    first, second = (as_data(verify(single, parallel, Options(workers=0, solver=FAST))) for _ in range(2))
    assert first == second
    assert (single, parallel) == PAIRS["faulty"]()
