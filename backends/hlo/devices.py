"""Which devices meet, and which part of a tensor each one holds: replica groups and shardings as HLO writes them.

{{0,1},{2,3}}   [2,4]<=[8]   [4,2]<=[2,4]T(1,0)   mesh['a'=2,'b'=4] {'a'}, also with device_ids=([2,4]T(1,0))
{replicated}    {devices=[2,1,4]<=[8] last_tile_dim_replicate}    {devices=[2,1]0,1}
"""

import re
from itertools import pairwise
from math import prod

import numpy as np
import numpy.typing as npt

from verdict.backends.hlo.text import split
from verdict.graph import Region, whole

Groups = tuple[tuple[int, ...], ...]
_IOTA = re.compile(r"\[([\d,]+)\]<=\[([\d,]+)\](?:T\(([\d,]+)\))?")
_LISTED = re.compile(r"\{\d+(,\d+)*\}")
_MESH = re.compile(r"mesh\[([^\]]*)\]\s*\{([^}]*)\}")
_AXIS = re.compile(r"'([^']+)'(?:=(\d+)|:\((\d+)\)(\d+))?")
_ORDER = re.compile(r"\(\[([\d,]+)\]T\(([\d,]+)\)\)")
_TILES = re.compile(r"\{devices=(\[[\d,]+\])(<=\[[\d,]+\](?:T\([\d,]+\))?|[\d,]+)( last_tile_dim_replicate)?\}")


def groups_of(text: str, order: str, devices: int) -> Groups:
    """The groups that `text` names, empty for all. order: the devices of a mesh, and behind them its axes where these
    are not in `text`. Raises ValueError where it is none.
    """
    if text in ("", "{}"):
        return (tuple(range(devices)),)
    if found := _IOTA.fullmatch(text):
        table = _iota(*found.groups())
        if table.ndim != 2:
            raise ValueError(f"groups {text} have no rows")
        return _checked(tuple(map(tuple, table.tolist())), devices, text)
    listed, brace, axes = order.partition(" {")
    if found := _MESH.fullmatch(f"{text}{brace}{axes}"):
        return _checked(_of_mesh(found.group(1), found.group(2), listed, devices), devices, text)
    if text.startswith("{{") and text.endswith("}}"):
        parts = split(text[1:-1])
        if all(map(_LISTED.fullmatch, parts)):
            return _checked(tuple(_numbers(part[1:-1]) for part in parts), devices, text)
    raise ValueError(f"groups {text[:80]} are of no known form")


def pairs_of(text: str, devices: int) -> tuple[tuple[int, int], ...]:
    """Pairs of sender and receiver; each receives once at most."""
    parts = split(text[1:-1])
    found = [_numbers(part[1:-1]) for part in parts if _LISTED.fullmatch(part)]
    if len(found) != len(parts) or any(len(pair) != 2 or max(pair) >= devices for pair in found):
        raise ValueError(f"pairs {text[:80]} are none of {devices} devices")
    for place in (0, 1):
        if len({pair[place] for pair in found}) < len(found):
            raise ValueError(f"pairs {text[:80]} name a device twice")
    return tuple((source, target) for source, target in found)


