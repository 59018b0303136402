"""Single-device values that may be infinite, or no numbers: something is divided by what may be zero, say.

Where such a value makes others that are none, there is nothing to compare. Where an operator makes a number of it
again, as a comparison does, there is.
"""

from collections.abc import Iterator, Mapping, Sequence, Set
from typing import NamedTuple

from verdict.graph import ABSENT, BUFFER
from verdict.lineage.counted import signs_by_count
from verdict.lineage.infinite import infinite, is_fixed
from verdict.lineage.reference import Partner, Reference
from verdict.ops.decayed import Made, is_left
from verdict.ops.granted import Called, granted, summed
from verdict.ops.guarded import guarded
from verdict.ops.normed import between_of
from verdict.ops.signs import NOT_NEGATIVE, POSITIVE, absorbs, divisible, may_fail, pole, sign, strict
from verdict.ops.types import is_whole, kind


def absorbs_poles(table: Reference) -> bool:
    """Whether an operator makes a number of what is infinite: 1 / (1 / 0) is zero, and 1 / (0 / 0) is none.

    What is computed from nothing is known wherever it is read, so that what makes numbers of it asks nothing. Nor does
    a quotient that is read only where its divisor is not zero.
    """
    signs, behind, fixed = signs_of(table), set[int](), set[int]()
    calls, places = _calls(table)
    divisions = _divisions(table, calls, places) | {places[place] for place in guarded(calls)}
    absorbed = False
    for number, partner in enumerate(table.partners):
        node, grads = partner.node, partner.signature.grads
        reads = {k for k, bases in enumerate(partner.inputs) if not behind.isdisjoint(bases)}
        known = is_fixed(partner, fixed)
        absorbed |= absorbs(node.op, dict(node.attrs), reads, grads) and not known
        at = pole(node.op, dict(node.attrs)) if number not in divisions else None
        divisor = partner.inputs[grads + at] if at is not None and grads + at < len(partner.inputs) else ()
        if reads or any(signs.get(base, 0) < divisible(node.op) for base in divisor):
            behind.update(_unsure(table, partner, known))
        fixed.update(partner.outputs if known else ())
    return absorbed


class Doubtful(NamedTuple):
    """values: those that may be no numbers. absorbed: whether an operator may make numbers of some of them again.

    divisions: the partners, by number, that divide by zero nowhere where all losses are numbers.
    """

    values: Set[int]
    absorbed: bool
    divisions: Set[int]


def doubtful(table: Reference, signs: Mapping[int, int]) -> Doubtful:
    """The single-device values that may be no numbers, for some inputs. signs: what `signs_of` says of the table."""
    hidden, given = infinite(table).hidden, set(table.plan.doubtful)
    found = {k for k, base in enumerate(table.bases) if base.node < 0 and base.logical in given}
    absorbed, divisions, fixed = False, _divisions(table, *_calls(table)), set[int]()
    for number, partner in enumerate(table.partners):
        op, attrs, grads = partner.node.op, dict(partner.node.attrs), partner.signature.grads
        reads = any(not found.isdisjoint(bases) for bases in partner.inputs)
        known = is_fixed(partner, fixed)
        absorbed |= reads and not strict(op) and not known
        read = [min((signs.get(base, 0) for base in bases), default=0) for bases in partner.inputs]
        fails = may_fail(op, attrs, read, grads) and number not in divisions
        if reads or fails or not hidden.isdisjoint(partner.outputs):
            found.update(_unsure(table, partner, known))
        fixed.update(partner.outputs if known else ())
    return Doubtful(found, absorbed, divisions)


def _unsure(table: Reference, partner: Partner, is_fixed: bool) -> Iterator[int]:
    """Of what a node makes of what may be no number, that which may be none, too: not integers that are known, whatever
    they were made of.
    """
    for base in partner.outputs:
        if base != ABSENT and not (is_fixed and is_whole(kind(table.bases[base].dtype))):
            yield base


def _calls(table: Reference) -> tuple[Sequence[Called], Mapping[int, int]]:
    """The single-device nodes and the sums that they read, in their order, and which partner each node is."""
    calls: list[Called] = []
    places: dict[int, int] = {}
    for number, partner in enumerate(table.partners):
        sums = {bases for bases in partner.inputs if len(bases) > 1}
        calls += [summed([(base,) for base in bases], bases) for bases in sums]
        places[len(calls)] = number
        outputs, grads = [(base,) for base in partner.outputs], partner.signature.grads
        calls.append(Called(partner.node.op, dict(partner.node.attrs), partner.inputs, outputs, grads))
    return calls, places


def _divisions(table: Reference, calls: Sequence[Called], places: Mapping[int, int]) -> Set[int]:
    plan = table.plan
    named = set(plan.granted)
    losses = [(base,) for held in plan.losses for base in table.values.get(held.tensor, ())]
    given = (((k,), base.logical) for k, base in enumerate(table.bases) if base.node < 0)
    said = [place for place, number in places.items() if table.partners[number].node.name in named]
    return {places[place] for place in granted(calls, losses, between_of(plan, given), said).divisions}


def signs_of(table: Reference, buffers: int = 0) -> Mapping[int, int]:
    """Of values that are known not to be negative, or to be positive, which of these they are. A given one is not where
    the plan says so.

    buffers: the sign that is taken for those of buffers that are given, of which nothing is known.
    """
    given = {logical.name for logical in table.plan.logicals if buffers and logical.kind == BUFFER}
    stated = dict.fromkeys((name for name, low, _ in table.plan.ranges if low >= 0), NOT_NEGATIVE)
    known = stated | dict.fromkeys(given, buffers) | dict.fromkeys(table.plan.positive, POSITIVE)
    signs = {k: known[base.logical] for k, base in enumerate(table.bases) if base.node < 0 and base.logical in known}
    unknown, makers = infinite(table).by_data, dict[int, Made]()
    counted = signs_by_count(table)
    for partner in table.partners:
        op, attrs = partner.node.op, dict(partner.node.attrs)
        made = Made(op, attrs, tuple(base for bases in partner.inputs for base in bases))
        makers |= dict.fromkeys(partner.outputs, made)
        read = [min((signs.get(base, 0) for base in bases), default=0) for bases in partner.inputs]
        values = [bases if len(bases) == 1 else k for k, bases in enumerate(partner.inputs)]
        finite = all(map(unknown.isdisjoint, partner.inputs))
        for place, base in enumerate(partner.outputs):
            found = sign(op, attrs, read, values, finite, place) if base != ABSENT else 0
            found = POSITIVE if base != ABSENT and finite and is_left(made, makers, signs) else found
            found = max(found, counted.get(base, 0))
            if found:
                signs[base] = found
    return signs
