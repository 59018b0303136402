"""Which single-device nodes a parallel node may be the counterpart of, by what both are called."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from functools import cache, partial
from itertools import islice
from typing import NamedTuple

from verdict.graph import Node, Plan
from verdict.graph.names import unwrapped_node
from verdict.graph.sources import up_to_cited


class Alike(NamedTuple):
    """Single-device nodes of a parallel node's operator and name; place: its own among those that share it.

    The nodes are one list for all that share them: a line of an optimizer has one for each weight.
    """

    nodes: Sequence[Node]
    place: int


NONE = Alike((), 0)


def counterparts(single: Plan, parallel: Plan, unwraps: bool = False) -> dict[tuple[int, tuple[int, ...]], Alike]:
    """For each node of each device, by its outputs, the single-device nodes of its operator and name; where none has
    its name, those whose names are the same up to the place in the program that they cite.

    unwraps: whether modules that are wrapped in the parallel plan alone are called alike.
    """
    keys = cache(partial(_keys, unwraps))
    own: dict[tuple[str, str], list[Node]] = defaultdict(list)
    for call in single.programs[0]:
        for node in single.segments[call.segment].nodes:
            for key in keys(node.op, node.name):
                own[key].append(node)

    @cache
    def key_of(op: str, name: str) -> tuple[str, str]:
        return next((key for key in keys(op, name) if key in own), (op, name))

    found: dict[tuple[int, tuple[int, ...]], Alike] = {}
    for device, calls in enumerate(parallel.programs):
        seen: Counter[tuple[str, str]] = Counter()
        for segment in dict.fromkeys(call.segment for call in calls):
            for node in parallel.segments[segment].nodes:
                key = key_of(node.op, node.name)
                found[device, node.outputs] = Alike(own.get(key, ()), seen[key])
                seen[key] += 1
    return found


def in_turn(alike: Alike) -> Iterator[Node]:
    """The nodes, that in the same place first."""
    nodes, place = alike
    yield from nodes[place : place + 1]
    yield from islice(nodes, place)
    yield from islice(nodes, place + 1, None)


def _keys(unwraps: bool, op: str, name: str) -> tuple[tuple[str, str], ...]:
    """By what a node is found, the surest first. What follows the place may be of one text alone, as its lines are."""
    names = (name, up_to_cited(name) or name)
    others = map(unwrapped_node, names) if unwraps else ()
    return tuple(dict.fromkeys((op, each) for each in (*names, *others)))
