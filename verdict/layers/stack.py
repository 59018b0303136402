"""A stack: the equal layers of a plan, found by what nodes look like and by who reads what, not by names.

A layer has nodes in several runs of each device (forward, backward, reductions, updates). Each run is shifted such
that what its windows read belongs to the layer of the window: weights, and what runs before it made.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from verdict.graph import ABSENT, ACCUMULATOR, GIVEN, Plan
from verdict.graph.lockstep import COMMUNICATION
from verdict.layers.flows import Flow, Numbers
from verdict.layers.runs import LEAST, Run, runs_of

Flags = NDArray[np.bool_]
OUTSIDE = -1
"""The layer of what belongs to none, and its column."""
ENOUGH = 0.9
"""Where so much of what windows read is of their own layers, they stay: shifted, the run would have one less."""
MOST_SHIFTS = 64
"""How many places are tried at which a run may begin: of its reads few are of another layer than those before them."""
ENDS = 2
"""How many windows of a run may be missing at its ends, since first and last layers look different."""


@dataclass(frozen=True, slots=True)
class Stack:
    """The layers of a plan. grid: tensors, a row for each of a layer, a column for each layer in their order.

    layer, row: of each tensor. node_layer, node_place: for each device, of each of its nodes; equal nodes of all layers
    have one place. numbers: of its layers among those of the single-device plan.
    """

    numbers: range
    grid: Numbers
    layer: Numbers
    row: Numbers
    node_layer: tuple[Numbers, ...]
    node_place: tuple[Numbers, ...]

    @property
    def layers(self) -> int:
        """How many there are."""
        return int(self.grid.shape[1])


@dataclass(slots=True)
class _Windows:
    """One run, by its windows: the first node and the layer of each, and what its nodes read and make, in a row each.

    places: of each tensor that is read, then of each that is made, the node of the window.
    """

    device: int
    start: Numbers
    period: int
    layer: Numbers
    reads: Numbers
    makes: Numbers
    places: Numbers


def is_inner(layers: Numbers, count: int) -> Flags:
    """Which layers are neither the first nor the last one of so many, nor none."""
    return (layers > 0) & (layers < count - 1)


def layers_in(plan: Plan) -> int:
    """About how many equal layers the first device has, at a glance: of pipeline stages each has a few."""
    segments = dict.fromkeys(call.segment for call in plan.programs[0])
    nodes = (node for segment in segments for node in plan.segments[segment].nodes)
    looks: dict[object, int] = {}
    own = [looks.setdefault(plan.look(node), len(looks)) for node in nodes if node.op not in COMMUNICATION]
    return _count(runs_of(np.array(own, dtype=np.int64)))


def stack_of(
    plan: Plan, flows: list[Flow], known: Mapping[int, int] | None = None, among: range | None = None
) -> Stack | None:
    """The stack of a plan; None where it has no equal layers. known: of given logical tensors the layers, where those
    are known from another plan. among: the layers of which it is, at most; all without.
    """
    layer = np.full(len(plan.tensors) + 1, OUTSIDE, dtype=np.int64)
    if known:
        of = np.full(len(plan.logicals), OUTSIDE, dtype=np.int64)
        of[list(known)] = list(known.values())
        logical = np.fromiter((tensor.logical for tensor in plan.tensors), dtype=np.int64, count=len(plan.tensors))
        layer[:-1] = of[logical]
    given = np.array([*(kind in GIVEN or kind == ACCUMULATOR for kind in plan.kinds), False])
    windows = [*_windows(flows, layer)]
    if not windows:
        return None
    first, last = max(int(w.layer.min()) for w in windows), min(int(w.layer.max()) for w in windows)
    numbers = range(first, last + 1) if among is None else range(max(first, among.start), min(last + 1, among.stop))
    if len(numbers) < LEAST:
        return None
    return _Laid(plan, flows, given).stack([_within(one, numbers) for one in windows], numbers)


def _windows(flows: list[Flow], layer: Numbers) -> Iterator[_Windows]:
    """The runs with as many windows as the plan has layers, and the layers of their windows. layer: of each tensor,
    noted as it becomes known: what a run reads may be told of it, or what is read later of what it makes.
    """
    runs = [runs_of(flow.tokens) for flow in flows]
    count = _count([run for own in runs for run in own])
    waiting = [(device, run) for device, own in enumerate(runs) for run in own]
    while waiting:
        unknown = []
        for device, run in waiting:
            together = max(1, round(run.windows / count))
            if not count - ENDS <= run.windows / together <= count + ENDS:
                continue
            found = _shifted(device, flows[device], _joined(run, together), layer)
            if found is None:
                unknown.append((device, run))
                continue
            for tensors in (found.makes, found.reads):
                _note(layer, tensors, found.layer)
            yield found
        if len(unknown) == len(waiting):
            return
        waiting = unknown


def _count(runs: list[Run]) -> int:
    """Of how many windows runs are, most nodes of runs taken together."""
    sizes: Counter[int] = Counter()
    for run in runs:
        sizes[run.windows] += run.period * run.windows
    return max(sizes, key=lambda count: sum(sizes[count + k] for k in range(-ENDS, ENDS + 1)), default=0)


def _joined(run: Run, windows: int) -> Run:
    """A run with so many of its windows as one."""
    period, size = run.period * windows, run.size
    return Run(run.start, period, size // period, size % period)


def _note(layer: Numbers, tensors: Numbers, layers: Numbers) -> None:
    """Note the layers of tensors that have none, one of another tensor in each window."""
    own = (tensors != ABSENT) & (layer[tensors] == OUTSIDE) & np.all(tensors[1:] != tensors[:-1], axis=0)[None, :]
    layer[tensors[own]] = np.broadcast_to(layers[:, None], tensors.shape)[own]


def _shifted(device: int, flow: Flow, run: Run, layer: Numbers) -> _Windows | None:
    """The windows of a run, begun where most that they read and make is of their layers; None where that is of no
    layer, or of layers in another order.
    """
    plain = _cut(device, flow, run)
    read = layer[np.concatenate((plain.reads, plain.makes), axis=1)]
    steps = read[2:-1] - read[1:-2]
    inside = (read[1:-1] != OUTSIDE).all(axis=0)
    moving = inside & (steps == steps[0]).all(axis=0) & (np.abs(steps[0]) == 1)
    if not moving.any():
        begun = bool((layer != OUTSIDE).any())
        return None if begun else _numbered(plain, 0, 1)
    direction = int(steps[0][moving][0])
    if not (steps[0][moving] == direction).all():
        return None
    offsets, places = read[1][moving] - direction, plain.places[moving]
    order = np.argsort(places, kind="stable")
    other = places[order][1:][np.diff(offsets[order]) != 0]
    turned = {shift: _most(offsets + direction * (places < shift)) for shift in {0, *other[:MOST_SHIFTS].tolist()}}
    shift = max(turned, key=lambda shift: turned[shift][1])
    if turned[0][1] >= ENOUGH * len(places):
        shift = 0
    size = run.size - shift
    moved = _cut(device, flow, Run(run.start + shift, run.period, size // run.period, 0))
    return _numbered(moved, turned[shift][0], direction)


def _most(numbers: Numbers) -> tuple[int, int]:
    """The number that comes most often, and how often."""
    values, counts = np.unique(numbers, return_counts=True)
    return int(values[counts.argmax()]), int(counts.max())


def _cut(device: int, flow: Flow, run: Run) -> _Windows:
    """The windows of a run, not numbered yet."""
    stop = run.start + run.period * run.windows
    reads = flow.reads[flow.read_from[run.start] : flow.read_from[stop]].reshape(run.windows, -1)
    makes = flow.makes[flow.made_from[run.start] : flow.made_from[stop]].reshape(run.windows, -1)
    window = slice(run.start, run.start + run.period + 1)
    places = [np.repeat(np.arange(run.period), np.diff(of[window])) for of in (flow.read_from, flow.made_from)]
    begun, numbers = run.start + run.period * np.arange(run.windows), np.arange(run.windows)
    return _Windows(device, begun, run.period, numbers, reads, makes, np.concatenate(places))


def _numbered(windows: _Windows, begin: int, direction: int) -> _Windows:
    windows.layer = begin + direction * np.arange(len(windows.reads))
    return windows


def _within(windows: _Windows, numbers: range) -> _Windows:
    """The windows of some layers, in the order of these, which begin with 0."""
    order = np.argsort(windows.layer)
    order = order[(windows.layer[order] >= numbers.start) & (windows.layer[order] < numbers.stop)]
    return _Windows(
        windows.device,
        windows.start[order],
        windows.period,
        windows.layer[order] - numbers.start,
        windows.reads[order],
        windows.makes[order],
        windows.places,
    )


class _Laid:
    """Tensors laid out by layers; None is said of a plan whose layers are not alike."""

    def __init__(self, plan: Plan, flows: list[Flow], given: Numbers) -> None:
        self.flows, self.given = flows, given
        self.layer = np.full(len(plan.tensors) + 1, OUTSIDE, dtype=np.int64)
        self.row = self.layer.copy()
        self.rows: list[Numbers] = []

    def stack(self, windows: list[_Windows], numbers: range) -> Stack | None:
        layers = len(windows[0].layer)
        if not all(map(self._laid, windows)) or not all(map(self._reads_alike, windows)) or not self.rows:
            return None
        node_layer = [np.full(len(flow.nodes), OUTSIDE, dtype=np.int64) for flow in self.flows]
        node_place = [np.arange(len(flow.nodes)) for flow in self.flows]
        for one in windows:
            nodes = one.start[:, None] + np.arange(one.period)[None, :]
            node_layer[one.device][nodes] = np.arange(layers)[:, None]
            node_place[one.device][nodes] = one.start.min() + np.arange(one.period)[None, :]
        return Stack(numbers, np.array(self.rows), self.layer, self.row, tuple(node_layer), tuple(node_place))

    def _laid(self, windows: _Windows) -> bool:
        """Lay out what windows make, and what they are given, each layer its own."""
        makes = all(self._row(tensors) for tensors in windows.makes.T if tensors[0] != ABSENT)
        own = (self.given[windows.reads] & (self.row[windows.reads] == OUTSIDE)).all(axis=0)
        own &= np.all(windows.reads[1:] != windows.reads[:-1], axis=0)
        return makes and all(map(self._row, windows.reads.T[own]))

    def _row(self, tensors: Numbers) -> bool:
        """Lay out one tensor of each layer; whether they are not laid out otherwise."""
        row, layers = self.row[tensors], np.arange(len(tensors))
        if (row == OUTSIDE).all() and len(np.unique(tensors)) == len(tensors):
            self.row[tensors], self.layer[tensors] = len(self.rows), layers
            self.rows.append(tensors)
            return True
        return bool(row[0] != OUTSIDE and (row == row[0]).all() and (self.layer[tensors] == layers).all())

    def _reads_alike(self, windows: _Windows) -> bool:
        """Whether windows read alike: what is no layer's, or the same of their own layer, or of one beside it. The
        first and the last one may read otherwise, of no layer but these and those beside them.
        """
        last = len(windows.layer) - 1
        layer, row = self.layer[windows.reads], self.row[windows.reads]
        ends = np.isin(layer[0], (OUTSIDE, 0, 1, last)) & np.isin(layer[last], (OUTSIDE, 0, last - 1, last))
        row, reads, apart = row[1:-1], windows.reads[1:-1], (layer - windows.layer[:, None])[1:-1]
        same = (row == row[0]).all(axis=0)
        shared = (reads == reads[0]).all(axis=0)
        beside = (apart == apart[0]).all(axis=0) & (np.abs(apart[0]) <= 1)
        return bool((ends & same & np.where(row[0] == OUTSIDE, shared, beside)).all())
