"""The same obligation gives the same outcome: in any process, after any other, and built in any order."""

import os
import random
import subprocess
import sys
from pathlib import Path

from tests.solver.build import array, obligation
from tests.solver.families import FAULTS
from verdict.options import SolverOptions
from verdict.solver import Terms, check

ROOT = Path(__file__).parents[2]
PROGRAM = """
import sys
from tests.solver.families import FAULTS
from verdict.options import SolverOptions
from verdict.solver import check
cases = [(family, fault) for family, faults in FAULTS.items() for fault in ("", *faults)]
order = list(range(len(cases)))
if sys.argv[1] == "backwards":
    order.reverse()
outcomes = {i: repr(check(cases[i][0](cases[i][1]), SolverOptions(z3=i % 4 == 0))) for i in order}
print("\\n".join(outcomes[i] for i in sorted(outcomes)))
"""


def outcomes_in_a_process(order, hash_seed):
    return subprocess.run(
        [sys.executable, "-c", PROGRAM, order],
        cwd=ROOT,
        env={**os.environ, "PYTHONHASHSEED": str(hash_seed)},
        capture_output=True,
        text=True,
        check=True,
    ).stdout


def test_outcomes_do_not_depend_on_the_process_or_on_what_was_checked_before():
    assert outcomes_in_a_process("forwards", 1) == outcomes_in_a_process("backwards", 2)


def test_the_seed_decides_the_points_only():
    family, fault = next((family, faults[0]) for family, faults in FAULTS.items())
    outcomes = [check(family(fault), SolverOptions(seed=seed, z3=False)) for seed in range(3)]
    assert {type(outcome) for outcome in outcomes} == {type(outcomes[0])}
    assert check(family(fault), SolverOptions(seed=1, z3=False)) == outcomes[1]


def test_order_of_creation_does_not_change_the_witness():
    def build(order):
        terms = Terms()
        for name in order:
            terms.real(name)
        x = array(terms, "x", 6)
        return obligation(terms, ("y", (x[:3] * x[3:]).sum(), (x[:3] * x[3:]).sum() + x[0] * x[1] * x[5]))

    names = [f"x[{i}]" for i in range(6)]
    shuffled = random.Random(0).sample(names, 6)
    assert check(build(names), SolverOptions()) == check(build(shuffled), SolverOptions())
