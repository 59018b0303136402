"""Both plans on numbers at larger shapes than a proof is made at: what a reduction of shapes must not change."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from math import prod
from types import MappingProxyType
from typing import NamedTuple

from verdict.comparison import Faulty
from verdict.graph import ABSENT, Node, Plan, Shape
from verdict.inputs import domains
from verdict.reduction import Reduced, shrink, sizes_in_constants
from verdict.semantics import Binding, Small, full, itself, reading, signature
from verdict.sweep.compare import Compared, Different
from verdict.sweep.declared import undeclared
from verdict.sweep.flow import CANNOT, Flow
from verdict.sweep.results import Missing
from verdict.sweep.seen import Seen, certain, flows_of, seen

MOST_OPERATIONS = 2_000_000_000
"""How many multiplications and additions both plans may take, on all ranks: a few seconds."""
MOST_GIVEN = 50_000_000
"""How many elements the single-device plan may be given."""
GROWTH = (16, 6, 2)
"""By how many elements more than the fewest each axis is longer, where full shapes are too much: the first that fits
is taken.
"""
SEEDS = (101, 102)
"""Other values than those that guesses are made on."""


class Larger(NamedTuple):
    """at: in words the shapes at which both plans were run, "" where none could be. compared: on each seed. unusual:
    whether they differ on some seed with unusual integers only. undeclared: what no number can be of. unsized:
    constants that do not stand for the sizes in them there, so that a difference tells nothing.
    """

    at: str
    compared: tuple[Compared, ...] = ()
    unusual: bool = False
    undeclared: tuple[Missing, ...] = ()
    unsized: Mapping[float, int] = MappingProxyType({})

    @property
    def different(self) -> tuple[Different, ...]:
        """The declared outputs that differ, on the first seed that shows one."""
        return next((each.different for each in self.compared if each.different), ())

    @property
    def missing(self) -> tuple[Missing, ...]:
        """The outputs that nobody holds, or declares."""
        return (*next((each.missing for each in self.compared if each.missing), ()), *self.undeclared)

    @property
    def differs(self) -> bool:
        """Whether a declared output differs, or is held by nobody."""
        return bool(self.different or self.missing)


def on_numbers(single: Plan, parallel: Plan, binding: Binding, smallest: Reduced, most: int) -> Larger:
    """Both plans run at full shapes where they take so many operations at most, else above `smallest`."""
    for at, reduced, unsized in _shapes(single, parallel, binding, smallest, most):
        try:
            flows = flows_of(reduced)
            each = [_seen(flows, reduced, seed) for seed in SEEDS]
        except (Faulty, *CANNOT):
            continue
        lacking = tuple(undeclared(flows[0], reduced.parallel, reduced.small[1], binding.logical))
        compared, unusual = tuple(one.compared for one in each), any(one.unusual for one in each)
        return Larger(at, compared, unusual, lacking, unsized)
    return Larger("")


def _shapes(
    single: Plan, parallel: Plan, binding: Binding, smallest: Reduced, most: int
) -> Iterator[tuple[str, Reduced, Mapping[float, int]]]:
    own = Reduced(single, parallel, binding, (full(single), full(parallel)))
    if _is_little(own, most):
        yield "full shapes", own, {}
    constants = sizes_in_constants(single, parallel)
    for unsized in ({}, constants) if constants else (constants,):
        whole = frozenset(() if unsized else constants.values())
        for more in GROWTH:
            reduced = shrink(single, parallel, binding, more, whole)
            if reduced.small[0].logicals != smallest.small[0].logicals and _is_little(reduced, most):
                yield f"reduced shapes of {more} elements more along each axis", reduced, unsized


def _is_little(reduced: Reduced, most: int) -> bool:
    given = sum(prod(reduced.small[0].logicals[k]) for k in itself(reduced.single).logical)
    return given <= MOST_GIVEN and operations_of(reduced) <= most


def operations_of(reduced: Reduced) -> int:
    """How many multiplications and additions both plans take at most."""
    return operations(reduced.single, reduced.small[0]) + operations(reduced.parallel, reduced.small[1])


def operations(plan: Plan, small: Small) -> int:
    """About how many multiplications and additions all ranks make, over all microbatches."""
    shapes = [small.shape(tensor) for tensor in range(len(plan.tensors))]
    known: dict[tuple[object, ...], int] = {}
    each = []
    for segment in plan.segments:
        for node in segment.nodes:
            if signature(node) not in known:
                known[signature(node)] = _of_node(node, small, shapes)
        each.append(sum(known[signature(node)] for node in segment.nodes))
    return plan.replicas * sum(each[call.segment] for program in plan.programs for call in program)


def _of_node(node: Node, small: Small, shapes: Sequence[Shape]) -> int:
    """The product of the index axes of two inputs that are multiplied and summed along one, of those with the most;
    else the elements that it touches.
    """
    moved = sum(prod(shapes[tensor]) for tensor in (*node.inputs, *node.outputs) if tensor != ABSENT)
    attrs = small.attrs.get(signature(node))
    if attrs is None:
        return moved
    read = reading(node, node.name)
    axes = read.rule.axes([shapes[tensor] for tensor in read.forward], attrs)
    written = {name for dims in axes.outputs for dim in dims for name in dim}
    sizes = {atom.name: atom.size for atom in axes.atoms}
    each = Counter(frozenset(name for dim in dims for name in dim) for dims in axes.inputs)
    some = (*combinations(each, 2), *((names, names) for names, count in each.items() if count > 1))
    pairs = (one | other for one, other in some if not one & other <= written)
    return max((prod(sizes[name] for name in names) for names in pairs), default=moved)


def _seen(flows: tuple[Flow, Flow], reduced: Reduced, seed: int) -> Seen:
    ends = frozenset(r.value for r in flows[0].results), frozenset(r.value for r in flows[1].results)
    found = seen(flows, reduced, (seed,), domains(reduced.single, reduced.small[0]), ends)
    return certain(flows, found, (reduced.single, reduced.parallel))
