"""What every device holds while one column of the parallel plan is walked, and what went wrong on the way."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from verdict.graph import (
    ABSENT,
    ACCUMULATOR,
    INPUT,
    ONCE_A_STEP,
    PER_STEP,
    Attrs,
    Call,
    Interval,
    Place,
    Plan,
    Region,
    extent,
    inside,
    shard_axes,
)
from verdict.graph.lockstep import Step
from verdict.lineage.binding import Binding
from verdict.lineage.claims import claims_of
from verdict.lineage.compare import Difference
from verdict.lineage.lineages import Evidence, Gap, Law, SumLaw
from verdict.lineage.meaning import Meaning
from verdict.lineage.reference import Bases, Reference
from verdict.lineage.shards import Stated, added, standing, stated, together
from verdict.lineage.transfer import Member, Misfit, Replicas, transfer
from verdict.lineage.values import OVER_MICROBATCHES, OVER_REPLICAS, Label, Merge, Shard, Share, Value, add
from verdict.ops import FACTS
from verdict.ops.domain import BITS
from verdict.ops.types import is_whole, kind
from verdict.outcome import Assumption, Finding

CHUNK_ORDER = "chunk-order-by-region"


class Computed(NamedTuple):
    """What a node makes of what it reads.

    members: the single-device node and the number of the member that it is there; of several replicas where each reads
    a region of its own; none for a zero gradient.
    outputs: None where nothing is known, or wanted. lasting: what it reads alone decides this.
    """

    members: tuple[tuple[int, int], ...]
    outputs: tuple[Value | None, ...]
    lasting: bool


class Holdings:
    """device -> tensor -> value, for one column; and the members, laws, divergences and gaps found so far.

    known: the distinct members, numbered in the order in which they were met. members: for each single-device
    node, by the number of the member, where it stands. computed: by operator, attributes, values read and outputs
    wanted. once: what each device makes once a step. every: where replicas read pieces of their own, look at all.
    """

    def __init__(self, reference: Reference, plan: Plan, binding: Binding, assume: frozenset[str], every: bool) -> None:
        self.reference = reference
        self.every = every
        self.plan = plan
        self.by_region = CHUNK_ORDER in assume
        self.env: list[dict[int, Value | None]] = [{} for _ in range(plan.devices)]
        self.regions = [tensor.region for tensor in plan.tensors]
        self.shapes, self.kinds = plan.shapes, plan.kinds
        of = [kind(logical.dtype) for logical in plan.logicals]
        self.types = [of[tensor.logical] for tensor in plan.tensors]
        self.base_types = [kind(base.dtype) for base in reference.bases]
        self.known: dict[Member, int] = {}
        self.members: dict[int, dict[int, list[Place]]] = defaultdict(lambda: defaultdict(list))
        self.laws: set[Law] = set()
        self.computed: dict[tuple[object, ...], Computed] = {}
        self.transfers: dict[tuple[object, ...], tuple[int, Member] | Misfit] = {}
        self.replicated: dict[tuple[object, ...], Replicas | Misfit] = {}
        self.findings: dict[tuple[object, ...], list[Finding]] = defaultdict(list)
        self.gaps: dict[str, Gap] = {}
        self.unsaid: set[Place] = set()
        self.assumptions: dict[str, Assumption] = {}
        self.claims = claims_of(reference, plan, binding)
        self.seeds = frozenset(plan.seeds)
        self.divided = shard_axes(plan)
        self.accumulated = plan.microbatches > 1
        self.once = tuple(made_once(plan, program) for program in plan.programs)
        self.cuts: dict[tuple[int, int], Value] = {}

    def read(self, device: int, tensor: int) -> Value | None:
        """What `tensor` holds on `device`; None where it is not known any more."""
        if tensor == ABSENT:
            return ()
        held = self.env[device]
        value = held.get(tensor)
        if value is None and tensor not in held:
            value = self.first(device, tensor)
        if value and self.accumulated and self.kinds[tensor] == ACCUMULATOR:
            return self._accumulated(value)
        return value

    def first(self, device: int, tensor: int) -> Value | None:
        """What `tensor` holds on `device` that nothing has written there; it is kept."""
        value = self.env[device][tensor] = self._given(tensor)
        return value

    def write(self, device: int, tensor: int, value: Value | None, place: Place) -> None:
        """Let `tensor` hold `value` on `device`; an accumulator adds it to what it holds."""
        if tensor == ABSENT:
            return
        if value and value[0].region != self.regions[tensor] and extent(value[0].region) != self.shapes[tensor]:
            found = Difference(
                "shape-mismatch",
                (place.op, self.shapes[tensor], extent(value[0].region)),
                f"its output has shape {list(self.shapes[tensor])}, "
                f"what it computes has shape {list(extent(value[0].region))}",
            )
            self.diverge(found, Evidence((place,), (tensor,), value))
            value = self.claim(tensor)
        if value:
            self._require_type(tensor, value, place)
        if self.kinds[tensor] == ACCUMULATOR:
            value = self._added(device, tensor, value, place)
        self.env[device][tensor] = value

    def _require_type(self, tensor: int, value: Value, place: Place) -> None:
        """Note where what is computed has another type than on the single device, which may wrap around elsewhere."""
        held = self.types[tensor]
        for share in value:
            due = self.base_types[share.base]
            if due == held:
                continue
            if (is_whole(held) and is_whole(due)) or ({held, due} & BITS.keys() and FACTS.computes(place.op)):
                why = f"{place.op} makes {held} where the single-device plan has {due}, which has another range"
                self.gap(why, place)

    def sum(self, values: Sequence[Value]) -> Value:
        """The formal sum of `values`, one value where the single-device plan adds up the same; its laws are noted."""
        total, merges = add(values)
        for merge in merges:
            self._rely(merge)
        return self.reference.regrouped(total)

    def over_replicas(self, value: Value | None) -> Value | None:
        """The sum of one value over all replicas: what was so before counts once for each."""
        if value is None or self.plan.replicas == 1:
            return value
        apart = tuple(share for share in value if share.shard)
        alike = [share for share in value if not share.shard]
        total = [share._replace(spread=share.spread | OVER_REPLICAS) for share in alike]
        again = [share for share in total if share in alike]
        total = sorted([*total, *again * (self.plan.replicas - 1)])
        added_up = self._shards_added(apart)
        return tuple(total) if not apart else None if added_up is None else self.sum([tuple(total), added_up])

    def transfer(
        self,
        meaning: Meaning,
        attrs: Attrs,
        regions: tuple[Region | None, ...],
        wanted: tuple[bool, ...],
        own: Mapping[str, Interval] | None = None,
    ) -> tuple[int, Member] | Misfit:
        """The member that reads these regions, with its number; a sentence where they do not fit together.

        own: parts of index axes that it has by itself.
        """
        key = (id(meaning), id(attrs), regions, wanted, tuple(own.items()) if own else ())
        found = self.transfers.get(key)
        if found is None:
            member = transfer(meaning, attrs, regions, wanted, own)
            found = member if isinstance(member, Misfit) else (self.known.setdefault(member, len(self.known)), member)
            self.transfers[key] = found
        return found

    def piece(self, device: int, full: int, size: int) -> Interval | None:
        """Which part of so many elements a device has where it has so few: nobody says, here."""
        return None

    def claim(self, tensor: int) -> Value | None:
        """What the plan says that `tensor` holds; None where it has no partner, or where it is some part of a sum."""
        if tensor == ABSENT or self.plan.tensors[tensor].part != (0, 1):
            return None
        bases = self.claims.get(self.plan.tensors[tensor].logical)
        return None if bases is None else self.region_of(tensor, bases)

    def region_of(self, tensor: int, bases: Bases) -> Value | None:
        """The region that `tensor` is stated to hold, of a sum of bases; None where they have no such region."""
        region, shard = stated(self.plan, self.divided, tensor)
        every = together(Stated(region, shard), self.plan.replicas)
        if not all(inside(every, self.reference.column_shape(base)) for base in bases):
            return None
        return tuple(Share(base, region, shard=shard) for base in bases)

    def name(self, tensor: int) -> str:
        """The name of the logical tensor of which `tensor` is a share."""
        return self.plan.logicals[self.plan.tensors[tensor].logical].name if tensor != ABSENT else "nothing"

    def diverge(self, found: Difference, about: Evidence, note: str = "", help_text: str = "") -> None:
        """Note a divergence at one place. Those of one code and root are one finding."""
        finding = Finding(
            found.code,
            found.text,
            self.where(about.places[0]),
            (note,) if note else (),
            help_text,
            evidence=about,
            kind=found.root,
        )
        self.findings[found.code, found.root].append(finding)

    def join(self, index: int, number: int, place: Place) -> None:
        """Note a node that computes a single-device one, as the member of this number."""
        self.members[index][number].append(place)

    def unordered(self, shares: Sequence[Share]) -> Value | None:
        """The sum of shares that are added up in another order than on the single device: not known, here."""
        return None

    def guess(self, device: int, step: Step, values: tuple[Value | None, ...]) -> tuple[Value, ...] | None:
        """What a node reads, with what is unknown of it guessed: nothing is, here."""
        return None

    def follow(self, steps: Mapping[int, Step]) -> None:
        """Look at the elements of what steps make of which nothing else is known: they are not looked at, here."""

    def gap(self, reason: str, place: Place) -> None:
        """Note something about which nothing can be said."""
        self.gaps.setdefault(reason, Gap(reason, place))
        self.unsaid.add(place)

    def trust(self, assumption: Assumption) -> None:
        """Note an assumption that the walk makes use of."""
        self.assumptions[assumption.name] = assumption

    def where(self, place: Place) -> str:
        """The place in words."""
        rank = f"rank {place.device}" if self.plan.ranks > 1 else "the device"
        once = "once a step" if place.microbatch == ONCE_A_STEP else f"microbatch {place.microbatch}"
        return f"{place.op} {place.name} on {rank}, {once}"

    def _given(self, tensor: int) -> Value | None:
        kind = self.kinds[tensor]
        if kind == ACCUMULATOR:
            return ()
        if kind not in PER_STEP and kind != INPUT and tensor not in self.seeds:
            return None
        value = self.claim(tensor)
        if value is None:
            reason = f"{kind} {self.name(tensor)} has no counterpart in the single-device plan"
            self.gap(reason, Place(0, ONCE_A_STEP, self.name(tensor), kind))
        return value

    def _added(self, device: int, tensor: int, value: Value | None, place: Place) -> Value | None:
        """An accumulator with `value` added to it; not known any more once something unknown was added."""
        if place.microbatch == ONCE_A_STEP and self.plan.microbatches > 1:
            self.gap(f"{self.name(tensor)} adds up over the microbatches, and once a step too", place)
            return None
        before = self.env[device].get(tensor, ())
        return None if value is None or before is None else self.sum([before, value])

    def _accumulated(self, value: Value) -> Value:
        """An accumulator after all microbatches: sums over the batch are complete for this replica."""
        return tuple(sorted(share._replace(spread=share.spread | OVER_MICROBATCHES) for share in value))

    def _shards_added(self, value: Value) -> Value | None:
        """The sum over the replicas of parts of which each has its own; None where it is no share."""
        total: list[Value] = []
        for share in value:
            found = added(share, self.reference.bases, self.plan.replicas)
            if found is None:
                return None
            label = share.shard.label if isinstance(share.shard, Shard) else None
            if label is not None:
                self._rely_on({label: {found[1][k] for k in standing(len(found[1]), self.every)}})
            total.append((found[0],))
        return self.sum(total)

    def _rely(self, merge: Merge) -> None:
        cuts: dict[Label, set[int]] = defaultdict(set)
        for part in merge.parts:
            for label, interval in part:
                cuts[label].update(interval)
                if isinstance(merge.shard, Shard) and merge.shard.label == label:
                    by = [k * merge.shard.stride for k in standing(self.plan.replicas, self.every)]
                    cuts[label].update(point + step for point in interval for step in by)
        self._rely_on(cuts)

    def _rely_on(self, cuts: Mapping[Label, set[int]]) -> None:
        for label, points in ((label, points) for joined, points in cuts.items() for label in joined.axes):
            signature = self.reference.partners[label.node].signature
            self.laws.add(SumLaw(signature, label.output, label.atom, tuple(sorted({0, label.size} | points))))


def made_once(plan: Plan, program: Sequence[Call]) -> frozenset[int]:
    """What a device makes once a step."""
    segments = {call.segment for call in program if call.microbatch == ONCE_A_STEP}
    return frozenset(tensor for segment in segments for node in plan.segments[segment].nodes for tensor in node.outputs)
