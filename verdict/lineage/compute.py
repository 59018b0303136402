"""What one parallel node makes of what it reads: find its partner, compare the inputs, claim the outputs."""

from collections.abc import Sequence

from verdict.graph import ABSENT, GRAD, Attrs, Node, Place, extent
from verdict.graph.lockstep import Step
from verdict.lineage.columns import SUMMED
from verdict.lineage.compare import Difference, difference, incomplete
from verdict.lineage.holdings import Computed, Holdings
from verdict.lineage.inherit import NOT_INHERITED, ignore, inherit
from verdict.lineage.lineages import Evidence, IgnoredLaw
from verdict.lineage.meaning import Meaning, base_op, made_of_parts
from verdict.lineage.own_size import differs_in_size, own_intervals
from verdict.lineage.pieces import as_pieces
from verdict.lineage.reference import Bases
from verdict.lineage.replicas import of_each_replica
from verdict.lineage.sums import as_sum, times_zero
from verdict.lineage.transfer import Member, Misfit, Replicas
from verdict.lineage.values import OWN_COLUMN, WHOLE, Label, Share, Value
from verdict.ops import FACTS


def compute(holdings: Holdings, device: int, step: Step, values: tuple[Value, ...], place: Place) -> None:
    """Run a node that computes. What it writes is what its partner's rule implies, a claim to be proved.

    Nodes of several ranks that compute the same from the same, as most do, are looked into once.
    """
    node = step.node
    wanted = tuple([tensor != ABSENT for tensor in node.outputs])
    key = (node.op, id(node.attrs), values, wanted)
    result = holdings.computed.get(key)
    if result is None:
        result = _result(holdings, device, step, values, place, wanted)
        if result is None:
            return
        if result.lasting:
            holdings.computed[key] = result
    for tensor, value in zip(node.outputs, result.outputs, strict=True):
        holdings.write(device, tensor, value, place)
    for index, number in result.members:
        holdings.join(index, number, place)


def _result(
    holdings: Holdings, device: int, step: Step, values: tuple[Value, ...], place: Place, wanted: tuple[bool, ...]
) -> Computed | None:
    """What a node computes; None where nothing can be said of it: then its outputs have been written."""
    node = step.node
    if node.op.endswith(GRAD) and not any(values[: len(values) - len(node.outputs)]):
        return Computed((), ((),) * len(node.outputs), lasting=True)
    bases = tuple([tuple([share.base for share in value]) for value in values])
    if FACTS.random(node.op) and _drawn_apart(holdings, node, bases):
        holdings.gap(f"several {node.op} nodes of the single-device plan draw random numbers for the same input", place)
        _take_claims(holdings, device, node.outputs, place)
        return None
    candidates = holdings.reference.by_inputs.get((node.op, bases), ())
    if not candidates and times_zero(holdings, node):
        return Computed((), ((),), lasting=True)
    index = _partner(holdings, node, bases, candidates)
    if index is None:
        total = as_sum(holdings, node, values)
        known = as_pieces(node, values) if total is None else total
        if known is not None:
            return Computed((), (known,), lasting=True)
        holdings.gap(_alone(holdings, node, bases), place)
        _take_claims(holdings, device, node.outputs, place)
        return None
    partner = holdings.reference.partners[index]
    meaning = partner.meaning
    part, mark, times = NOT_INHERITED
    expected: tuple[Value, ...] | None = values
    if len(candidates) != 1 or not all(map(_is_one_region, values)):
        (part, mark, times), values = inherit(holdings, meaning, ignore(holdings, partner, values))
        expected = _expected(holdings, step, values, index, place)
    if expected is None:
        _forget(holdings, device, node.outputs, place)
        return None
    found = _members(holdings, device, node, meaning, expected, wanted)
    if isinstance(found, Misfit):
        _misfit(holdings, device, node, index, found, place)
        return None
    whole = not meaning.complete or _completed(holdings, step, meaning, expected, index, place)
    spread = _spread(holdings, meaning, expected)
    if spread is None or (mark and found.atom):
        what = "sums over the batch that are complete to other degrees" if spread is None else "pieces and parts"
        holdings.members[index][found.numbers[0]].append(place)
        holdings.gap(f"{node.op} joins {what}", place)
        _take_claims(holdings, device, node.outputs, place)
        return None
    outputs: list[Value | None] = []
    for k, (tensor, claim) in enumerate(zip(node.outputs, found.claims, strict=True)):
        base = partner.outputs[k]
        if tensor != ABSENT and base == ABSENT:
            holdings.gap(f"{node.op} computes output {k}, which the single-device plan does not", place)
        if claim is None or base == ABSENT:
            outputs.append(None)
            continue
        own = tuple([(Label(index, k, name, meaning.sizes[name]), cut) for name, cut in claim.part])
        joined = tuple(sorted((*own, *part))) if part else own
        outputs.append((Share(base, claim.region, joined, spread, mark or found.mark(k, index, meaning), times),))
    lasting = whole and len(candidates) == 1 and expected == values and not found.own
    return Computed(tuple([(index, number) for number in found.numbers]), tuple(outputs), lasting)


