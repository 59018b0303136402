"""A script of its own that shows what is wrong: the counterexamples, else both plans, run from end to end.

Of recorded programs, which the sweep refutes, both flows are carried whole, with the numbers that they were given.
Numpy is all it needs.
"""

import inspect
from collections.abc import Iterator, Mapping

import numpy as np

from verdict.diagnose import LOADING, quoted, repro_script, sources_of
from verdict.ops import Array
from verdict.phases.query import Query
from verdict.report import Report, Verdict
from verdict.sweep import flow as flows
from verdict.sweep import steps_of, sweep
from verdict.sweep.compare import partner
from verdict.sweep.flow import Flow, Result

MOST_STEPS = 4_000
"""Of more steps on all ranks no script is written."""

_SCRIPT = (
    '''#!/usr/bin/env python3
"""{title}

Runs both plans on the same numbers and prints the declared results that differ. Exits 1 if any does. Needs numpy only.
"""

import sys
import types
from fractions import Fraction

import numpy as np

'''
    + LOADING
    + '''
from verdict.sweep.flow import Place, Step, apply  # noqa: E402

inf, nan = float("inf"), float("nan")

# What is given: value, shape, numbers. What is done: operator, what it reads and makes, and where it stands.
SINGLE_GIVEN = [
{single_given}
]
SINGLE = [
{single}
]
PARALLEL_GIVEN = [
{parallel_given}
]
PARALLEL = [
{parallel}
]
# What is declared: its name and place, its values in both, and its region of the first.
DECLARED = [
{declared}
]


def run(given, steps):
    values = {{value: np.array(numbers, dtype=float).reshape(shape) for value, shape, numbers in given}}
    with np.errstate(all="ignore"):
        for step in steps:
            made = apply(step, [values[value] for value in step.inputs])
            for value, array in zip(step.outputs, made):
                if value >= 0 and array is not None:
                    values[value] = np.asarray(array, dtype=float)
    return values


def main():
    single, parallel, differs = run(SINGLE_GIVEN, SINGLE), run(PARALLEL_GIVEN, PARALLEL), False
    for what, where, one, other, region in DECLARED:
        due, made = single[one][region], parallel[other]
        wrong = ~np.isclose(due, made, rtol=1e-9, atol=1e-9 * np.max(np.abs(due), initial=0.0), equal_nan=True)
        if wrong.any():
            differs = True
            print(f"{{what}} {{where}}: {{int(wrong.sum())}} of {{wrong.size}} elements differ")
            print("  single  ", np.array2string(due, separator=", ").replace("\\n", "\\n            "))
            print("  parallel", np.array2string(made, separator=", ").replace("\\n", "\\n            "))
    return 1 if differs else 0


if __name__ == "__main__":
    sys.exit(main())
'''
)


def script_of(query: Query, report: Report) -> str:
    """The script of a refuted report; empty where there is nothing to show, or too much."""
    return repro_script(report.findings) or _whole(query, report)


def _whole(query: Query, report: Report) -> str:
    single, parallel = query.values
    if report.verdict is not Verdict.REFUTED or steps_of(parallel) > MOST_STEPS:
        return ""
    swept = sweep(single, parallel, query.options)
    if swept.runs is None or not swept.different:
        return ""
    one, other = swept.runs.flows
    given = swept.runs.given[0]
    named = {step.op for step in (*one.steps, *other.steps)}
    sources = [
        *sources_of(named, ("verdict.ops.numbers", "verdict.ops.integers")),
        ("verdict.solver", "class SolverError(Exception):\n    pass\n"),
        ("verdict.sweep", ""),
        (flows.__name__, inspect.getsource(flows)),
    ]
    first = report.findings[0]
    declared = (line for item in swept.different for line in _declared(one, item.result))
    return _SCRIPT.format(
        title=f"{first.code}: {first.title}".replace("\\", "/").replace('"""', "'''"),
        sources="\n".join(f"SOURCES.append(({name!r}, {quoted(text)}))" for name, text in sources),
        single_given="\n".join(_given(one, given)), single="\n".join(_steps(one)),
        parallel_given="\n".join(_given(other, given)), parallel="\n".join(_steps(other)),
        declared="\n".join(declared),
    )  # fmt: skip


def _given(flow: Flow, given: Mapping[int, Array]) -> Iterator[str]:
    for item in flow.given:
        array = given[item.logical]
        for cut in item.slices:
            array = np.asarray(array[cut])
        yield f"    ({item.value}, {array.shape!r}, {np.asarray(array, dtype=np.float64).ravel().tolist()!r}),"


def _steps(flow: Flow) -> Iterator[str]:
    yield from (f"    {step._replace(attrs=dict(step.attrs))!r}," for step in flow.steps)


def _declared(one: Flow, result: Result) -> Iterator[str]:
    other = partner(one, result)
    if other is not None:
        region = result.region or ...
        yield f"    ({result.what!r}, {result.where!r}, {other.value}, {result.value}, {region!r}),"
