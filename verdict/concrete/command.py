"""`verdict run`: execute a plan, or a pair of plans, on random numbers at small shapes."""

import json
from collections.abc import Callable, Sequence
from typing import Any

import click
import numpy as np

from verdict.concrete.bind import itself
from verdict.concrete.comparison import (
    AGREE,
    CANNOT,
    MOST_WORK,
    Comparison,
    alone,
    compare,
)
from verdict.concrete.ends import Row
from verdict.concrete.execute import execute
from verdict.concrete.fault import Faulty
from verdict.concrete.values import random_values
from verdict.errors import UsageError
from verdict.graph import Plan, Shape, without_effects

LoadAll = Callable[[tuple[str, ...]], Sequence[Plan]]
AGREES, DIFFERS, CANNOT_RUN = 0, 1, 3
SHOWN = 12
"""How many rows of a table are listed; the rest is counted."""


def run_command(load_all: LoadAll) -> click.Command:
    """The command; `load_all` reads plan files."""

    @click.command("run", epilog="Exit status: 0 agree, 1 differ, 2 the question could not be put, 3 cannot be run.")
    @click.argument("plan", required=False, metavar="[PLAN]")
    @click.option("--sm", "single", metavar="FILE", help="The single-device plan.")
    @click.option("--pm", "parallel", metavar="FILE", help="The parallel plan.")
    @click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="Of the random values.")
    @click.option("--exact", is_flag=True, help="Compute on exact rationals where the operators allow it.")
    @click.option("--most-work", type=click.IntRange(1), default=MOST_WORK, show_default=True, metavar="ELEMENTS",
                  help="The most elements that all ranks may move; what is larger is not run.")  # fmt: skip
    @click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", help="Form of the answer.")
    @click.option("-v", "--verbose", is_flag=True, help="List everything.")
    @click.pass_context
    def run(
        context: click.Context, plan: str | None, single: str | None, parallel: str | None, seed: int, exact: bool,
        most_work: int, form: str, verbose: bool,
    ) -> None:  # fmt: skip
        """Execute PLAN on random numbers, all ranks in lockstep, or compare a pair of plans so.

        Agreement on random numbers is evidence, not proof; a difference is a difference.
        """
        if plan and not single and not parallel:
            (loaded,) = load_all((plan,))
            answer, status = _one(loaded, seed, exact, most_work)
        elif single and parallel and not plan:
            one, two = load_all((single, parallel))
            answer, status = _pair(compare(one, two, seed, exact, most_work), seed)
        else:
            raise UsageError("usage", "give one plan, or both --sm and --pm", "verdict run --sm SINGLE --pm PARALLEL")
        click.echo(json.dumps(answer, indent=2) if form == "json" else "\n".join(_lines(answer, verbose)))
        context.exit(status)

    return run


def _pair(found: Comparison, seed: int) -> tuple[dict[str, Any], int]:
    answer = {
        "outcome": found.outcome,
        "seed": seed,
        "faults": [str(fault) for fault in found.faults],
        "rows": [_row(row) for row in sorted(found.rows, key=lambda row: row.agrees)],
        "shapes": [_shape(*shape) for shape in found.shapes],
    }
    return answer, {AGREE: AGREES, CANNOT: CANNOT_RUN}.get(found.outcome, DIFFERS)


def _one(plan: Plan, seed: int, exact: bool, most_work: int) -> tuple[dict[str, Any], int]:
    """The losses and the greatest elements and norms of the gradients of one plan."""
    plan = without_effects(plan)
    answer: dict[str, Any] = {"outcome": "ran", "seed": seed, "faults": [], "rows": [], "shapes": []}
    try:
        small = alone(plan, most_work)
        binding = itself(plan)
        with np.errstate(all="ignore"):
            found = execute(plan, small, binding, random_values(plan, small, seed, exact), exact)
    except Faulty as error:
        return {**answer, "outcome": CANNOT, "faults": [str(error.fault)]}, CANNOT_RUN
    for (rank, microbatch, _), value in found.losses.items():
        where = f"on rank {rank.replica * plan.devices + rank.device}, microbatch {microbatch}"
        answer["rows"].append({"what": "loss", "where": where, "value": [float(x) for x in value.flat]})
    for held in plan.gradients:
        name = plan.logicals[plan.tensors[held.weight].logical].name
        for (rank, tensor), value in found.gradients.items():
            if (rank.device, tensor) == (held.device, held.tensor):
                where = f"on rank {rank.replica * plan.devices + rank.device}"
                norm = float(np.linalg.norm(value.astype(np.float64)))
                answer["rows"].append(
                    {"what": f"gradient of {name}", "where": where, "norm": norm, "shape": list(value.shape)}
                )
    for (rank, microbatch, tensor), value in found.outputs.items():
        where = f"on rank {rank.replica * plan.devices + rank.device}, microbatch {microbatch}"
        name = f"output {plan.logicals[plan.tensors[tensor].logical].name}"
        norm = float(np.linalg.norm(value.astype(np.float64)))
        answer["rows"].append({"what": name, "where": where, "norm": norm, "shape": list(value.shape)})
    answer["shapes"] = [
        _shape(logical.name, logical.shape, small.logicals[k])
        for k, logical in enumerate(plan.logicals)
        if k in binding.logical
    ]
    return answer, AGREES


def _row(row: Row) -> dict[str, Any]:
    return {"what": row.what, "where": row.where, "size": row.size, "error": row.error, "agrees": row.agrees}


def _shape(name: str, full: Shape, small: Shape) -> dict[str, Any]:
    return {"name": name, "full": list(full), "run": list(small)}


def _lines(answer: dict[str, Any], verbose: bool) -> list[str]:
    lines = [f"{answer['outcome'].upper()} on random values of seed {answer['seed']}"]
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
