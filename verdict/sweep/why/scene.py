"""What a search for causes looks at: both flows on numbers, and which nodes of other ranks and microbatches match."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from verdict.graph import ABSENT, Node, Plan
from verdict.graph.lockstep import CHUNK, COLLECTIVES
from verdict.graph.sources import cited_in
from verdict.ops import Array
from verdict.sweep.compare import Due, due_of
from verdict.sweep.elements import Elements, Ids, Kind
from verdict.sweep.flow import Flow, Step
from verdict.sweep.follow import Follower, follow_single
from verdict.sweep.match import Catalogue, catalogue_of
from verdict.sweep.plain import Plain
from verdict.sweep.swept import Runs
from verdict.sweep.trace import Keys, Trace
from verdict.sweep.values import Values
from verdict.sweep.why.siblings import Partition, Siblings, partitions_of, repeated_of, siblings_of

Arrays = tuple[Array, ...]
"""One array for each seed."""
Edges = tuple[tuple[int, ...], ...]
"""For each step other steps."""
STEADY = (0.0, 1.0, float("-inf"))
SAMPLED = 8
"""How many elements of an array are looked up before all of them are."""


@dataclass(frozen=True, slots=True)
class Scene:
    """right: the values of the single-device flow. trace: its elements. given: names of its given logical tensors.

    readers: for each value of the parallel flow the steps that read it. classes: its steps, those that match on all
    ranks and in all microbatches together, in the order of the flow. repeated: those of several runs of one line of a
    program. partitions: how ranks may be grouped. maker: which step makes a value. before, behind: of each parallel
    step those that make what it reads, and those that read what it makes. collectives: by device and name. outputs: of
    single-device steps that make several tensors, what these are called. due: what outputs are held against. plain:
    both flows on small whole numbers.
    """

    single: Plan
    parallel: Plan
    one: Flow
    other: Flow
    right: Values
    trace: Trace
    elements: Elements
    catalogue: Catalogue
    readers: Mapping[int, tuple[int, ...]]
    maker: Mapping[int, int]
    before: Edges
    behind: Edges
    classes: tuple[Siblings, ...]
    repeated: tuple[Siblings, ...]
    partitions: tuple[Partition, ...]
    collectives: Mapping[tuple[int, str], tuple[Node, ...]]
    outputs: Mapping[int, tuple[str, ...]]
    due: Due
    plain: Plain | None = None

    def step(self, number: int) -> Step:
        """A step of the parallel flow."""
        return self.other.steps[number]

    def look(self, arrays: Arrays) -> Ids | None:
        """The single-device elements that an array consists of, as far as numbers tell; None where it does not."""
        size = arrays[0].size
        if not size:
            return np.zeros(arrays[0].shape, dtype=np.int64)
        box = next(self.catalogue.boxes(arrays), None)
        if box is not None:
            return box
        if not self._some_known(arrays):
            return None
        ids, met = self.catalogue.each(arrays)
        ids = ids.copy()
        for constant in STEADY:
            steady = np.logical_and.reduce([array == constant for array in arrays])
            if steady.any():
                ids[steady] = self.elements.constant(constant if constant == float("-inf") else int(constant))
                met = met | steady
        return ids if met.all() else None

    def _some_known(self, arrays: Arrays) -> bool:
        """Whether a few of the elements that are no constant are single-device elements: most arrays end here."""
        steady = np.logical_or.reduce([arrays[0].ravel() == constant for constant in STEADY])
        places = np.flatnonzero(~steady)
        few = places[:: max(1, places.size // SAMPLED)][:SAMPLED]
        return not few.size or bool(self.catalogue.each([array.ravel()[few] for array in arrays])[1].all())


def scene_of(runs: Runs) -> Scene:
    """The scene of two flows that have been run."""
    single, parallel = runs.plans
    flows, right = runs.flows, runs.values[0]
    elements = Elements()
    ids = {k: elements.block(Kind.GIVEN, k, 0, array.shape) for k, array in runs.given[0].items()}
    trace = follow_single(flows[0], ids, right, Follower(elements, Keys()))
    catalogue = catalogue_of(flows[0], right, ids, runs.given, trace.ids)
    readers: dict[int, list[int]] = defaultdict(list)
    maker: dict[int, int] = {}
    for number, step in enumerate(flows[1].steps):
        for value in step.inputs:
            readers[value].append(number)
        for value in step.outputs:
            if value != ABSENT:
                maker[value] = number
    classes = siblings_of(flows[1])
    repeated = repeated_of(classes)
    instances = sorted({place for found in (*classes, *repeated) for place in found.steps})
    return Scene(
        single, parallel, *flows, right, trace, elements, catalogue,
        {value: tuple(dict.fromkeys(found)) for value, found in readers.items()}, maker, *_edges(flows[1], maker),
        classes, repeated, partitions_of(parallel, instances), _collectives(parallel), _outputs(single, flows[0]),
        due_of(*flows, right), runs.plain,
    )  # fmt: skip


def _edges(flow: Flow, maker: Mapping[int, int]) -> tuple[Edges, Edges]:
    """For each step of a flow those that make what it reads, and those that read what it makes."""
    before = [dict.fromkeys(maker[value] for value in step.inputs if value in maker) for step in flow.steps]
    behind: list[list[int]] = [[] for _ in flow.steps]
    for number, makers in enumerate(before):
        for other in makers:
            behind[other].append(number)
    return tuple(map(tuple, before)), tuple(map(tuple, behind))


def _collectives(plan: Plan) -> dict[tuple[int, str], tuple[Node, ...]]:
    """The nodes of a plan that move or reduce tensors, by device and name."""
    found: dict[tuple[int, str], list[Node]] = defaultdict(list)
    for segment in plan.segments:
        for node in segment.nodes:
            if node.op in COLLECTIVES or node.op == CHUNK:
                found[segment.device, node.name].append(node)
    return {key: tuple(nodes) for key, nodes in found.items()}


def _outputs(plan: Plan, flow: Flow) -> dict[int, tuple[str, ...]]:
    """The names of what steps make, where it is more than one tensor and their nodes stand in no program."""
    nodes = {(node.op, node.name): node for segment in plan.segments for node in segment.nodes}
    found: dict[int, tuple[str, ...]] = {}
    for number, step in enumerate(flow.steps):
        node = nodes.get((step.op, step.place.name))
        if node is not None and len(node.outputs) > 1 and cited_in(node.name) is None:
            logicals = (plan.tensors[tensor].logical if tensor != ABSENT else ABSENT for tensor in node.outputs)
            found[number] = tuple(plan.logicals[k].name if k != ABSENT else "nothing" for k in logicals)
    return found


def arrays_of(values: Values, value: int) -> Arrays | None:
    """The arrays of a value; None where nothing makes it."""
    found = [seed[value] for seed in values]
    present = tuple(np.asarray(array) for array in found if array is not None)
    return present if len(present) == len(found) else None


def is_table(arrays: Arrays) -> bool:
    """Whether these are constants of which no sum is due: positions, or minus infinity. Of counts one may be."""
    steady = all(np.array_equal(array, arrays[0]) for array in arrays)
    steps = np.diff(arrays[0].ravel()) if steady and np.isfinite(arrays[0]).all() else None
    return steady and (steps is None or bool(steps.size and steps[0] and (steps == steps[0]).all()))


def is_mask(arrays: Arrays) -> bool:
    """Whether these are constants of zeros and ones, more than one: no part of a sum. One alone may be a count."""
    steady = arrays[0].size > 1 and all(np.array_equal(array, arrays[0]) for array in arrays)
    return steady and bool(np.isin(arrays[0], (0, 1)).all())


def broadcasts(one: Arrays, other: Arrays) -> bool:
    """Whether what is made of two values element by element has the shape of the other one."""
    shapes = one[0].shape, other[0].shape
    return len(shapes[0]) == len(shapes[1]) and all(n in (1, size) for n, size in zip(*shapes, strict=True))


def close(one: Sequence[Array], other: Sequence[Array]) -> bool:
    """Whether two values are equal, but for rounding, on all seeds."""
    return all(a.shape == b.shape and _close(a, b) for a, b in zip(one, other, strict=True))


def _close(a: Array, b: Array) -> bool:
    finite = np.where(np.isfinite(b), np.abs(b), 0.0)
    with np.errstate(invalid="ignore"):
        return bool(np.all((a == b) | (np.abs(a - b) <= 1e-9 * max(float(np.max(finite, initial=0.0)), 1e-9))))
