"""Which intervals of a node's index axes its members work on, and where these are cut."""

from collections.abc import Mapping

from verdict.graph import Attrs, Interval
from verdict.lineage import Meaning, Member, split
from verdict.ops import Dim

Bounds = Mapping[str, Interval]


def bounds_of_member(meaning: Meaning, member: Member) -> dict[str, Interval]:
    """The interval of each index axis that a member works on: what it reads of it, else what it makes, else all."""
    bounds = {name: (0, size) for name, size in meaning.sizes.items()}
    for dims, claim in zip(meaning.written, member.claims, strict=True):
        if claim is not None:
            bounds.update(bounds_of(dims, claim.region, meaning.sizes))
    for dims, region in zip(meaning.read, member.regions, strict=True):
        if region is not None:
            bounds.update(bounds_of(dims, region, meaning.sizes))
    return bounds


def cuts_of(meaning: Meaning, attrs: list[Attrs], bounds: list[dict[str, Interval]]) -> dict[str, set[int]]:
    """Where each index axis is cut: by the members, and by what attributes name."""
    cuts: dict[str, set[int]] = {name: set() for name in meaning.sizes}
    for bound in bounds:
        for name, interval in bound.items():
            cuts[name].update(interval)
    rule = meaning.rule
    for known in {meaning.signature.attrs, *attrs}:
        for name, coordinates in (rule.cuts(dict(known)) if rule else {}).items():
            if name in cuts:
                cuts[name].update(coordinates)
    return cuts


def bounds_of(dims: tuple[Dim, ...], region: tuple[Interval, ...], sizes: Mapping[str, int]) -> dict[str, Interval]:
    """The intervals of the atoms of a region that is known to be a box of them."""
    bounds: dict[str, Interval] = {}
    for dim, interval in zip(dims, region, strict=True):
        bounds.update(split(dim, interval, sizes) or {})
    return bounds