def _alone(holdings: Holdings, node: Node, bases: tuple[Bases, ...]) -> str:
    """Why a node has no partner; of what a recording could not follow it is the reason that the node states, which may
    be its name.
    """
    reason = dict(node.attrs).get("reason") if FACTS.of(node.op) is None else None
    if reason is not None:
        return "what follows from that is not known" if str(reason) in node.name else str(reason)
    names = [holdings.reference.bases[base].name for value in bases for base in value]
    return f"no node of the single-device plan computes {node.op} of {', '.join(names)}"


def _members(
    holdings: Holdings,
    device: int,
    node: Node,
    meaning: Meaning,
    values: tuple[Value, ...],
    wanted: tuple[bool, ...],
) -> Replicas | Misfit:
    """The member that reads these regions, or the members where each replica reads its own; why there is none."""
    if any(value and value[0].shard for value in values):
        return of_each_replica(holdings, meaning, node.attrs, values, wanted)
    regions = tuple([value[0].region if value else None for value in values])
    found, own = holdings.transfer(meaning, node.attrs, regions, wanted), {}
    if _makes_another_size(holdings, node, found):
        made = tuple(holdings.shapes[tensor] if tensor != ABSENT else None for tensor in node.outputs)
        own = own_intervals(meaning, regions, made, lambda full, size: holdings.piece(device, full, size))
    if own:
        found = holdings.transfer(meaning, node.attrs, regions, wanted, own)
    return found if isinstance(found, Misfit) else Replicas((found[0],), found[1].claims, own=bool(own))


def _makes_another_size(holdings: Holdings, node: Node, found: tuple[int, Member] | Misfit) -> bool:
    """Whether a node that reads nothing makes something else, or any node other sizes, than what it reads implies."""
    if isinstance(found, Misfit):
        return not node.inputs
    for tensor, claim in zip(node.outputs, found[1].claims, strict=True):
        if claim is not None and extent(claim.region) != holdings.shapes[tensor]:
            return True
    return False


def _misfit(holdings: Holdings, device: int, node: Node, index: int, found: Misfit, place: Place) -> None:
    """Note that what a node reads does not fit together; behind it the plan's own claims hold where it is wrong."""
    if found.wrong:
        partner = holdings.reference.partners[index]
        about = Evidence((place,), node.outputs[:1], partner=index)
        holdings.diverge(Difference("wrong-slice", (partner.signature, found.text), found.text), about)
        _take_claims(holdings, device, node.outputs, place)
        return
    holdings.gap(f"{node.op}: {found.text}", place)
    _forget(holdings, device, node.outputs, place)


def _is_one_region(value: Value) -> bool:
    """Whether a value is one region of one base, as a whole and once, or nothing."""
    return not value or (len(value) == 1 and not value[0].part and not value[0].spread and value[0].times == 1)


def _drawn_apart(holdings: Holdings, node: Node, bases: tuple[Bases, ...]) -> bool:
    """Whether several single-device nodes draw random numbers for what this node reads."""
    grads = len(bases) - len(node.outputs) if node.op.endswith(GRAD) else 0
    return len(holdings.reference.by_forward.get((base_op(node.op), bases[grads:]), ())) > 1


def _forget(holdings: Holdings, device: int, outputs: tuple[int, ...], place: Place) -> None:
    for tensor in outputs:
        holdings.write(device, tensor, None, place)


def _take_claims(holdings: Holdings, device: int, outputs: tuple[int, ...], place: Place) -> None:
    for tensor in outputs:
        holdings.write(device, tensor, holdings.claim(tensor), place)


def _partner(holdings: Holdings, node: Node, bases: tuple[Bases, ...], candidates: tuple[int, ...]) -> int | None:
    """One of the candidates, which compute the same from the same; else the hinted one, if it reads as many values."""
    op, attrs, outputs, partners = node.op, node.attrs, node.outputs, holdings.reference.partners
    if FACTS.made(op):
        candidates = tuple(index for index in candidates if partners[index].node.attrs == attrs)
    if candidates:
        return candidates[0] if len(candidates) == 1 else _choose(holdings, candidates, attrs, outputs)
    if FACTS.made(op):
        return None
    for tensor in outputs:
        for base in holdings.claims.get(holdings.plan.tensors[tensor].logical, ()) if tensor != ABSENT else ():
            index = holdings.reference.bases[base].node
            if index >= 0 and partners[index].node.op == op and len(partners[index].inputs) == len(bases):
                return index
    if not op.endswith(GRAD):
        return None
    forward = (holdings.reference.by_forward.get((op, bases[grads:])) for grads in (1, 2))
    found = next((found for found in forward if found), ())
    alike = [index for index in found if len(partners[index].inputs) == len(bases)]
    return _choose(holdings, alike, attrs, outputs)


