"""What propagation finds: the stages' members, the laws that sums rely on, and what went wrong on the way."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from verdict.graph import ABSENT, Held, Place, Region
from verdict.lineage.meaning import Signature
from verdict.lineage.reference import Bases, Reference
from verdict.lineage.transfer import Member
from verdict.lineage.values import WHOLE, Mark, Value
from verdict.outcome import Assumption, Finding


class SumLaw(NamedTuple):
    """f summed over consecutive intervals of an index axis, cut at `cuts`, is f. `output` of the signature."""

    signature: Signature
    output: int
    atom: str
    cuts: tuple[int, ...]


class LinearLaw(NamedTuple):
    """f is additive in the inputs at `positions` together, the others fixed."""

    signature: Signature
    positions: tuple[int, ...]


class IgnoredLaw(NamedTuple):
    """f does not depend on the values of the inputs at `positions`, only on their shapes."""

    signature: Signature
    positions: tuple[int, ...]


Law = SumLaw | LinearLaw | IgnoredLaw


class Evidence(NamedTuple):
    """What a divergence is about. places: all at which it shows, the first one first, and the tensor at each.

    value: what the first of these tensors holds, None where that is no share of anything. expected, region, shard:
    the single-device values of whose sum it must be this region, on replica 0 if it is another one on each. partner:
    the single-device node, ABSENT for none.
    """

    places: tuple[Place, ...]
    tensors: tuple[int, ...]
    value: Value | None = None
    expected: Bases = ()
    region: Region = ()
    partner: int = ABSENT
    shard: Mark = WHOLE


class End(NamedTuple):
    """A declared output at the end of the step, and what it holds, the other parts added where it is a part of a sum;
    None where that is not known.
    """

    held: Held
    value: Value | None


class Elements(NamedTuple):
    """The elements that something is made of, one by one: of which values, in the order in which these are met first,
    and which of theirs at which place. What is arranged alike has one fingerprint, whatever the values are.
    """

    values: tuple[Value, ...]
    arranged: bytes


class Gap(NamedTuple):
    """Something about which nothing can be said, and why: the verdict cannot be PROVED."""

    reason: str
    place: Place


class Unfollowed(Exception):
    """Nothing can be said of what a step makes, and why."""


@dataclass(frozen=True, slots=True)
class Lineages:
    """distinct: the distinct members. members: for each single-device node, by their numbers there, its
    parallel members and where they stand.

    laws: the summing and linearity laws that the values rely on. held: what each tensor of the observed
    column holds, device by device. ends: the declared losses, gradients and outputs, in this order.
    nodes: how many parallel nodes of the column were looked at. cuts: what was guessed that tensors of devices hold.
    unsaid: all places of gaps; None where the walk did not reach its end. moved: of each device, what is known of the
    elements of tensors that are no region of one value. made_of: the same of single-device values that were looked at,
    None for those that are made of no others by moving elements.
    """

    reference: Reference
    distinct: tuple[Member, ...]
    members: Mapping[int, Mapping[int, tuple[Place, ...]]]
    laws: frozenset[Law]
    held: tuple[Mapping[int, Value | None], ...]
    ends: tuple[End, ...]
    findings: tuple[Finding, ...]
    gaps: tuple[Gap, ...]
    assumptions: tuple[Assumption, ...]
    nodes: int
    cuts: Mapping[tuple[int, int], Value] = field(default_factory=dict)
    unsaid: frozenset[Place] | None = None
    moved: tuple[Mapping[int, Elements], ...] = ()
    made_of: Mapping[int, Elements | None] = field(default_factory=dict)
