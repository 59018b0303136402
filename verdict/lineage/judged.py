"""Every declared output of the parallel plan against the single-device one: right, wrong, or why nothing is said."""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from verdict.graph import ABSENT, ACCUMULATOR, ONCE_A_STEP, Held, Place, Plan, shard_axes, whole
from verdict.lineage.binding import Binding
from verdict.lineage.columns import NO_COLUMN, SUMMED
from verdict.lineage.compare import Difference, difference, incomplete
from verdict.lineage.hints import Hints
from verdict.lineage.lineages import End, Evidence, Gap, Lineages
from verdict.lineage.reference import Bases, Reference
from verdict.lineage.shards import Stated, stated, stated_end
from verdict.lineage.updates import Key, hinted, key_of, named, shape_of, updates_due
from verdict.lineage.values import OVER_MICROBATCHES, OVER_REPLICAS, Value
from verdict.outcome import Finding

Numbered = tuple[tuple[int, End], ...]


class Judged(NamedTuple):
    """One declared output. number: its place in `Plan.declared`. where: for people.

    due, must: the single-device values of whose sum it must be this region. of: what of the single-device plan it is
    a share of. fault: what is wrong with it. problem: why nothing is said of it. It is right where there is neither.
    """

    number: int
    held: Held
    value: Value | None
    where: str
    due: Bases = ()
    must: Stated | None = None
    of: Key | None = None
    fault: Difference | None = None
    problem: str = ""

    @property
    def right(self) -> bool:
        """Whether it holds what it must on every rank that stands for the device."""
        return self.value is not None and self.fault is None and not self.problem

    def finding(self) -> Finding:
        """What is wrong with it, as a finding."""
        if self.fault is None:
            raise ValueError(f"nothing is wrong with {self.where}")
        place = Place(self.held.device, ONCE_A_STEP, self.where, "output")
        region, shard = self.must or Stated(())
        about = Evidence((place,), (self.held.tensor,), self.value, self.due, region, shard=shard)
        return Finding(self.fault.code, self.fault.text, self.where, evidence=about, kind=self.fault.kind)

    def gap(self) -> Gap:
        """Why nothing is said of it."""
        problem = self.problem or "is not known at the end"
        return Gap(problem, Place(self.held.device, ONCE_A_STEP, self.where, "output"))


def judge(lineages: Lineages, plan: Plan, binding: Binding) -> tuple[Judged, ...]:
    """All that the plan declares: losses, gradients, further outputs, in this order."""
    losses, gradients = len(plan.losses), len(plan.losses) + len(plan.gradients)
    ends = lineages.ends
    return (
        *_losses(lineages, plan, tuple(enumerate(ends[:losses]))),
        *_gradients(lineages, plan, binding, tuple(enumerate(ends[losses:gradients], losses))),
        *_outputs(lineages, plan, binding, tuple(enumerate(ends[gradients:], gradients))),
    )


def final_gradients(reference: Reference) -> dict[int, Bases]:
    """For each single-device weight (logical tensor), the formal sum that is its gradient."""
    plan = reference.plan
    return {plan.tensors[held.weight].logical: reference.values.get(held.tensor, ()) for held in plan.gradients}


def due_losses(reference: Reference) -> dict[int, Bases]:
    """The formal sum that each loss of the single-device plan (logical tensor) is."""
    plan = reference.plan
    return {plan.tensors[held.tensor].logical: reference.values.get(held.tensor, ()) for held in plan.losses}


def _losses(lineages: Lineages, plan: Plan, ends: Numbered) -> Iterator[Judged]:
    reference = lineages.reference
    due = due_losses(reference)
    hints = Hints(reference.plan, due)
    for number, (held, value) in ends:
        logical = plan.logicals[plan.tensors[held.tensor].logical]
        found = Judged(number, held, value, f"the loss {logical.name} on rank {held.device}")
        if not due:
            yield found if value is None else found._replace(problem="the single-device plan declares no loss")
            continue
        partner = hints.of(logical, plan.source) if len(due) > 1 else None
        loss = next(iter(due)) if partner is None else partner
        expected = due[loss]
        region = whole(reference.column_shape(expected[0])) if expected else ()
        if value is None:
            yield found._replace(due=expected, must=Stated(region))
            continue
        same = reference.expected(value, expected)
        fault = difference(value, same, region, reference.bases) or _again(reference, value)
        problem = "" if fault else _unlike_a_sum(reference, plan, held, value)
        yield found._replace(due=expected, must=Stated(region), of=(False, loss), fault=fault, problem=problem)