def regions_of(text: str, shape: tuple[int, ...], devices: int) -> tuple[Region, ...]:
    """The region of a tensor of `shape` that each device holds. Raises ValueError where this is not known."""
    if text == "{replicated}" or (text == "{maximal device=0}" and devices == 1):
        return (whole(shape),) * devices
    found = _TILES.fullmatch(text)
    if found is None:
        raise ValueError(f"the sharding {text[:80]} is of no known form")
    sizes, listed, repeated = found.groups()
    if listed.startswith("<="):
        match = _IOTA.fullmatch(f"{sizes}{listed}")
        tiles = _iota(*match.groups()) if match else np.empty(0, dtype=np.int64)
    else:
        counts = _numbers(sizes[1:-1])
        if prod(counts) != len(_numbers(listed)):
            raise ValueError(f"the sharding {text[:80]} does not name a device for each tile")
        tiles = np.asarray(_numbers(listed), dtype=np.int64).reshape(counts)
    if repeated is None:
        tiles = tiles[..., None]
    if tiles.ndim != len(shape) + 1 or sorted(tiles.ravel().tolist()) != list(range(devices)):
        raise ValueError(f"the sharding {text[:80]} does not fit a tensor of shape {list(shape)} on {devices} devices")
    if uneven := [n for n, parts in zip(shape, tiles.shape, strict=False) if n % parts]:
        raise ValueError(f"the sharding {text[:80]} cuts {uneven[0]} elements into uneven parts")
    regions: list[Region] = [()] * devices
    for place in np.ndindex(tiles.shape):
        steps = [(n // parts, k) for n, parts, k in zip(shape, tiles.shape, place, strict=False)]
        regions[int(tiles[place])] = tuple((step * k, step * (k + 1)) for step, k in steps)
    return tuple(regions)


def _iota(sizes: str, reshaped: str, order: str | None) -> npt.NDArray[np.int64]:
    """The numbers from 0 on, in the order of `reshaped` with its dimensions turned, as an array of `sizes`."""
    made, first = _numbers(sizes), _numbers(reshaped)
    turned = _numbers(order) if order else tuple(range(len(first)))
    if prod(made) != prod(first) or sorted(turned) != list(range(len(first))):
        raise ValueError(f"[{sizes}]<=[{reshaped}] does not fit")
    return np.arange(prod(first), dtype=np.int64).reshape(first).transpose(turned).reshape(made)


def _of_mesh(axes: str, named: str, order: str, devices: int) -> Groups:
    """Groups along the named axes of a mesh, or along parts of axes: 'a':(before)size."""
    sizes = {}
    for part in split(axes):
        found = _AXIS.fullmatch(part)
        if found is None or found.group(2) is None:
            raise ValueError(f"{part} is no axis of a mesh")
        sizes[found.group(1)] = int(found.group(2))
    shape = tuple(sizes.values())
    if prod(shape) != devices:
        raise ValueError(f"a mesh of {prod(shape)} devices among {devices}")
    ids = np.arange(devices, dtype=np.int64)
    if order:
        turned = _ORDER.fullmatch(order)
        if turned is None:
            raise ValueError(f"device_ids {order} are of no known form")
        ids = _iota(turned.group(1), turned.group(1), turned.group(2)).ravel()
    chosen: list[tuple[str, int, int]] = []
    for part in split(named):
        found = _AXIS.fullmatch(part)
        if found is None or found.group(1) not in sizes:
            raise ValueError(f"{part} is no axis of the mesh")
        chosen.append((found.group(1), int(found.group(3) or 1), int(found.group(4) or sizes[found.group(1)])))
    return _along(ids, sizes, chosen)


def _along(ids: npt.NDArray[np.int64], sizes: dict[str, int], chosen: list[tuple[str, int, int]]) -> Groups:
    """Rows of devices that differ in their places along what is chosen, which the rows are in the order of."""
    fine: list[int] = []
    along: dict[tuple[str, int], int] = {}
    for name, size in sizes.items():
        cuts = sorted((before, before * length) for axis, before, length in chosen if axis == name)
        ends = sorted({1, size, *(end for cut in cuts for end in cut)})
        for begin, end in pairwise(ends):
            if end % begin:
                raise ValueError(f"axis {name} of {size} is not cut at {begin}")
            if (begin, end) in cuts:
                along[name, begin] = len(fine)
            fine.append(end // begin)
    places = [along.get((name, before)) for name, before, length in chosen if length > 1]
    if any(place is None for place in places):
        raise ValueError("parts of an axis overlap")
    last = [place for place in places if place is not None]
    if prod(fine) != ids.size or len(set(last)) < len(last):
        raise ValueError("parts of axes do not fit their mesh")
    rest = [place for place in range(len(fine)) if place not in last]
    count = prod(fine[place] for place in last)
    return tuple(map(tuple, ids.reshape(fine).transpose([*rest, *last]).reshape(-1, count).tolist()))


def _checked(groups: Groups, devices: int, text: str) -> Groups:
    """The groups, in which every device is once."""
    if sorted(member for group in groups for member in group) != list(range(devices)):
        raise ValueError(f"groups {text[:80]} do not name each of {devices} devices once")
    return groups


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(int(number) for number in text.split(",") if number.strip())