def _choose(holdings: Holdings, candidates: Sequence[int], attrs: Attrs, outputs: tuple[int, ...]) -> int | None:
    """The candidate that agrees in attributes, as they are written first: 1, 1.0 and True are equal; else in those that
    do not differ from rank to rank; else in most of them, as every other element from the second on of fewer rows does
    in where it begins; of several the one that the outputs' hints name, else the first.
    """
    partners = holdings.reference.partners
    hints = {
        base
        for tensor in outputs
        if tensor != ABSENT
        for base in holdings.claims.get(holdings.plan.tensors[tensor].logical, ())
    }
    equal = [index for index in candidates if partners[index].node.attrs == attrs]
    alike = [index for index in equal if repr(partners[index].node.attrs) == repr(attrs)] or equal
    if not alike:
        alike = [index for index in candidates if differs_in_size(partners[index].node, attrs)]
    if not alike:
        apart = [sum(pair not in attrs for pair in partners[index].node.attrs) for index in candidates]
        alike = [index for index, count in zip(candidates, apart, strict=True) if count == min(apart)]
    hinted = [index for index in alike if hints & set(partners[index].outputs)]
    return next(iter(hinted or alike), None)


def _expected(
    holdings: Holdings,
    step: Step,
    values: tuple[Value, ...],
    index: int,
    place: Place,
) -> tuple[Value, ...] | None:
    """The values, each exactly one region of what the partner reads; divergences are noted and mended.

    None where the plan's own statement is no region of what the partner reads either.
    """
    bases = holdings.reference.bases
    mended = list(values)
    partial = frozenset(k for k, value in enumerate(values) if value and all(share.part for share in value))
    for position, (value, due) in enumerate(zip(values, holdings.reference.partners[index].inputs, strict=True)):
        if len(value) == 1 and len(due) == 1 and value[0].base == due[0] and _is_one_region(value):
            continue
        if not value and not due:
            continue
        tensor = step.node.inputs[position]
        claimed = holdings.plan.tensors[tensor].region if tensor != ABSENT else ()
        region, shard = (value[0].region, value[0].shard) if value else (claimed, WHOLE)
        found = difference(value, due, region, bases, shard)
        if found is None:
            continue
        if found.code == "missing-reduction" and made_of_parts(holdings.reference.partners[index].meaning, partial):
            holdings.gap(f"{step.node.op} computes with parts of sums, which may be added up behind it", place)
            return None
        wanted = " + ".join(bases[base].name for base in due) or "nothing"
        about = Evidence((place,), (tensor,), value, due, region, index, shard)
        holdings.diverge(found, about, f"input {position} ({holdings.name(tensor)}) must be {wanted}")
        instead = holdings.region_of(tensor, due) if tensor != ABSENT else ()
        if instead is None:
            return None
        mended[position] = instead
    return tuple(mended)


def _completed(
    holdings: Holdings, step: Step, meaning: Meaning, values: tuple[Value, ...], index: int, place: Place
) -> bool:
    """Whether the sums over the batch that a node reads as a whole are complete; where one is not, that is noted.

    What the node does not depend on needs not be.
    """
    bases = holdings.reference.bases
    whole = True
    for position in sorted(meaning.complete):
        value, tensor = values[position], step.node.inputs[position]
        found = incomplete(value, bases, holdings.plan)
        if found is None:
            continue
        if position in meaning.ignored:
            holdings.laws.add(IgnoredLaw(meaning.signature, (position,)))
            continue
        due = holdings.reference.partners[index].inputs[position]
        about = Evidence((place,), (tensor,), value, due, value[0].region, index, value[0].shard)
        holdings.diverge(found, about, f"input {position} ({holdings.name(tensor)}) must be the sum of the whole batch")
        whole = False
    return whole


def _spread(holdings: Holdings, meaning: Meaning, values: tuple[Value, ...]) -> int | None:
    """What the sums over the batch that a node reads by summands were summed over; None where they do not agree.

    The node is linear in them together, so what it writes was summed over the same.
    """
    if not meaning.summands:
        return OWN_COLUMN
    bases = holdings.reference.bases
    read = (values[position] for position in meaning.summands)
    found = {share.spread for value in read for share in value if bases[share.base].column == SUMMED}
    if len(found) > 1:
        return None
    return found.pop() if found else OWN_COLUMN