def _again(reference: Reference, value: Value) -> Difference | None:
    """Why the losses of the replicas do not add up to the loss: each holds the sum of them already."""
    for share in value:
        if share.spread & OVER_REPLICAS:
            name = reference.bases[share.base].name
            text = f"{name} is added up over the replicas before its end"
            return Difference("reduced-twice", (share.base,), text, "early")
    return None


def _unlike_a_sum(reference: Reference, plan: Plan, held: Held, value: Value) -> str:
    """Why the loss is not what a sum over the columns is made of; empty where it is."""
    if plan.columns == 1:
        return ""
    if any(reference.bases[share.base].column == NO_COLUMN for share in value):
        return "it does not depend on the batch, and losses of replicas and microbatches add up"
    if plan.kind(held.tensor) != ACCUMULATOR and any(share.spread & OVER_MICROBATCHES for share in value):
        return "it was added up over the microbatches before its end"
    return ""


def _gradients(lineages: Lineages, plan: Plan, binding: Binding, ends: Numbered) -> Iterator[Judged]:
    reference, divided = lineages.reference, shard_axes(plan)
    due = final_gradients(reference)
    for number, (held, value) in ends:
        logical = plan.tensors[held.weight].logical
        where = f"the gradient of {plan.logicals[logical].name} on rank {held.device}"
        single, must = binding.logical.get(logical), stated_end(plan, divided, held)
        found = Judged(number, held, value, where)
        if single is None or single not in due:
            yield found._replace(problem="the single-device plan declares none of it")
        elif must is None:
            yield found._replace(of=(True, single), problem="it is divided by the replicas unevenly")
        else:
            yield _compared(found._replace(of=(True, single), due=due[single]), must, reference, plan)


def _outputs(lineages: Lineages, plan: Plan, binding: Binding, ends: Numbered) -> Iterator[Judged]:
    reference, divided = lineages.reference, shard_axes(plan)
    due, hints = updates_due(reference), hinted(reference.plan)
    for number, (held, value) in ends:
        key, must = key_of(plan, binding, hints, held), _must(plan, divided, held)
        where = f"{named(plan, held)} on rank {held.device}"
        found = Judged(number, held, value, where)
        if key is None or key not in due:
            yield found._replace(problem="it has no counterpart")
        elif must is None:
            yield found._replace(of=key, problem="it is divided by the replicas unevenly")
        else:
            problem = "" if value is None else _undecided(reference, plan, divided, held, due[key])
            found = found._replace(of=key, due=due[key], problem=problem)
            yield found._replace(must=must) if problem else _compared(found, must, reference, plan)


def _compared(found: Judged, must: Stated, reference: Reference, plan: Plan) -> Judged:
    found = found._replace(must=must)
    if found.value is None:
        return found
    due = reference.expected(found.value, found.due)
    fault = difference(found.value, due, must.region, reference.bases, must.shard)
    return found._replace(fault=fault or incomplete(found.value, reference.bases, plan))


def _must(plan: Plan, divided: Mapping[int, int], held: Held) -> Stated | None:
    """The region of the single-device output that a declared output must hold; None where there is no even one."""
    return stated(plan, divided, held.tensor) if held.weight == ABSENT else stated_end(plan, divided, held)


def _undecided(reference: Reference, plan: Plan, divided: Mapping[int, int], held: Held, due: Bases) -> str:
    """Why nothing is said of an output of which it is known what it holds; empty where something is."""
    columns = {reference.bases[base].column for base in due}
    if columns <= {NO_COLUMN, SUMMED}:
        if held.weight == ABSENT and due and shape_of(plan, divided, held) != reference.column_shape(due[0]):
            return "it has another shape than the single-device output"
        return ""
    if held.weight != ABSENT:
        return "it depends on the column of the batch"
    if plan.microbatches > 1:
        return "it is one of each microbatch"
    same = shape_of(plan, divided, held) == reference.column_shape(due[0])
    return "" if same else "it is no column of the single-device output"
