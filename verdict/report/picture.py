"""What a page draws of a finding, as data: the schedule of the devices, the nodes around the fault in both plans."""

from typing import NamedTuple


class Bar(NamedTuple):
    """One run of a segment. start: in which step of the schedule; microbatch: -1 for once a step."""

    segment: str
    microbatch: int
    start: int
    wrong: bool


class Lane(NamedTuple):
    """What one plan device runs, in its order."""

    device: int
    bars: tuple[Bar, ...]


class Drawn(NamedTuple):
    """A node in words: its operator, that with its name, and what it makes."""

    op: str
    text: str
    makes: str
    wrong: bool = False


class Around(NamedTuple):
    """Nodes of one plan in their order. edges: (maker, reader), by their places among the nodes."""

    nodes: tuple[Drawn, ...] = ()
    edges: tuple[tuple[int, int], ...] = ()


class Picture(NamedTuple):
    """Of one finding. finding: its number in the report. lanes: the schedule of some devices, the faulty ones among
    them; more: how many devices and runs are left out. device: of the parallel nodes. matches: of a node of the single
    plan and a parallel one that make what is called alike.
    """

    finding: int
    lanes: tuple[Lane, ...]
    more: tuple[int, int]
    device: int
    single: Around
    parallel: Around
    matches: tuple[tuple[int, int], ...]
