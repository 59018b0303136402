"""From the shares that a parallel node reads to the shares that it writes, as its partner's rule implies.

The result is a claim about one *member* of a stage. The stage proves it; nothing here is trusted.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from verdict.errors import ShapeError
from verdict.graph import Attrs, Interval, Region, Shape, extent, spelled
from verdict.lineage.indexing import join_region, split_region
from verdict.lineage.meaning import Meaning, Signature
from verdict.lineage.own_size import makes_alike
from verdict.lineage.values import WHOLE, Label, Mark, Shard
from verdict.ops import Dim, Law


class Claim(NamedTuple):
    """What an output is claimed to be: a region of the partner's output, summed over `part` of its axes."""

    region: Region
    part: tuple[tuple[str, Interval], ...]


class Member(NamedTuple):
    """One way in which parallel nodes compute their share of a single-device node.

    regions: of each tensor read, None where it is absent (a gradient that is zero). claims: None where nobody
    wants the output. All in the coordinates of one column.
    """

    signature: Signature
    attrs: Attrs
    regions: tuple[Region | None, ...]
    claims: tuple[Claim | None, ...]


class Replicas(NamedTuple):
    """The members that stand for all replicas, and the claims of replica 0. atom, stride: what goes on, and how far.

    own: whether the device says which part it is.
    """

    numbers: tuple[int, ...]
    claims: tuple[Claim | None, ...]
    atom: str = ""
    stride: int = 0
    own: bool = False

    def mark(self, output: int, node: int, meaning: Meaning) -> Mark:
        """How the share that an output holds goes on from replica to replica."""
        claim = self.claims[output]
        if not self.atom or claim is None:
            return WHOLE
        axis = meaning.written[output].index((self.atom,)) if (self.atom,) in meaning.written[output] else -1
        if axis >= 0:
            return Shard(axis, self.stride)
        if self.atom not in dict(claim.part):
            return WHOLE
        return Shard(axis, self.stride, Label(node, output, self.atom, meaning.sizes[self.atom]))


class Misfit(NamedTuple):
    """Why there is no member. wrong: the regions contradict each other; else only nothing can be said of them."""

    text: str
    wrong: bool


def transfer(
    meaning: Meaning,
    attrs: Attrs,
    regions: tuple[Region | None, ...],
    wanted: tuple[bool, ...],
    own: Mapping[str, Interval] | None = None,
) -> Member | Misfit:
    """The member that reads these regions, or why there is none. own: parts of index axes that it has by itself."""
    if meaning.problem:
        return Misfit(meaning.problem, wrong=False)
    grads = meaning.signature.grads
    made = _own_shapes(meaning, attrs, regions[:grads], regions[grads:])
    if isinstance(made, str):
        return Misfit(made, wrong=False)
    if not regions and attrs != meaning.signature.attrs and not makes_alike(meaning, attrs, own or {}):
        return Misfit("it reads nothing, and what it makes is not what the single-device node makes", wrong=False)
    bounds: dict[str, Interval] = dict(own or {})
    for position, (dims, region) in enumerate(zip(meaning.read, regions, strict=True)):
        if region is None:
            continue
        found = split_region(dims, region, meaning.sizes)
        if found is None:
            return Misfit(f"input {position} is not cut along its index axes: {spelled(region)}", wrong=False)
        for name, interval in found.items():
            if bounds.setdefault(name, interval) != interval:
                shares = f"{spelled((bounds[name],))} and {spelled((interval,))}"
                return Misfit(f"its inputs hold different shares of index axis {name}: {shares}", wrong=True)
    bounds = {name: (0, size) for name, size in meaning.sizes.items()} | bounds
    if _averages_some(meaning, bounds):
        return Misfit("it averages some of what the single-device node averages", wrong=False)
    claims = _claims(meaning, bounds, wanted)
    if claims is None:
        return Misfit("its output is a strided share, which no region can name", wrong=False)
    if grads == 0 and _lies_otherwise(made, claims):
        return Misfit("its output has dimensions of one element where the single-device node has none", wrong=False)
    return Member(meaning.signature, attrs, regions, tuple(claims))


def _claims(
    meaning: Meaning, bounds: dict[str, Interval], wanted: tuple[bool, ...]
) -> list[Claim | None] | None:  # fmt: skip
    """What each output that is wanted is claimed to be; None where no region can name that of one."""
    claims: list[Claim | None] = []
    for dims, asked in zip(meaning.written, wanted, strict=True):
        region = join_region(dims, bounds, meaning.sizes) if asked else None
        if asked and region is None:
            return None
        claims.append(None if region is None else Claim(region, summed(meaning, dims, bounds)))
    return claims


def _lies_otherwise(made: Sequence[Shape], claims: Sequence[Claim | None]) -> bool:
    """Whether a node makes the shapes that are claimed but for dimensions of one element."""
    pairs = [(shape, extent(claim.region)) for shape, claim in zip(made, claims, strict=False) if claim is not None]
    return any(one != other and _longer(one) == _longer(other) for one, other in pairs)


def _longer(shape: Shape) -> list[int]:
    return [size for size in shape if size != 1]


def _averages_some(meaning: Meaning, bounds: Mapping[str, Interval]) -> bool:
    """Whether a node averages a part of what its partner averages."""
    if meaning.rule is None or meaning.axes is None or not meaning.rule.averages:
        return False
    along = (atom.name for atom in meaning.axes.atoms if atom.law is Law.WHOLE)
    return any(bounds[name] != (0, meaning.sizes[name]) for name in along)


def _own_shapes(
    meaning: Meaning, attrs: Attrs, grads: tuple[Region | None, ...], forward: tuple[Region | None, ...]
) -> Sequence[Shape] | str:
    """What the forward node makes at the shapes and with the attributes that the node itself has, or why it is no node
    of its operator.
    """
    shapes = [extent(region) for region in forward if region is not None]
    if len(shapes) != len(forward) or meaning.rule is None:
        return "an input is missing"
    try:
        made = meaning.rule.axes(shapes, dict(attrs)).output_shapes
    except ShapeError as error:
        return error.problem
    for position, (region, shape) in enumerate(zip(grads, made, strict=False)):
        if region is not None and extent(region) != shape:
            return f"gradient {position} of shape {list(extent(region))} is none of an output of shape {list(shape)}"
    return made


def summed(meaning: Meaning, dims: tuple[Dim, ...], bounds: dict[str, Interval]) -> tuple[tuple[str, Interval], ...]:
    """The cut index axes that are summed over in a tensor with these dimensions."""
    kept = {name for dim in dims for name in dim} | meaning.unused
    return tuple(
        (name, interval)
        for name, interval in sorted(bounds.items())
        if name not in kept and interval != (0, meaning.sizes[name])
    )
