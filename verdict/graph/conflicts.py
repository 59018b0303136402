"""What a conflict of effects is: two accesses of one memory that nothing orders, and the words for it."""

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from verdict.graph.fault import Fault, Place
from verdict.graph.plan import Plan
from verdict.outcome import Finding


@dataclass(frozen=True, eq=False)
class Event:
    """A node's run. clock: for each track, how many of its events happen before this one, itself included."""

    place: Place
    stream: str
    track: Hashable
    at: int
    clock: Mapping[Hashable, int]

    @property
    def asynchronous(self) -> bool:
        """Whether nothing on its stream comes after it but a wait."""
        return self.track != self.stream


def before(one: Event, other: Event) -> bool:
    """Whether `one` happens before `other`."""
    return one is not other and other.clock.get(one.track, 0) >= one.at


@dataclass(eq=False)
class Version:
    """What stands in some memory after one write. writer: None for what is given at the start of the step."""

    tensor: int
    microbatch: int
    writer: Event | None
    reads: list[Event] = field(default_factory=list)


END = "output"
"""What reads the declared outputs when the step is over: no node of the plan."""


class Conflict(NamedTuple):
    """Two accesses that must not be as they are. writer: of `version`, or of what overwrites it (`other`)."""

    code: str
    version: Version
    reader: Event
    writer: Event
    other: Version | None = None


_SAID = {
    "read-before-wait": "{reader} reads {name} without a wait for {writer}, which makes it",
    "unordered-streams": "{reader} reads {name}, which {writer} makes on another stream, and no event orders them",
    "stale-read": "{reader} reads {name} after {writer} wrote {other} into its memory",
    "overwritten-early": "{writer} writes {other} into the memory of {name}, while {reader} may still read it",
}
_HELP = {
    "read-before-wait": "wait for the communication, and read what the wait returns",
    "unordered-streams": "record an event behind the write, and await it before the read",
    "stale-read": "copy the tensor before its memory is written again, or give it memory of its own",
    "overwritten-early": "wait for the reader before the memory is written again",
}


def finding_of(plan: Plan, conflicts: list[Conflict]) -> Finding:
    first = conflicts[0]
    other = first.other or first.version
    words = {
        "reader": f"{first.reader.place.op} {first.reader.place.name}",
        "writer": f"{first.writer.place.op} {first.writer.place.name}",
        "name": _named(plan, first.version),
        "other": _named(plan, other) if other.tensor != first.version.tensor else f"{_named(plan, other)} again",
    }
    places = tuple(place for conflict in conflicts for place in (conflict.reader.place, conflict.writer.place))
    return Finding(
        first.code,
        _SAID[first.code].format(**words),
        (first.writer if first.reader.place.op == END else first.reader).place.spelled,
        notes=(f"read: {_access(first.reader)}", f"write: {_access(first.writer)}", *_memory(plan, first.version)),
        help=_HELP[first.code],
        extent=len(conflicts),
        evidence=Fault(places, (first.version.tensor, other.tensor)),
        ranks=tuple(sorted({conflict.reader.place.device for conflict in conflicts})),
        kind=(first.reader.place.op, first.writer.place.op, other.tensor == first.version.tensor),
    )


def _named(plan: Plan, version: Version) -> str:
    name = plan.logicals[plan.tensors[version.tensor].logical].name
    return name if plan.microbatches == 1 or version.microbatch < 0 else f"{name} of microbatch {version.microbatch}"


def _access(event: Event) -> str:
    place = event.place
    when = "" if place.microbatch < 0 else f", microbatch {place.microbatch}"
    how = ", asynchronous" if event.asynchronous else ""
    return f"{place.spelled}{when}, stream {event.stream}{how}"


def _memory(plan: Plan, version: Version) -> tuple[str, ...]:
    return tuple(f"memory: storage {storage.name}" for storage in plan.storages if version.tensor in storage.tensors)
