"""Walk one column of the parallel plan and say what every tensor holds, in single-device values.

All plan devices run in lockstep, as they would. Each node finds its partner by what it reads; what it
writes is what the partner's rule implies (a claim, proved by its stage later). Where a node reads
something else than its partner, that is a divergence: it is recorded once, and the walk goes on behind it
as if the plan's own claim held, so that independent faults are found too.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence

from verdict.graph import (
    ABSENT,
    ACCUMULATOR,
    INPUT,
    ONCE_A_STEP,
    PER_STEP,
    Attrs,
    Plan,
    extent,
)
from verdict.graph.lockstep import CHUNK, Handlers, Step, Walk, attribute, lockstep
from verdict.lineage import communicate
from verdict.lineage.binding import Binding
from verdict.lineage.columns import SUMMED
from verdict.lineage.compare import Difference, difference
from verdict.lineage.lineages import Gap, Law, Lineages, LinearLaw, Place, SumLaw
from verdict.lineage.reference import COPIES, SUM, Bases, Meaning, Partner, Reference
from verdict.lineage.transfer import Member, transfer
from verdict.lineage.values import (
    ALL_COLUMNS,
    OWN_REPLICA,
    Label,
    Merge,
    Part,
    Share,
    Value,
    add,
    chunks,
    concatenate,
    piece,
)
from verdict.outcome import Assumption, Finding

CHUNK_ORDER = "chunk-order-by-region"


def propagate(
    reference: Reference,
    plan: Plan,
    binding: Binding,
    microbatch: int = 0,
    assume: frozenset[str] = frozenset(),
) -> Lineages:
    """Say what every tensor of one column of `plan` holds. `microbatch`: whose column is looked at."""
    walker = _Walker(reference, plan, binding, microbatch, assume)
    programs = [
        [
            Step(node, call.microbatch)
            for call in program
            if call.microbatch in (microbatch, ONCE_A_STEP)
            for node in plan.segments[call.segment].nodes
        ]
        for program in plan.programs
    ]
    walk = lockstep(programs, Handlers(walker.local, walker.send, walker.receive, walker.meet))
    return walker.lineages(walk, sum(len(program) for program in programs))


class _Walker:
    """The state of the walk: what each device holds so far."""

    def __init__(
        self, reference: Reference, plan: Plan, binding: Binding, microbatch: int, assume: frozenset[str]
    ) -> None:
        self.reference = reference
        self.plan = plan
        self.microbatch = microbatch
        self.by_region = CHUNK_ORDER in assume
        self.env: list[dict[int, Value | None]] = [{} for _ in range(plan.devices)]
        self.shapes = [extent(tensor.region) for tensor in plan.tensors]
        self.members: dict[int, dict[Member, list[Place]]] = defaultdict(dict)
        self.laws: set[Law] = set()
        self.transfers: dict[tuple[object, ...], Member | str] = {}
        self.findings: dict[tuple[object, ...], list[tuple[Finding, Place]]] = defaultdict(list)
        self.gaps: dict[str, Gap] = {}
        self.used: dict[str, Assumption] = {}
        self.claims = _claims(reference, plan, binding)
        self.seeds = frozenset(plan.seeds)

    # what a device holds

    def read(self, device: int, tensor: int) -> Value | None:
        """What `tensor` holds on `device`; None where it is not known any more."""
        if tensor == ABSENT:
            return ()
        held = self.env[device]
        if tensor not in held:
            held[tensor] = self.initial(tensor)
        value = held[tensor]
        if value and self.plan.kind(tensor) == ACCUMULATOR:
            return self.accumulated(value)
        return value

    def initial(self, tensor: int) -> Value | None:
        kind = self.plan.kind(tensor)
        if kind == ACCUMULATOR:
            return ()
        if kind in PER_STEP or kind == INPUT or tensor in self.seeds:
            return self.claim(tensor)
        return None

    def claim(self, tensor: int) -> Value | None:
        """What the plan says that `tensor` holds; None where its logical tensor has no partner."""
        bases = self.claims.get(self.plan.tensors[tensor].logical)
        if bases is None:
            return None
        return tuple(Share(base, self.plan.tensors[tensor].region) for base in bases)

    def accumulated(self, value: Value) -> Value:
        """An accumulator after all microbatches: sums over the batch are complete for this replica."""
        bases = self.reference.bases
        kept = [s._replace(spread=OWN_REPLICA) if bases[s.base].column == SUMMED else s for s in value]
        repeated = [s for s in value if bases[s.base].column != SUMMED] if self.plan.microbatches > 1 else []
        return tuple(sorted([*kept, *repeated]))

    def write(self, device: int, tensor: int, value: Value | None) -> None:
        if tensor == ABSENT:
            return
        if self.plan.kind(tensor) == ACCUMULATOR and value is not None:
            value, merges = add([self.env[device].get(tensor) or (), value])
            self.rely(merges)
        self.env[device][tensor] = value

    def rely(self, merges: Sequence[Merge]) -> None:
        """Note the summing laws that joining these parts takes."""
        for merge in merges:
            cuts: dict[Label, set[int]] = defaultdict(set)
            for part in merge.parts:
                for label, interval in part:
                    cuts[label].update(interval)
            for label, points in cuts.items():
                signature = self.reference.partners[label.node].signature
                self.laws.add(SumLaw(signature, label.output, label.atom, tuple(sorted({0, label.size} | points))))

    # what went wrong

    def diverge(self, found: Difference, place: Place, expected: str, help_text: str = "") -> None:
        finding = Finding(found.code, found.text, _where(self.plan, place), (expected,) if expected else (), help_text)
        self.findings[found.code, found.root].append((finding, place))

    def gap(self, reason: str, place: Place) -> None:
        self.gaps.setdefault(reason, Gap(reason, place))

    # local nodes

    def local(self, device: int, step: Step) -> None:
        node = step.node
        place = Place(device, step.microbatch, node.name, node.op)
        if node.op == "dataloader":
            for tensor in node.outputs:
                self.read(device, tensor)
            return
        values = [self.read(device, tensor) for tensor in node.inputs]
        known = [value for value in values if value is not None]
        if len(known) < len(values):
            for tensor in node.outputs:
                self.write(device, tensor, None)
        elif node.op in COPIES:
            for tensor in node.outputs:
                self.write(device, tensor, known[0])
        elif node.op == SUM:
            total, merges = add(known)
            self.rely(merges)
            self.write(device, node.outputs[0], total)
        elif node.op == CHUNK:
            self.write(device, node.outputs[0], self.chunk(device, step, known[0], place))
        else:
            self.compute(device, step, tuple(known), place)

    def compute(self, device: int, step: Step, values: tuple[Value, ...], place: Place) -> None:
        node = step.node
        if node.op.endswith(".grad") and not any(values[: len(values) - len(node.outputs)]):
            for tensor in node.outputs:
                self.write(device, tensor, ())
            return
        bases = tuple(tuple(share.base for share in value) for value in values)
        candidates = self.reference.by_inputs.get((node.op, bases), ())
        index = self.choose(candidates, node.attrs, node.outputs)
        if index is None:
            index = self.partner_by_hint(node.op, bases, node.outputs)
            if index is None:
                self.no_partner(device, step, bases, place)
                return
        partner = self.reference.partners[index]
        meaning = self.reference.meanings[partner.signature]
        values = self.expected(device, step, values, partner, meaning, place)
        part, values = self.inherit(meaning, values)
        regions = tuple(value[0].region if value else None for value in values)
        wanted = tuple(tensor != ABSENT for tensor in node.outputs)
        key = (partner.signature, node.attrs, regions, wanted)
        member = self.transfers.get(key)
        if member is None:
            member = self.transfers[key] = transfer(meaning, node.attrs, regions, wanted)
        if isinstance(member, str):
            self.unfit(device, step, member, partner, meaning, place)
            return
        self.members[index].setdefault(member, []).append(place)
        for k, (tensor, claim) in enumerate(zip(node.outputs, member.claims, strict=True)):
            if tensor == ABSENT or claim is None:
                continue
            base = partner.outputs[k]
            if base == ABSENT:
                self.gap(f"{node.op} computes output {k}, which the single-device plan does not", place)
                self.write(device, tensor, None)
                continue
            if extent(claim.region) != self.shapes[tensor]:
                found = Difference(
                    "shape-mismatch",
                    (partner.signature, k),
                    f"its output has shape {list(self.shapes[tensor])}, its inputs make {list(extent(claim.region))}",
                )
                self.diverge(found, place, "")
                self.write(device, tensor, self.claim(tensor))
                continue
            own = tuple((Label(index, k, name, meaning.sizes[name]), cut) for name, cut in claim.part)
            self.write(device, tensor, (Share(base, claim.region, tuple(sorted((*own, *part)))),))

    def choose(self, candidates: Sequence[int], attrs: Attrs, outputs: tuple[int, ...]) -> int | None:
        """The candidate that agrees in attributes, else the one that the outputs' hints name, else the first."""
        if len(candidates) <= 1:
            return candidates[0] if candidates else None
        alike = [index for index in candidates if self.reference.partners[index].node.attrs == attrs]
        hinted = [index for index in (alike or candidates) if self.is_hinted(index, outputs)]
        return (hinted or alike or list(candidates))[0]

    def is_hinted(self, index: int, outputs: tuple[int, ...]) -> bool:
        made = set(self.reference.partners[index].outputs)
        return any(
            tensor != ABSENT and made & set(self.claims.get(self.plan.tensors[tensor].logical, ()))
            for tensor in outputs
        )

    def partner_by_hint(self, op: str, bases: tuple[Bases, ...], outputs: tuple[int, ...]) -> int | None:
        """The partner that the plan seems to mean, where what the node reads does not tell."""
        for tensor in outputs:
            if tensor == ABSENT:
                continue
            for base in self.claims.get(self.plan.tensors[tensor].logical, ()):
                index = self.reference.bases[base].node
                if index >= 0 and self.reference.partners[index].node.op == op:
                    return index
        if not op.endswith(".grad"):
            return None
        forward = next((found for grads in (1, 2) if (found := self.reference.by_forward.get((op, bases[grads:])))), ())
        return self.choose(forward, (), outputs)

    def no_partner(self, device: int, step: Step, bases: tuple[Bases, ...], place: Place) -> None:
        names = [self.reference.bases[base].name for value in bases for base in value]
        self.gap(f"no node of the single-device plan computes {step.node.op} of {', '.join(names)}", place)
        for tensor in step.node.outputs:
            self.write(device, tensor, self.claim(tensor))

    def unfit(self, device: int, step: Step, problem: str, partner: Partner, meaning: Meaning, place: Place) -> None:
        """The shares do not fit the operator, or no law tells what they make: say so and take the claims."""
        if meaning.problem:
            self.gap(f"{partner.node.op}: {problem}", place)
        else:
            self.diverge(Difference("wrong-slice", (partner.signature, problem), problem), place, "")
        for tensor in step.node.outputs:
            self.write(device, tensor, self.claim(tensor) if tensor != ABSENT else None)

    def expected(
        self,
        device: int,
        step: Step,
        values: tuple[Value, ...],
        partner: Partner,
        meaning: Meaning,
        place: Place,
    ) -> tuple[Value, ...]:
        """The values, each exactly one region of what the partner reads; divergences are noted and mended."""
        mended = list(values)
        linear = meaning.linear
        for position, (value, due) in enumerate(zip(values, partner.inputs, strict=True)):
            if not value and not due:
                continue
            tensor = step.node.inputs[position]
            region = value[0].region if value else self.plan.tensors[tensor].region if tensor != ABSENT else ()
            partial = {share.part for share in value}
            deferred = len(partial) == 1 and position in linear
            whole = tuple(share._replace(part=()) for share in value) if deferred else value
            found = difference(whole, due, region, self.reference.bases)
            if found is None:
                continue
            name = self.plan.logicals[self.plan.tensors[tensor].logical].name if tensor != ABSENT else "nothing"
            wanted = " + ".join(self.reference.bases[base].name for base in due) or "nothing"
            self.diverge(found, place, f"input {position} ({name}) must be {wanted}")
            claimed = self.plan.tensors[tensor].region if tensor != ABSENT else region
            mended[position] = tuple(Share(base, claimed) for base in due)
        return tuple(mended)

    def inherit(self, meaning: Meaning, values: tuple[Value, ...]) -> tuple[Part, tuple[Value, ...]]:
        """The part that the outputs inherit from inputs that are parts of a sum, by linearity."""
        partial = [position for position, value in enumerate(values) if value and value[0].part]
        if not partial:
            return (), values
        parts = {values[position][0].part for position in partial}
        grads = [position for position in range(meaning.signature.grads) if values[position]]
        joint = partial == grads if meaning.is_gradient else len(partial) == 1
        if len(parts) != 1 or not joint:
            return (), values
        self.laws.add(LinearLaw(meaning.signature, tuple(partial)))
        (part,) = parts
        return part, tuple(tuple(share._replace(part=()) for share in value) for value in values)

    # communication

    def chunk(self, device: int, step: Step, value: Value, place: Place) -> Value | None:
        ranks, dim = attribute(step.node, "ranks"), attribute(step.node, "dim")
        source, target = step.node.inputs[0], step.node.outputs[0]
        if device not in ranks:
            found = Difference("wrong-group", ("chunk", ranks), f"device {device} is not in its group {list(ranks)}")
            self.diverge(found, place, "")
            return self.claim(target)
        if not value:
            return value
        intervals = chunks(self.shapes[source][dim], len(ranks))
        position = ranks.index(device)
        if self.by_region:
            start = self.plan.tensors[target].region[dim][0] - self.plan.tensors[source].region[dim][0]
            stated = next((k for k, cut in enumerate(intervals) if cut[0] == start), position)
            if stated != position:
                self.take_on_trust()
                position = stated
        return piece(value, dim, intervals[position]) if position < len(intervals) else None

    def take_on_trust(self) -> None:
        self.used[CHUNK_ORDER] = Assumption(
            CHUNK_ORDER,
            "chunks and gathered pieces go by the regions that the plan states, not by the group's order",
        )

    def send(self, device: int, step: Step) -> Value | None:
        return self.read(device, step.node.inputs[0])

    def receive(self, device: int, step: Step, value: Value | None, sent: Step) -> None:
        target, source = step.node.outputs[0], sent.node.inputs[0]
        if self.shapes[target] != self.shapes[source]:
            found = Difference(
                "shape-mismatch",
                (step.node.name,),
                f"it receives shape {list(self.shapes[source])}, expects {list(self.shapes[target])}",
            )
            self.diverge(found, Place(device, step.microbatch, step.node.name, step.node.op), "")
            value = self.claim(target)
        self.write(device, target, value)

    def meet(self, members: Mapping[int, Step]) -> None:
        first_device, first = next(iter(members.items()))
        node = first.node
        ranks = tuple(attribute(node, "ranks"))
        place = Place(first_device, first.microbatch, node.name, node.op)
        values = [self.read(rank, members[rank].node.inputs[0]) if members[rank].node.inputs else () for rank in ranks]
        known = [value for value in values if value is not None]
        if len(known) < len(values):
            results: list[Value | None] = [None] * len(ranks)
        else:
            results = self.exchange(node.op, members, ranks, known, place)
        for rank, value in zip(ranks, results, strict=True):
            for tensor in members[rank].node.outputs:
                self.write(rank, tensor, value)

    def exchange(
        self, op: str, members: Mapping[int, Step], ranks: tuple[int, ...], values: list[Value], place: Place
    ) -> list[Value | None]:
        node = members[ranks[0]].node
        dim = attribute(node, "dim")
        if op == "all_reduce":
            results, merges = communicate.all_reduce(values)
            self.rely(merges)
            if attribute(node, "replicas"):
                results = [self.over_replicas(value) for value in results]
            return results
        if op == "all_gather":
            return self.gather(members, ranks, values, dim, place)
        if op == "reduce_scatter":
            results, merges = communicate.reduce_scatter(values, dim)
            self.rely(merges)
            return results
        if op == "all_to_all":
            results, _ = communicate.all_to_all(values, attribute(node, "split_dim"), attribute(node, "concat_dim"))
            return results
        if op == "broadcast":
            return [values[ranks.index(attribute(node, "root"))]] * len(ranks)
        total, merges = add(values)
        self.rely(merges)
        return [total if rank == attribute(node, "root") else None for rank in ranks]

    def over_replicas(self, value: Value | None) -> Value | None:
        """The sum of one value over all replicas: complete for sums over the batch, repeated for all else."""
        if value is None or self.plan.replicas == 1:
            return value
        bases = self.reference.bases
        total = [
            share._replace(spread=ALL_COLUMNS)
            for share in value
            if bases[share.base].column == SUMMED and share.spread < ALL_COLUMNS
        ]
        repeated = [s for s in value if bases[s.base].column != SUMMED or s.spread == ALL_COLUMNS]
        return tuple(sorted([*total, *repeated, *repeated]))

    def gather(
        self, members: Mapping[int, Step], ranks: tuple[int, ...], values: list[Value], dim: int, place: Place
    ) -> list[Value | None]:
        result = concatenate(values, dim)
        if result is not None:
            return [result] * len(ranks)
        order = sorted(range(len(ranks)), key=lambda k: values[k][0].region[dim] if values[k] else (0, 0))
        result = concatenate([values[k] for k in order], dim)
        if result is not None and self.by_region:
            self.take_on_trust()
            return [result] * len(ranks)
        targets = [members[rank].node.outputs[0] for rank in ranks]
        name = self.plan.logicals[self.plan.tensors[targets[0]].logical].name
        if result is None:
            found = Difference(
                "wrong-group",
                (place.name,),
                f"the pieces of {name} that it joins are no one region: "
                + ", ".join(f"{v[0].region[dim][0]}:{v[0].region[dim][1]}" if v else "zero" for v in values),
            )
            self.diverge(found, place, "")
            return [self.claim(target) for target in targets]
        found = Difference(
            "wrong-order",
            ("gather",),
            f"the pieces of {name} arrive in the order {_permutation(order)} of the group",
        )
        self.diverge(
            found,
            place,
            f"by the position in the group the devices hold {', '.join(_slice(value, dim) for value in values)}",
            "list the members of the group in the order of their regions; "
            f"or take the regions for granted with --assume {CHUNK_ORDER}",
        )
        return [result] * len(ranks)

    # the end

    def lineages(self, walk: Walk, nodes: int) -> Lineages:
        findings = tuple(_extent(found) for found in self.findings.values())
        stuck = tuple(
            Gap(
                "the walk did not reach its end",
                Place(s.device, s.step.microbatch, s.step.node.name, s.step.node.op),
            )
            for s in walk.stuck[:1]
        )
        return Lineages(
            reference=self.reference,
            members={
                index: {member: tuple(places) for member, places in found.items()}
                for index, found in sorted(self.members.items())
            },
            laws=frozenset(self.laws),
            held=tuple({tensor: self.read(device, tensor) for tensor in env} for device, env in enumerate(self.env)),
            findings=findings,
            gaps=(*self.gaps.values(), *stuck),
            assumptions=tuple(self.used.values()),
            nodes=nodes,
        )


