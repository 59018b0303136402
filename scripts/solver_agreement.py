"""Put every distinct obligation of the plans of an index to Z3 and cvc5, as plain arithmetic; print what they say.

    python scripts/solver_agreement.py [--plans ../shared/plans] [--only TEXT] [--seconds 10] [--limit 20000]

Equal obligations of different plans are asked once. An obligation that our own methods prove must be `unsat`, one
that they refute must not be. The exit status is 1 where anything disagrees. cvc5: pip install 'verdict-parallel[cvc5]'.
"""

import csv
import sys
import time
from collections import Counter
from pathlib import Path

import click

from verdict.backends import load
from verdict.errors import PlanMismatchError
from verdict.lineage import CHUNK_ORDER
from verdict.options import Options, SolverOptions
from verdict.outcome import Outcome, Proved, Refuted
from verdict.phases import Query, walk
from verdict.solver import PlainTerms, SolverError, installed, question
from verdict.solver.solvers import says
from verdict.stage import Stage, goals

ROOT = Path(__file__).resolve().parents[1]
SOLVERS = ("z3", "cvc5")


@click.command()
@click.option("--plans", type=click.Path(exists=True, path_type=Path), default=ROOT.parent / "shared" / "plans")
@click.option("--only", default="", help="Only pairs whose parallel file's path contains this.")
@click.option("--seconds", default=10.0, show_default=True, help="For one question.")
@click.option("--limit", default=20_000, show_default=True, help="The most operations of one question.")
def main(plans: Path, only: str, seconds: float, limit: int) -> None:
    """Ask both solvers about the index in PLANS."""
    missing = [solver for solver in SOLVERS if not installed(solver)]
    if missing:
        raise click.ClickException(f"{missing[0]} is not installed")
    obligations = collect(plans, only)
    options = SolverOptions(z3_timeout=seconds)
    said: Counter[tuple[str, ...]] = Counter()
    spent: Counter[str] = Counter()
    whole = sampled = too_large = not_put = elements = total = 0
    wrong = []
    for (columns, stage), outcome in obligations.items():
        try:
            asked = question(goals(stage, columns, False, PlainTerms()), limit)
        except SolverError:
            not_put += 1
            continue
        if asked is None:
            too_large += 1
            continue
        elements, total = elements + len(asked.pairs), total + asked.total
        whole, sampled = whole + (len(asked.pairs) == asked.total), sampled + (len(asked.pairs) < asked.total)
        answers = []
        for solver in SOLVERS:
            began = time.process_time()
            answers.append(says(solver, asked.text, options, asked.variables).answer)
            spent[solver] += time.process_time() - began
        said[type(outcome).__name__, *answers] += 1
        partly = len(asked.pairs) < asked.total
        if set(answers) == {"sat", "unsat"} or not agrees(outcome, answers, partly):
            wrong.append((stage.signature.op, type(stage).__name__, type(outcome).__name__, answers))
        if "unknown" in answers:
            click.echo(f"{stage.signature.op} {type(stage).__name__}: {answers}")
    click.echo(f"{len(obligations)} distinct obligations, {whole} asked whole, {sampled} on a sample of elements,")
    click.echo(f"{too_large} too large to ask, {not_put} not to be written; {elements} of {total} scalar equalities")
    for (ours, *theirs), count in sorted(said.items()):
        click.echo(f"{count:6d}  ours {ours}, " + ", ".join(map(" ".join, zip(SOLVERS, theirs, strict=True))))
    click.echo(", ".join(f"{solver} {seconds:.0f} s" for solver, seconds in spent.items()))
    for row in wrong:
        click.echo(f"DISAGREE {row}")
    sys.exit(1 if wrong else 0)


def agrees(outcome: Outcome, answers: list[str], partly: bool) -> bool:
    """Whether the solvers do not contradict us. Only `unsat` contradicts a refutation, of all elements."""
    if isinstance(outcome, Proved):
        return "sat" not in answers
    return not isinstance(outcome, Refuted) or partly or "unsat" not in answers


def collect(plans: Path, only: str) -> dict[tuple[int, Stage], Outcome]:
    """The distinct obligations of all pairs, with the batch's columns, and how we decide them."""
    with open(plans / "index.csv", newline="") as file:
        rows = [row for row in csv.DictReader(file) if only in row["parallel"]]
    options = Options(workers=0, assume=frozenset({CHUNK_ORDER}), solver=SolverOptions(z3=False))
    found: dict[tuple[int, Stage], Outcome] = {}
    asked = 0
    for row in rows:
        single, parallel = (load(str(plans / row[side])) for side in ("single", "parallel"))
        try:
            examined = walk(Query(single, parallel, options))
        except PlanMismatchError:
            continue
        asked += len(examined.outcomes)
        for stage, outcome in examined.outcomes.items():
            found.setdefault((examined.stages.columns, stage), outcome)
    click.echo(f"{len(rows)} pairs of plans, {asked} obligations, each once in its plan")
    return found


if __name__ == "__main__":
    main()
