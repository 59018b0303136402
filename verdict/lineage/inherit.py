"""What a node hands on without computing with it: parts of sums and factors; and what it does not look at."""

from collections.abc import Sequence, Set

from verdict.graph import inside
from verdict.lineage.holdings import Holdings
from verdict.lineage.lineages import IgnoredLaw, LinearLaw
from verdict.lineage.meaning import Meaning
from verdict.lineage.reference import Partner
from verdict.lineage.replicas import value_mark
from verdict.lineage.values import ONCE, WHOLE, Mark, Part, Share, Times, Value, joined
from verdict.ops import FACTS

Inherited = tuple[Part, Mark, Times]
NOT_INHERITED: Inherited = ((), WHOLE, ONCE)
"""No part, but the whole, once."""


def ignore(holdings: Holdings, partner: Partner, values: tuple[Value, ...]) -> tuple[Value, ...]:
    """The values, with what the partner reads in place of what it does not matter to read."""
    found = list(values)
    for position in sorted(partner.meaning.ignored):
        due = partner.inputs[position]
        if not values[position] or not due:
            continue
        region = values[position][0].region
        going_on = value_mark(values[position])
        instead = tuple(Share(base, region, shard=going_on) for base in due)
        fits = all(inside(region, holdings.reference.column_shape(base)) for base in due)
        if fits and instead != values[position]:
            found[position] = instead
            holdings.laws.add(IgnoredLaw(partner.signature, (position,)))
    return tuple(found)


def inherit(holdings: Holdings, meaning: Meaning, values: tuple[Value, ...]) -> tuple[Inherited, tuple[Value, ...]]:
    """The part that the outputs inherit by linearity, with how it goes on from replica to replica, the factor that they
    inherit so, and the values as the node sees them, without these.

    All that is partial or scaled must be so in one and the same way, or cut at the same place of axes of one size, and
    be all that the node is linear in together:
    every gradient that a gradient node reads, one single input of a forward node, or all that it adds or joins, zeros
    among it, which are every part of themselves. Else nothing is inherited.
    """
    partial = [k for k, value in enumerate(values) if any(share.part or share.times != 1 for share in value)]
    if not partial:
        return NOT_INHERITED, values
    read = [(share, value_mark((share,), of_part=True)) for position in partial for share in values[position]]
    found = {(share.part, mark, share.times) for share, mark in read}
    if len(found) > 1 and (together := _together(found)) is not None:
        found = {together}
    present = [k for k, value in enumerate(values) if value]
    zeros = [k for k in present if k not in partial and _is_zero(holdings, values[k])]
    choices = [partial, *([sorted([*partial, *zeros])] if zeros else [])]
    linear = next((some for some in choices if _is_linear_in(meaning, some, present)), None)
    if len(found) != 1 or linear is None:
        return NOT_INHERITED, values
    holdings.laws.add(LinearLaw(meaning.signature, tuple(linear)))
    (inherited,) = found
    whole = tuple(
        tuple(
            share._replace(part=(), shard=value_mark((share,)) if share.part else share.shard, times=ONCE)
            for share in value
        )
        for value in values
    )
    return inherited, whole


def _is_zero(holdings: Holdings, value: Value) -> bool:
    """Whether a value is known to be zero, whatever is given."""
    return all(_makes_zero(holdings, holdings.reference.bases[share.base].node) for share in value)


def _makes_zero(holdings: Holdings, maker: int) -> bool:
    """Whether a single-device node makes zeros, or moves them."""
    if maker < 0:
        return False
    partner = holdings.reference.partners[maker]
    if FACTS.zero(partner.node.op, dict(partner.node.attrs)):
        return True
    read = [holdings.reference.bases[base].node for base in partner.read]
    rule = partner.meaning.rule
    moved = bool(read) and rule is not None and rule.moves and not partner.meaning.is_gradient
    return moved and all(_makes_zero(holdings, other) for other in read)


def _together(found: Set[Inherited]) -> Inherited | None:
    """Parts of several sums that are cut in the same way, as a part of one sum over all of their axes together."""
    parts = {part for part, _, _ in found}
    cuts = {(interval, label.size) for part in parts for label, interval in part}
    same = {(mark, times) for _, mark, times in found}
    if len(cuts) != 1 or len(same) != 1 or any(len(part) != 1 for part in parts):
        return None
    ((interval, _),) = cuts
    ((mark, times),) = same
    if mark != WHOLE:
        return None
    return ((joined(part[0][0] for part in parts), interval),), mark, times


def _is_linear_in(meaning: Meaning, positions: Sequence[int], present: Sequence[int]) -> bool:
    """Whether a rule says that a node is linear in its inputs at some positions together. present: those that are read.

    What is additive is so for every rational multiple, too.
    """
    if meaning.is_gradient:
        return list(positions) == [k for k in present if k < meaning.signature.grads]
    if len(positions) == 1:
        return positions[0] in meaning.linear
    rule = meaning.rule
    if rule is None:
        return False
    together = rule.linear_together(len(meaning.signature.shapes))
    return set(positions) == together or ((rule.additive or rule.moves) and list(positions) == list(present))
