"""`verdict run`: execute a plan, or a pair of plans, on random numbers."""

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import click

from verdict.comparison import AGREE, CANNOT, FAULT, Comparison, Engine, Faulty, Held, Row
from verdict.concrete.comparison import MOST_WORK, smaller, smaller_alone, work_at
from verdict.concrete.engine import own_engine
from verdict.errors import UsageError
from verdict.graph import Plan, Shape
from verdict.graph.kept import with_kept
from verdict.graph.matched import matched
from verdict.semantics import itself

LoadAll = Callable[[tuple[str, ...]], Sequence[Plan]]
AGREES, DIFFERS, CANNOT_RUN = 0, 1, 3
SHOWN = 12
"""How many rows of a table are listed; the rest is counted."""
OWN, TORCH = "own", "torch"


def run_command(load_all: LoadAll, other: Callable[[], Engine | None]) -> click.Command:
    """The command. `load_all` reads plan files; `other` is the engine of torch, where there is one."""

    @click.command("run", epilog="Exit status: 0 agree, 1 differ, 2 the question could not be put, 3 cannot be run.")
    @click.argument("plan", required=False, metavar="[PLAN]")
    @click.option("--sm", "single", metavar="FILE", help="The single-device plan.")
    @click.option("--pm", "parallel", metavar="FILE", help="The parallel plan.")
    @click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="Of the random values.")
    @click.option("--engine", type=click.Choice([TORCH, OWN]),
                  help="Whose operators (default: torch's, where it is installed).")  # fmt: skip
    @click.option("--exact", is_flag=True, help="Compute on exact rationals where the own operators allow it.")
    @click.option("--most-work", type=click.IntRange(1), metavar="ELEMENTS",
                  help="The most elements that all ranks may move; what is larger is not run.")  # fmt: skip
    @click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", help="Form of the answer.")
    @click.option("-v", "--verbose", is_flag=True, help="List everything.")
    @click.pass_context
    def run(
        context: click.Context, plan: str | None, single: str | None, parallel: str | None, seed: int,
        engine: str | None, exact: bool, most_work: int | None, form: str, verbose: bool,
    ) -> None:  # fmt: skip
        """Execute PLAN on random numbers, all ranks in lockstep, or compare a pair of plans so.

        Agreement on random numbers is evidence, not proof; a difference is a difference.
        """
        name, chosen = _engine(engine, exact, other)
        most = MOST_WORK if most_work is None else most_work
        if plan and not single and not parallel:
            (loaded,) = load_all((plan,))
            answer, status = _one(loaded, chosen, seed, most)
        elif single and parallel and not plan:
            one, two = load_all((single, parallel))
            found = matched(one, two)
            one, two = (one, two) if found is None else found.first
            answer, status = _pair(_compared(with_kept(one, two), two, chosen, seed, most), seed)
        else:
            raise UsageError("usage", "give one plan, or both --sm and --pm", "verdict run --sm SINGLE --pm PARALLEL")
        answer = {**answer, "engine": name}
        click.echo(json.dumps(answer, indent=2) if form == "json" else "\n".join(_lines(answer, verbose)))
        context.exit(status)

    return run


def _engine(wanted: str | None, exact: bool, other: Callable[[], Engine | None]) -> tuple[str, Engine]:
    """The engine that is asked for, else torch's, else the own one."""
    own = own_engine(exact)
    if exact and wanted == TORCH:
        raise UsageError("--exact", "torch has no rationals", "leave out --engine torch")
    if wanted == OWN or exact:
        return OWN, own
    found = other()
    if found is None and wanted == TORCH:
        raise UsageError("--engine torch", "torch is not installed", "pip install 'verdict-parallel[torch]'")
    return (OWN, own) if found is None else (TORCH, found)


def _compared(single: Plan, parallel: Plan, engine: Engine, seed: int, most_work: int) -> Comparison:
    """Both plans at full shapes, or where that is much work at small ones that fit together."""
    if work_at(single) + work_at(parallel) <= engine.full_work:
        return engine.compare(single, parallel, seed, most_work)
    try:
        one, two = smaller(single, parallel)
    except Faulty as error:
        return Comparison(CANNOT if error.fault.ours else FAULT, (), (error.fault,))
    found = engine.compare(one, two, seed, most_work)
    given = itself(single).logical
    shapes = tuple((single.logicals[k].name, single.logicals[k].shape, one.logicals[k].shape) for k in sorted(given))
    return replace(found, shapes=shapes)


def _pair(found: Comparison, seed: int) -> tuple[dict[str, Any], int]:
    answer = {
        "outcome": found.outcome,
        "seed": seed,
        "faults": [str(fault) for fault in found.faults],
        "rows": [_row(row) for row in sorted(found.rows, key=lambda row: row.agrees)],
        "shapes": [_shape(*shape) for shape in found.shapes],
    }
    return answer, {AGREE: AGREES, CANNOT: CANNOT_RUN}.get(found.outcome, DIFFERS)


def _one(plan: Plan, engine: Engine, seed: int, most_work: int) -> tuple[dict[str, Any], int]:
    """The losses, and the norms of all else that one plan declares."""
    answer: dict[str, Any] = {"outcome": "ran", "seed": seed, "faults": [], "rows": [], "shapes": []}
    try:
        run = plan if work_at(plan) <= engine.full_work else smaller_alone(plan)
        held = engine.alone(run, seed, most_work)
    except Faulty as error:
        return {**answer, "outcome": CANNOT, "faults": [str(error.fault)]}, CANNOT_RUN
    answer["rows"] = [_value(value) for value in held]
    given = itself(plan).logical
    answer["shapes"] = [
        _shape(plan.logicals[k].name, plan.logicals[k].shape, run.logicals[k].shape) for k in sorted(given)
    ]
    return answer, AGREES


def _value(held: Held) -> dict[str, Any]:
    more = {"value": list(held.numbers)} if held.numbers else {"norm": held.norm, "shape": list(held.shape)}
    return {"what": held.what, "where": held.where, **more}


def _row(row: Row) -> dict[str, Any]:
    return {"what": row.what, "where": row.where, "size": row.size, "error": row.error, "agrees": row.agrees}


def _shape(name: str, full: Shape, small: Shape) -> dict[str, Any]:
    return {"name": name, "full": list(full), "run": list(small)}


def _lines(answer: dict[str, Any], verbose: bool) -> list[str]:
    lines = [f"{answer['outcome'].upper()} on random values of seed {answer['seed']} (engine {answer['engine']})"]
    lines += [f"  {fault}" for fault in answer["faults"]]
    rows = answer["rows"]
    for row in rows if verbose else rows[:SHOWN]:
        told = ", ".join(f"{key} {_told(value)}" for key, value in row.items() if key not in ("what", "where"))
        lines.append(f"  {row['what']} {row['where']}: {told}")
    if len(rows) > SHOWN and not verbose:
        lines.append(f"  ... and {len(rows) - SHOWN} more (-v lists all)")
    shrunk = [shape for shape in answer["shapes"] if shape["full"] != shape["run"]]
    if shrunk:
        lines.append(f"  run at reduced shapes: {len(shrunk)} of {len(answer['shapes'])} given tensors are smaller")
    for shape in shrunk if verbose else shrunk[:3]:
        lines.append(f"    {shape['name']} {shape['full']} -> {shape['run']}")
    return lines


def _told(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)