def _claims(reference: Reference, plan: Plan, binding: Binding) -> dict[int, Bases]:
    """For each logical tensor of the parallel plan, the single-device bases that hints say it is."""
    single = reference.plan
    by_hint: dict[tuple[object, ...], Bases] = {}
    for tensor, bases in reference.values.items():
        logical = single.logicals[single.tensors[tensor].logical]
        if logical.origin is not None:
            by_hint.setdefault((logical.kind, logical.origin, logical.name), bases)
    claims: dict[int, Bases] = {}
    for index, logical in enumerate(plan.logicals):
        if index in binding.logical:
            given = reference.given.get(binding.logical[index])
            if given is not None:
                claims[index] = (given,)
            continue
        hinted = by_hint.get((logical.kind, logical.origin, logical.name))
        if hinted is not None:
            claims[index] = hinted
    for seed in plan.seeds:
        for own in single.seeds:
            if own in reference.values:
                claims[plan.tensors[seed].logical] = reference.values[own]
    return claims


def _where(plan: Plan, place: Place) -> str:
    rank = f"rank {place.device}" if plan.ranks > 1 else "the device"
    once = "once a step" if place.microbatch == ONCE_A_STEP else f"microbatch {place.microbatch}"
    return f"{place.op} {place.name} on {rank}, {once}"


def _extent(found: list[tuple[Finding, Place]]) -> Finding:
    first, _ = found[0]
    return Finding(first.code, first.title, first.where, first.notes, first.help, len(found))


def _permutation(order: Sequence[int]) -> str:
    return "(" + ", ".join(str(k) for k in order) + ")"


def _slice(value: Value, dim: int) -> str:
    return "{}:{}".format(*value[0].region[dim]) if value else "nothing"
