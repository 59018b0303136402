"""Run two plans on the same values, and compare all that they declare; or one plan alone."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import product
from math import prod
from typing import Any, NamedTuple

import torch

from verdict.backends.torch.oracle import given
from verdict.backends.torch.oracle.ends import Sides, name_of, rows
from verdict.backends.torch.oracle.integers import Integers, ranges
from verdict.backends.torch.oracle.machine import Ran, execute
from verdict.backends.torch.oracle.nodes import is_whole
from verdict.backends.torch.oracle.thresholds import thresholds
from verdict.comparison import AGREE, CANNOT, DIFFER, FAULT, Comparison, Fault, Faulty, Held
from verdict.graph import BUFFER, Plan, extent, without_effects

MOST_WORK = 400_000_000
"""How many elements all nodes of all ranks may read and write, by default; the numbers are 64 bits wide."""
FULL_WORK = 60_000_000
"""Up to so many elements, plans are best run at their full shapes: some seconds."""


class Ready(NamedTuple):
    """Two plans, which of their tensors are the same, what integers they may be given, and what numbers matter."""

    single: Plan
    parallel: Plan
    known: given.Partners
    integers: Mapping[int, Integers]
    matter: tuple[float, ...]


def work_of(plan: Plan) -> int:
    """How many elements all nodes of all ranks read and write, over all microbatches."""
    sizes = [prod(extent(tensor.region)) for tensor in plan.tensors]
    each = [sum(1 + sum(sizes[t] for t in (*n.inputs, *n.outputs) if t >= 0) for n in s.nodes) for s in plan.segments]
    return plan.replicas * sum(each[call.segment] for calls in plan.programs for call in calls)


def ready(single: Plan, parallel: Plan, most_work: int = MOST_WORK) -> Ready | Comparison:
    """Two plans, ready to be run on any values; a Comparison where they do not fit, or are too large."""
    single, parallel = without_effects(single), without_effects(parallel)
    try:
        _require(work_of(single) + work_of(parallel), most_work, parallel)
        known = given.partners(single, parallel)
    except Faulty as error:
        return _failed(error.fault)
    with _wide():
        return Ready(single, parallel, known, _integers(single, parallel), thresholds(single, parallel))


def compare(single: Plan, parallel: Plan, seed: int = 0, most_work: int = MOST_WORK, scale: float = 1.0) -> Comparison:
    """Run both plans on the values of `seed` and compare what they declare. Whatever fails is in the result."""
    found = ready(single, parallel, most_work)
    return found if isinstance(found, Comparison) else compare_ready(found, seed, scale)


def compare_ready(plans: Ready, seed: int, scale: float = 1.0) -> Comparison:
    """The same for two plans that are ready."""
    with _wide():
        try:
            values, right = _run_single(plans, seed, scale)
        except Faulty as error:
            return _failed(error.fault._replace(ours=True))
        try:
            found = execute(plans.parallel, given.of_parallel(plans.parallel, plans.known, values))
            compared = rows(Sides(plans.single, plans.parallel, plans.known, right, found))
        except Faulty as error:
            return _failed(error.fault)
    shapes = tuple((one.name, one.shape, one.shape) for one in plans.single.logicals if given.is_given(one))
    return Comparison(AGREE if all(row.agrees for row in compared) else DIFFER, compared, (), shapes)


def values_of(plans: Ready, seed: int, scale: float = 1.0) -> given.Values:
    """What plans are given on a seed, by logical tensor of the single-device plan. Raises Faulty."""
    with _wide():
        return _run_single(plans, seed, scale)[0]


def _run_single(plans: Ready, seed: int, scale: float) -> tuple[given.Values, Ran]:
    """Values, and what the single-device plan makes of them; other values where it makes what is no number."""
    for attempt in (_mixed, _mixed_states, _drawn, _states, _mixed_positive, _small):
        values = attempt(plans, seed, scale)
        right = execute(plans.single, given.of_single(plans.single, values))
        if finite(right):
            return values, right
    raise Faulty(Fault("the single-device values overflow", plans.single.source, ours=True))


def oracle(*seeds: int, scales: Sequence[float] = (1.0,)) -> Callable[[Plan, Plan], tuple[str, str]]:
    """(single, parallel) -> what the first of the seeds and scales says that shows no agreement, and where."""

    def said(single: Plan, parallel: Plan) -> tuple[str, str]:
        plans = ready(single, parallel)
        if isinstance(plans, Comparison):
            return plans.outcome, "; ".join(map(str, plans.faults))
        for seed, scale in product(seeds, scales):
            found = compare_ready(plans, seed, scale)
            if found.outcome != AGREE:
                row = next(iter(found.differing), None)
                told = f"{row.what} {row.where}: error {row.error:.3g} of {row.size:.3g}" if row else ""
                return found.outcome, "; ".join(map(str, found.faults)) or told
        return AGREE, ""

    return said


def alone(plan: Plan, seed: int = 0, most_work: int = MOST_WORK) -> tuple[Held, ...]:
    """What a plan by itself declares; its columns are all given the same. Raises Faulty."""
    plan = without_effects(plan)
    _require(work_of(plan), most_work, plan)
    with _wide():
        values = given.values(plan, _integers(plan, plan), seed, 1.0)
        found = execute(plan, given.of_single(plan, values))
    losses = {held.tensor for held in plan.losses}
    weights = {held.tensor: f"gradient of {name_of(plan, held.weight)}" for held in plan.gradients}
    made = []
    for (rank, microbatch, tensor), value in found.items():
        where = f"on rank {rank.replica * plan.devices + rank.device}"
        where += "" if tensor in weights else f", microbatch {microbatch}"
        what = "loss" if tensor in losses else weights.get(tensor, f"output {name_of(plan, tensor)}")
        numbers = tuple(value.double().flatten().tolist()) if tensor in losses else ()
        made.append(Held(what, where, numbers, float(value.abs().double().norm()), tuple(value.shape)))
    return tuple(made)


def finite(ran: Ran) -> bool:
    """Whether all that a run declares is a number."""
    return all(bool(torch.isfinite(value).all()) for value in ran.values() if value.is_floating_point())


def _drawn(plans: Ready, seed: int, scale: float) -> dict[int, Any]:
    return given.values(plans.single, plans.integers, seed, scale)


def _mixed(plans: Ready, seed: int, scale: float) -> dict[int, Any]:
    """With numbers that attributes name, on every other seed."""
    return given.values(plans.single, plans.integers, seed, scale, () if seed % 2 else plans.matter)


def _mixed_states(plans: Ready, seed: int, scale: float) -> dict[int, Any]:
    return _unsigned(plans, _mixed(plans, seed, scale), frozenset({BUFFER}))


def _states(plans: Ready, seed: int, scale: float) -> dict[int, Any]:
    """Buffers without their signs: there may be a root of a state of an optimizer."""
    return _unsigned(plans, _drawn(plans, seed, scale), frozenset({BUFFER}))


def _mixed_positive(plans: Ready, seed: int, scale: float) -> dict[int, Any]:
    return _unsigned(plans, _mixed(plans, seed, scale))


def _small(plans: Ready, seed: int, scale: float) -> dict[int, Any]:
    """Numbers of moderate size, and none below zero."""
    return _unsigned(plans, _drawn(plans, seed, 1.0))


def _unsigned(plans: Ready, values: dict[int, Any], kinds: frozenset[str] = frozenset()) -> dict[int, Any]:
    """The values, those of some kinds, or of all, without their signs."""
    chosen = {k for k in values if not kinds or plans.single.logicals[k].kind in kinds}
    return {k: value.abs() if k in chosen and value.is_floating_point() else value for k, value in values.items()}


def _integers(single: Plan, parallel: Plan) -> dict[int, Integers]:
    wanted = {
        k: logical.dtype
        for k, logical in enumerate(single.logicals)
        if given.is_given(logical) and is_whole(logical.dtype)
    }
    least = {k: Integers(0, 1, (), (0, 1)) for k in wanted}
    base = given.values(single, least, 0, 1.0)

    def accepts(tensor: int, numbers: tuple[int, ...]) -> bool:
        flat = torch.tensor(numbers).repeat(base[tensor].numel())[: base[tensor].numel()]
        tried = {**base, tensor: flat.reshape(base[tensor].shape).to(base[tensor].dtype)}
        try:
            execute(single, given.of_single(single, tried))
        except Faulty:
            return False
        return True

    return ranges(single, parallel, wanted, accepts)


@contextmanager
def _wide() -> Iterator[None]:
    """Numbers of 64 bits where nothing else is said, and no graph for gradients."""
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    try:
        with torch.no_grad():
            yield
    finally:
        torch.set_default_dtype(before)


def _require(work: int, most_work: int, plan: Plan) -> None:
    if work > most_work:
        problem = f"running it moves {work:,} elements, the limit is {most_work:,}"
        raise Faulty(Fault(problem, plan.source, ours=True))


def _failed(fault: Fault) -> Comparison:
    return Comparison(CANNOT if fault.ours else FAULT, (), (fault,))
