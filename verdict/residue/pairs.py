"""An island as a pair of plans: the single-device nodes between what is known and what is guessed, and the parallel
ones. Equal islands, as those of many layers, are equal pairs.
"""

from collections.abc import Hashable, Mapping
from math import prod
from typing import Any, NamedTuple

from verdict.graph import (
    ABSENT,
    ACTIVATION,
    BUFFER,
    COPY,
    INPUT,
    Attrs,
    Held,
    Logical,
    Plan,
    Region,
    extent,
    hull,
    moved,
)
from verdict.graph.lockstep import attribute
from verdict.lineage import Value
from verdict.lineage.grounds import CutPoint
from verdict.residue.builder import Builder
from verdict.residue.islands import Island
from verdict.residue.single import End, NoShareError, Single, Source, end_of
from verdict.residue.thin import Thin, thin
from verdict.stage import Members

MOST_FULL = 10_000
"""Up to so many elements that an island is given it is swept at its own shapes: greater ones take half a minute there,
and a fifth of a second at reduced ones.
"""


class Pair(NamedTuple):
    """What the single-device plan computes of some of its values, and what devices compute of their regions of them,
    both on one column of the batch, or on a tile of it.
    """

    single: Plan
    parallel: Plan


class Placed(NamedTuple):
    """The pair of an island. nodes: what makes the single-device nodes of the pair shares of those of the plan, if each
    of these is proved. laws: what makes one index of some axes stand for all, in the same way.
    """

    pair: Pair
    nodes: tuple[Members, ...] = ()
    laws: tuple[Members, ...] = ()


def ways(placed: Placed | None, known: dict[Pair, Thin | None]) -> tuple[Placed, ...]:
    """In which pairs an island can be asked: in one at a single index of axes along which nothing is computed, where it
    is large and there are such, and as it is. known: of each distinct pair that one.
    """
    if placed is None:
        return ()
    single, parallel = placed.pair
    if sum(prod(of.shape) for of in single.logicals if of.kind in (INPUT, BUFFER)) <= MOST_FULL:
        return (placed,)
    if placed.pair not in known:
        known[placed.pair] = thin(single, parallel)
    found = known[placed.pair]
    return (placed,) if found is None else (Placed(Pair(*found[:2]), placed.nodes, found.laws), placed)


def pair_of(island: Island, source: Source) -> Placed | None:
    """The pair of an island; None where it is not known what a single-device node computes of one column."""
    return _pair(island, source, {})


def tile_of(island: Island, source: Source) -> Placed | None:
    """The pair of an island that knows no more of a value than the least region with all that is known on its devices.

    None where it is not known what single-device nodes compute of these, or where that is more than what is due.
    """
    given: dict[int, Region] = {}
    for (share,) in island.given.values():
        given[share.base] = hull(given.get(share.base, share.region), share.region)
    return _pair(island, source, given)


def _pair(island: Island, source: Source, tiles: Mapping[int, Region]) -> Placed | None:
    given = {share.base for value in island.given.values() for share in value}
    due: dict[End, list[Region]] = {}
    for value in island.due.values():
        due.setdefault(end_of(value), []).append(value[0].region)
    single = Single(source, given, tiles)
    single.need(base for end in due for base in end.bases)
    try:
        for end in sorted(due, key=lambda end: end.bases):
            single.ends(end, due[end])
    except NoShareError:
        return None
    single.also(sorted(given - single.inputs.keys()))
    parallel = _parallel(island, source, single)
    return Placed(Pair(single.plan(), parallel), tuple(dict.fromkeys(single.members)))


def _parallel(island: Island, source: Source, single: Single) -> Plan:
    """The parallel side: the devices that take part, numbered anew."""
    table, plan, known = source.table, source.plan, source.attrs
    built = Builder()
    devices = {device: k for k, device in enumerate(_devices(island))}
    tensors: dict[CutPoint, int] = {}
    logicals: dict[int, int] = {}
    for base, name in single.inputs.items():
        of = table.bases[base]
        logicals[base] = len(built.logicals)
        built.logicals.append(Logical(name, extent(single.tile[base]), of.dtype, single.kind(base)))
    for point, (share,) in island.given.items():
        once = built.share(logicals[share.base], moved(share.region, single.tile[share.base]))
        tensors[point] = built.times(devices[point[0]], once, share.times.numerator)

    def made(device: int, tensor: int) -> int:
        if tensor == ABSENT:
            return ABSENT
        if (device, tensor) not in tensors:
            dtype = plan.logicals[plan.tensors[tensor].logical].dtype
            shape = extent(plan.tensors[tensor].region)
            tensors[device, tensor] = built.tensor(f"value {len(built.logicals)}", shape, dtype)
        return tensors[device, tensor]

    channels: dict[Hashable, str] = {}
    for device, number in devices.items():
        for node in (node for event in island.events for at, node in event.nodes if at == device):
            reads = [made(device, tensor) for tensor in node.inputs]
            writes = [made(device, tensor) for tensor in node.outputs]
            attrs = _renumbered(node.attrs, devices, channels)
            built.node(number, node.op, reads, writes, known.setdefault(repr(attrs), attrs))
    held: list[Held] = []
    ends: dict[End, int] = {}
    for (device, tensor), value in island.due.items():
        what = end_of(value)
        tile = single.windows[what]
        if what not in ends:
            ends[what] = len(built.logicals)
            dtype = table.bases[what.bases[0]].dtype
            built.logicals.append(Logical(single.outputs[what], extent(tile), dtype, ACTIVATION))
        end = built.share(ends[what], moved(value[0].region, tile), _part(value))
        due = built.times(devices[device], tensors[device, tensor], what.times.denominator)
        built.node(devices[device], COPY, [due], [end])
        held.append(Held(devices[device], end))
    return built.build(len(devices), held, "the parallel plan between cut points")


def _part(value: Value) -> tuple[int, int]:
    """Which addend of how many a cut point is."""
    if not value[0].part:
        return (0, 1)
    ((label, (part, _)),) = value[0].part
    return part, label.size


def _devices(island: Island) -> list[int]:
    """The devices that take part, and those that are of a group of one: what a device has of its group's pieces is said
    by the order of all.
    """
    taking = {device for event in island.events for device, _ in event.nodes}
    named = {rank for node in island.nodes for rank in attribute(node, "ranks") or ()}
    return sorted(taking | named)


def _renumbered(attrs: Attrs, devices: Mapping[int, int], channels: dict[Hashable, str]) -> Attrs:
    """The attributes of a node, with the new numbers of devices and names of channels."""
    found: dict[str, Any] = dict(attrs)
    if "ranks" in found:
        found["ranks"] = tuple(devices[rank] for rank in found["ranks"])
    for name in ("root", "peer"):
        if name in found:
            found[name] = devices.get(found[name], found[name])
    if "channel" in found:
        found["channel"] = channels.setdefault(found["channel"], f"channel {len(channels)}")
    return tuple(found.items())
