"""What the search for a repair looks at: the plans, what was found, and who makes and reads which tensor."""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from verdict.graph import ABSENT, ACCUMULATOR, INPUT, PER_STEP, Plan, Region
from verdict.graph.lockstep import CHUNK, COLLECTIVES, attribute
from verdict.graph.sources import cited_in, in_short
from verdict.lineage import Lineages, Value
from verdict.lineage.compare import difference
from verdict.lineage.reference import Base, Bases
from verdict.ops import FACTS
from verdict.phases import Examined
from verdict.repair.edits import Patch, Site, node_at
from verdict.words import listed

MOST_RANKS = 8
"""How many ranks a sentence names; dots stand for the others."""


class Candidate(NamedTuple):
    """A repair that may do. sentence: what it is, for people, without what it achieves."""

    sentence: str
    patch: Patch


@dataclass(frozen=True)
class Case:
    """A parallel plan that was refuted, with all that was found about it."""

    single: Plan
    plan: Plan
    examined: Examined

    @property
    def walk(self) -> Lineages | None:
        """The first of the walked columns; None where none could be walked."""
        return self.examined.walks[0] if self.examined.walks else None

    @property
    def bases(self) -> tuple[Base, ...]:
        """The single-device values of the walk."""
        return self.walk.reference.bases if self.walk else ()

    @cached_property
    def makers(self) -> Mapping[tuple[int, int], tuple[Site, ...]]:
        """The nodes that write a tensor, by device and tensor."""
        return self._wired(outputs=True)

    @cached_property
    def readers(self) -> Mapping[tuple[int, int], tuple[Site, ...]]:
        """The nodes that read a tensor, by device and tensor."""
        return self._wired(outputs=False)

    @cached_property
    def _by_name(self) -> Mapping[tuple[int, str, str], tuple[Site, ...]]:
        found: dict[tuple[int, str, str], list[Site]] = defaultdict(list)
        for number, segment in enumerate(self.plan.segments):
            for at, node in enumerate(segment.nodes):
                found[segment.device, node.op, node.name].append(Site(number, at))
        return {key: tuple(sites) for key, sites in found.items()}

    def named_nodes(self, device: int, op: str, name: str) -> tuple[Site, ...]:
        """The nodes of an operator and a name on a device."""
        return self._by_name.get((device, op, name), ())

    @cached_property
    def groups(self) -> tuple[tuple[int, ...], ...]:
        """The groups of several devices that communicate, the most frequent first."""
        count: dict[tuple[int, ...], int] = defaultdict(int)
        for segment in self.plan.segments:
            for node in segment.nodes:
                if node.op in COLLECTIVES or node.op == CHUNK:
                    ranks = tuple(sorted(attribute(node, "ranks")))
                    count[ranks] += len(ranks) > 1
        return tuple(sorted((ranks for ranks in count if count[ranks]), key=lambda ranks: (-count[ranks], ranks)))

    @cached_property
    def shares(self) -> Mapping[int, tuple[int, ...]]:
        """The tensors of each logical tensor."""
        found: dict[int, list[int]] = defaultdict(list)
        for number, tensor in enumerate(self.plan.tensors):
            found[tensor.logical].append(number)
        return {logical: tuple(numbers) for logical, numbers in found.items()}

    def held(self, device: int, tensor: int) -> Value | None:
        """What a tensor holds on a device; None where that is not known."""
        return self.walk.held[device].get(tensor) if self.walk else None

    def maker(self, device: int, tensor: int) -> Site | None:
        """The one node that writes a tensor; None where there is none, or several."""
        found = self.makers.get((device, tensor), ())
        return found[0] if len(found) == 1 else None

    def is_right(self, device: int, tensor: int, expected: Bases, region: Region) -> bool:
        """Whether a tensor holds exactly this region of the sum of `expected`."""
        value = self.held(device, tensor)
        return bool(value) and difference(value or (), expected, region, self.bases) is None

    def name(self, tensor: int) -> str:
        """The name of the logical tensor that a tensor is a share of."""
        return self.plan.logicals[self.plan.tensors[tensor].logical].name if tensor != ABSENT else "nothing"

    def is_there(self, device: int, tensor: int) -> bool:
        """Whether a node of the device makes the tensor, or it is given to the device."""
        if (device, tensor) in self.makers or tensor in self.plan.seeds:
            return True
        return self.plan.kind(tensor) in (*PER_STEP, INPUT) and (device, tensor) in self.readers

    def named(self, site: Site) -> str:
        """A node for people: by its name alone where that cites a line of a program, since it tells both."""
        node = node_at(self.plan, site)
        return f"{node.op} {node.name}" if cited_in(node.name) is None else in_short(node.name)

    def upstream(self, device: int, tensor: int) -> Iterator[tuple[int, Site]]:
        """The tensor and all that it is a copy, a sum or a reduction of, each with the node that writes it."""
        waiting, seen = [tensor], {ABSENT}
        while waiting:
            tensor = waiting.pop(0)
            if tensor in seen:
                continue
            seen.add(tensor)
            for site in self.makers.get((device, tensor), ()):
                yield tensor, site
                node = node_at(self.plan, site)
                addends = FACTS.addends(node.op, node.inputs, len(node.outputs)) or ()
                waiting.extend(node.inputs[:1] if node.op in COLLECTIVES else addends)

    def accumulators(self, device: int, tensor: int) -> tuple[int, ...]:
        """The accumulators that a tensor is a copy, a sum or a reduction of; itself if it is one."""
        read = [t for _, site in self.upstream(device, tensor) for t in node_at(self.plan, site).inputs]
        return tuple(dict.fromkeys(t for t in (tensor, *read) if self.is_accumulator(t)))

    def is_accumulator(self, tensor: int) -> bool:
        """Whether what writes a tensor adds to it."""
        return tensor != ABSENT and self.plan.kind(tensor) == ACCUMULATOR

    def _wired(self, outputs: bool) -> Mapping[tuple[int, int], tuple[Site, ...]]:
        found: dict[tuple[int, int], list[Site]] = defaultdict(list)
        for number, segment in enumerate(self.plan.segments):
            for at, node in enumerate(segment.nodes):
                for tensor in set(node.outputs if outputs else node.inputs):
                    found[segment.device, tensor].append(Site(number, at))
        return {key: tuple(sites) for key, sites in found.items()}


def ranks_in_words(ranks: tuple[int, ...]) -> str:
    """`ranks 0, 1`, `rank 3`; long groups are shortened."""
    return f"rank{'s' if len(ranks) > 1 else ''} {listed(ranks, MOST_RANKS)}"
