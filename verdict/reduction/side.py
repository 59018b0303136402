"""One plan, while the scales of its dimensions are joined with those of another one: what its nodes, messages and cuts
ask of them, and its small shapes.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from math import prod
from typing import Any, NamedTuple

from verdict.comparison import Fault, Faulty
from verdict.errors import ShapeError
from verdict.graph import ABSENT, GIVEN, Node, Plan, Region, Shape, extent, shard_axes, whole
from verdict.graph.lockstep import CHUNK, COMMUNICATION, attribute
from verdict.ops import FACTS, Attributes, Axes, Pattern, Scale
from verdict.reduction.coordinates import Coordinates
from verdict.reduction.factors import Factors
from verdict.reduction.reach import keep_reach
from verdict.reduction.scales import Scales
from verdict.reduction.stand_ins import Tables, attributes, rewritten
from verdict.reduction.stated import cut_ranges, small_ranges
from verdict.reduction.transitions import follow
from verdict.reduction.visit import Visit, visited
from verdict.semantics import Reading, Small, axes_of, nodes_of, walk_messages


class Kind(NamedTuple):
    """Nodes that do the same to shares of the same logical tensors, of the same shapes, as those of a group's ranks do:
    what one says of scales all say.

    atoms: the variable of each atom of the pattern.
    """

    node: Node
    read: Reading
    pattern: Pattern
    atoms: Mapping[str, int]


def kind_of(node: Node, pattern: Pattern, logicals: Sequence[int]) -> tuple[object, ...]:
    """What nodes of one kind have in common. pattern: one object for each operator, attributes and shapes. logicals: of
    each tensor.
    """
    read_twice = tuple(map(node.inputs.index, node.inputs))
    return (id(pattern), read_twice, tuple(logicals[tensor] for tensor in (*node.inputs, *node.outputs)))


class Side:
    """One plan, while its dimensions are joined. least: the fewest elements that any axis keeps, where it has them."""

    def __init__(self, plan: Plan, factors: Factors, least: int) -> None:
        self.plan, self.factors, self.least = plan, factors, least
        self.shapes = plan.shapes
        self.shares = dict.fromkeys((tensor.logical, tensor.region) for tensor in plan.tensors)
        self.dims = [tuple(factors.new() for _ in logical.shape) for logical in plan.logicals]
        self.kinds: list[Kind] = []
        self.nodes = self.with_kinds()
        self.messages = walk_messages(plan)
        self.coordinates = Coordinates(plan, factors, self.messages)
        self.tables = Tables((), {}, ())
        self.added: list[tuple[int, ...]] = []

    def with_kinds(self) -> dict[tuple[object, ...], tuple[Node, int]]:
        """The nodes that compute, by signature, with the places of their kinds."""
        places: dict[tuple[object, ...], int] = {}
        found: dict[tuple[object, ...], tuple[Node, int]] = {}
        logicals = [*(tensor.logical for tensor in self.plan.tensors), ABSENT]
        for key, (node, read, pattern) in nodes_of(self.plan).items():
            place = places.setdefault(kind_of(node, pattern, logicals), len(self.kinds))
            if place == len(self.kinds):
                atoms = {atom.name: self.factors.new() for atom in pattern.axes.atoms}
                self.kinds.append(Kind(node, read, pattern, atoms))
            found[key] = node, place
        return found

    def dims_of(self, tensor: int) -> tuple[int, ...]:
        return self.dims[self.plan.tensors[tensor].logical]

    def join_all(self) -> list[Visit]:
        """Make every node's, message's and declared output's equations between scales hold, and follow what is made.
        One visit of each kind is returned.
        """
        for one, other in self.messages:
            self.join_tensors(one, other)
        for held in (*self.plan.gradients, *self.plan.outputs):
            if held.weight != ABSENT:
                self.join_tensors(held.tensor, held.weight)
        for node, read, pattern, atoms in self.kinds:
            self.join_node(node, read, pattern.axes, atoms)
        for _, _, pattern, atoms in self.kinds:
            for one_atom, other_atom in pattern.ties:
                if one_atom in atoms and other_atom in atoms:
                    self.factors.join(atoms[one_atom], atoms[other_atom])
        visits = [
            visited(self.plan, key, node, self.kinds[place].pattern, self.kinds[place].atoms)
            for key, (node, place) in self.nodes.items()
        ]
        for visit in visits:
            follow(self.coordinates, visit)
        first: dict[int, Visit] = {}
        for visit, (_, place) in zip(visits, self.nodes.values(), strict=True):
            first.setdefault(place, visit)
        return list(first.values())

    def finish(self, visits: Sequence[Visit], apart: bool) -> None:
        """Keep the axes that must have their sizes.

        apart: whether one plan alone divides by what it counts: the axes of that keep their sizes.
        """
        for visit in visits:
            if FACTS.divides_by_count(visit.node.op, visit.attrs):
                axes = visit.axes(visit.contracted(visit.pattern.along))
                self.coordinates.keep_axes(axes) if apart else self.coordinates.even(axes)
        keep_reach(self.coordinates, self.factors, visits)
        self.coordinates.finish()

    def freeze(self, sizes: Collection[int]) -> None:
        """Keep the axes of all dimensions of these sizes as they are."""
        for logical, dims in zip(self.plan.logicals, self.dims, strict=True):
            for variable, size in zip(dims, logical.shape, strict=True):
                if size in sizes:
                    self.factors.freeze(variable)

    def take(self, tables: Tables, single: "Side") -> None:
        """Let what stands for tables have the scales of the tables. single: the side of the single-device plan."""
        self.tables = tables
        self.added = []
        for tensor in tables.kept:
            self.coordinates.keep(self.plan.tensors[tensor].logical)
        for added in tables.added:
            own = self.dims_of(added.tensor)
            if added.number is None:
                theirs = single.dims_of(added.like)
                for dim, size, other, its in zip(own, self.shapes[added.tensor], theirs, added.shape, strict=True):
                    self.factors.tie(dim, size, other, its)
                own = theirs
            self.added.append(own)

    def rewritten(self, small: Small, scales: Scales) -> tuple[Plan, Small]:
        """The plan that reads what stands for its tables, and its small shapes."""
        plan = rewritten(self.plan, self.tables)
        plan = replace(plan, ranges=small_ranges(self.plan, self.coordinates, scales))
        logicals, regions = list(small.logicals), list(small.regions)
        dims = dict(zip(range(len(self.plan.tensors), len(plan.tensors)), self.added, strict=True))
        for tensor, own in dims.items():
            share = plan.tensors[tensor]
            shape = plan.logicals[share.logical].shape
            regions.append(_small_region(scales, own, shape, share.region))
            if share.logical == len(logicals):
                logicals.append(_small_shape(scales, own, shape))
        shapes = [extent(region) for region in regions]
        attrs = attributes(self.plan, plan, self.tables, small.attrs, shapes)
        return plan, Small(tuple(regions), tuple(logicals), attrs)

    def axes(self, tensor: int) -> frozenset[int]:
        """The factors of the dimensions of a tensor that has more than one element along them."""
        pairs = zip(self.dims_of(tensor), self.shapes[tensor], strict=True)
        return frozenset(self.factors.find(p.factor) for v, size in pairs for p in self.factors.pieces(v, size))

    def join_tensors(self, one: int, other: int) -> None:
        if len(self.shapes[one]) == len(self.shapes[other]):
            sizes = zip(self.shapes[one], self.shapes[other], strict=True)
            for left, right, (size, its) in zip(self.dims_of(one), self.dims_of(other), sizes, strict=True):
                self.factors.tie(left, size, right, its)

    def join_node(self, node: Node, read: Reading, axes: Axes, atoms: Mapping[str, int]) -> None:
        sizes = {atom.name: atom.size for atom in axes.atoms}
        outputs = node.inputs[: read.grads] if read.is_gradient else node.outputs
        tensors = [*zip(read.forward, axes.inputs, strict=True), *zip(outputs, axes.outputs, strict=False)]
        if read.is_gradient:
            tensors += zip(node.outputs, axes.inputs, strict=False)
        for tensor, dims in tensors:
            if tensor == ABSENT:
                continue
            for variable, size, names in zip(self.dims_of(tensor), self.shapes[tensor], dims, strict=True):
                product = [p for name in names for p in self.factors.pieces(atoms[name], sizes[name])]
                if product:
                    self.factors.equate(self.factors.pieces(variable, size), product)

    def constrain(self, scales: Scales) -> None:
        """Say where dimensions are cut and how many elements they keep."""
        for logical, region in (*self.shares, *self.unread()):
            shape = self.plan.logicals[logical].shape
            for variable, size, interval in zip(self.dims[logical], shape, region, strict=True):
                scales.cut(variable, max(size, interval[1]), interval)
                scales.least(variable, interval[1] - interval[0], self.least)
        for segment in self.plan.segments:
            for node in segment.nodes:
                if node.op in COMMUNICATION or node.op == CHUNK:
                    self.constrain_pieces(scales, node)
        for _, read, pattern, atoms in self.kinds:
            for atom in pattern.axes.atoms:
                cuts = pattern.cuts.get(atom.name, ())
                scales.cut(atoms[atom.name], max((atom.size, *cuts)), (atom.size, *cuts))
                scales.least(atoms[atom.name], atom.size, max(atom.least, self.least))
                if atom.name in read.rule.keeps:
                    self.factors.freeze(atoms[atom.name])
        self.coordinates.constrain(scales)
        cut_ranges(self.plan, self.coordinates, scales)
        for added, own in zip(self.tables.added, self.added, strict=True):
            for variable, size, interval in zip(own, added.shape, added.region, strict=False):
                scales.cut(variable, size, interval)

    def unread(self) -> Iterator[tuple[int, Region]]:
        """The given tensors that nothing reads, as wholes: nothing else says how many elements they keep."""
        read, given = {logical for logical, _ in self.shares}, enumerate(self.plan.logicals)
        return ((k, whole(each.shape)) for k, each in given if each.kind in GIVEN and k not in read)

    def constrain_pieces(self, scales: Scales, node: Node) -> None:
        """Every piece that communication may cut a tensor into keeps its bounds."""
        across = bool(attribute(node, "replicas"))
        if not node.inputs or node.inputs[0] == ABSENT or (node.op == "all_gather" and not across):
            return
        cut = node.outputs[0] if node.op == "all_gather" else node.inputs[0]
        variables, shape = self.dims_of(cut), self.shapes[cut]
        for name in ("dim", "split_dim"):
            dim = attribute(node, name)
            if isinstance(dim, int) and -len(shape) <= dim < len(shape):
                count = len(attribute(node, "ranks")) * (self.plan.replicas if across else 1)
                scales.chunk(variables[dim], shape[dim], -(-shape[dim] // count), count)

    def constrain_shards(self, scales: Scales) -> None:
        """Every shard of what replicas divide keeps its bounds in the whole, and is as large as any other."""
        divided, replicas = shard_axes(self.plan), self.plan.replicas
        for tensor in self.plan.tensors:
            axis = divided.get(tensor.logical)
            if axis is not None:
                whole = self.plan.logicals[tensor.logical].shape[axis] * replicas
                start, stop = tensor.region[axis]
                scales.cut(self.dims[tensor.logical][axis], whole, (start * replicas, stop - start))
                scales.even(self.dims[tensor.logical][axis], whole)
                scales.even(self.dims[tensor.logical][axis], stop - start)

    def small(self, scales: Scales) -> Small:
        """The plan at these scales."""
        given = [(dims, logical.shape) for dims, logical in zip(self.dims, self.plan.logicals, strict=True)]
        logicals = tuple(_small_shape(scales, dims, shape) for dims, shape in given)
        small = {
            (logical, region): _small_region(scales, *given[logical], region) for logical, region in self.shares
        }
        regions = tuple(small[tensor.logical, tensor.region] for tensor in self.plan.tensors)
        return Small(regions, logicals, self.attrs(scales, [extent(region) for region in regions]))

    def attrs(self, scales: Scales, shapes: Sequence[Shape]) -> dict[tuple[object, ...], Mapping[str, Any]]:
        reduced = [self.kind_attrs(kind, scales, shapes) for kind in self.kinds]
        return {key: self.coordinates.reduced(key, scales, reduced[place]) for key, (_, place) in self.nodes.items()}

    def kind_attrs(self, kind: Kind, scales: Scales, shapes: Sequence[Shape]) -> Attributes:
        """The reduced attributes of a kind of nodes. Raises Faulty."""
        node, read, pattern, atoms = kind
        axes = pattern.axes
        points = {
            atom.name: {
                at: scales.small(atoms[atom.name], max(atom.size, at), at)
                for at in (0, atom.size, *pattern.cuts.get(atom.name, ()))
            }
            for atom in axes.atoms
        }
        sizes = {atom.name: points[atom.name][atom.size] for atom in axes.atoms}
        scale = Scale(
            {atom.name: (0, atom.size) for atom in axes.atoms},
            sizes,
            points,
            tuple(shapes[tensor] for tensor in read.forward),
            tuple(tuple(prod(sizes[n] for n in names) for names in dims) for dims in axes.outputs),
        )
        try:
            return pattern.reduce(dict(node.attrs), scale)
        except ShapeError as error:
            raise Faulty(Fault(error.problem, f"{node.op} {node.name}")) from None

    def require_fitting(self, small: Small) -> None:
        """The reduced plan must fit as the full one does. Raises Faulty."""
        shapes = [small.shape(tensor) for tensor in range(len(self.plan.tensors))]
        known: set[tuple[object, ...]] = set()
        for key, (node, place) in self.nodes.items():
            attrs = tuple(sorted(small.attrs[key].items()))
            kind = (node.op, attrs, *(shapes[t] if t != ABSENT else None for t in (*node.inputs, *node.outputs)))
            if kind not in known:
                known.add(kind)
                where = f"{node.op} {node.name}, at reduced shapes"
                axes_of(node._replace(attrs=attrs), self.kinds[place].read, shapes, where)


def _small_shape(scales: Scales, dims: Sequence[int], shape: Shape) -> Shape:
    return tuple(scales.small(variable, size, size) for variable, size in zip(dims, shape, strict=True))


def _small_region(scales: Scales, dims: Sequence[int], shape: Shape, region: Region) -> Region:
    """The region of a tensor of `shape`, beyond which it may reach."""
    return tuple(
        (scales.small(variable, max(size, stop), start), scales.small(variable, max(size, stop), stop))
        for variable, size, (start, stop) in zip(dims, shape, region, strict=True)
    )
