"""Reading a plan from text. docs/plan-format.md is the description of the format."""

from collections import defaultdict
from math import prod
from typing import Any

from verdict.backends.text.canonical import FORMAT
from verdict.backends.text.places import line_of
from verdict.backends.text.program import Program
from verdict.backends.text.tables import Tables, logical_of, view
from verdict.backends.text.values import Family, Varied, value
from verdict.backends.text.words import KINDS, Line, label, text_lines, told_of
from verdict.counting import Percent, unheard
from verdict.errors import PlanFileError
from verdict.graph import Call, Held, Logical, Plan, Segment, Storage, Tensor, has_effects
from verdict.graph.form import misfits
from verdict.graph.limits import MOST_DEVICES
from verdict.graph.misfit import LOGICAL, TENSOR
from verdict.outcome import Assumption, Finding, Source

_NO_DEVICES = Family((0,), {}, {}, {})
"""Where a line stands in no family: constants only."""


def read(data: bytes, source: str) -> Plan:
    """The plan that the text `data` spells. Raises PlanFileError(source:line) where it breaks the rules of the text."""
    return _read(data, source, unheard)[1]


def admit(data: bytes, source: str, told: Percent = unheard) -> Plan:
    """The plan that the text `data` describes. Raises PlanFileError(source:line), too, for one without sense.

    told: how much of the text is read, in percent.
    """
    from verdict.ops import RULES  # noqa: PLC0415 - who reads without this door needs no rules

    reader, plan = _read(data, source, told)
    for misfit in misfits(plan, RULES):
        number = line_of(misfit.at, plan, reader.lines, [reader.owner[device][0] for device in range(plan.devices)])
        raise PlanFileError(f"{source}:{number}", misfit.problem, misfit.help)
    return plan


def _read(data: bytes, source: str, told: Percent) -> tuple["_Reader", Plan]:
    lines = text_lines(data, source, FORMAT)
    reader = _Reader(source)
    section = ""
    for number, text in told_of(lines, told):
        line = Line(source, number, text)
        if not line.peek():
            continue
        if text[0] in " \t":
            reader.entry(section, line)
        elif section == "end":
            line.fail(f"expected nothing after the line end, found {line.found()}")
        else:
            section = line.take()
            reader.head(section, line)
    if section != "end":
        raise PlanFileError(f"{source}:{len(lines)}", "the last line, end, is missing", "the file may be cut off")
    return reader, reader.plan(len(lines))


class _Reader:
    def __init__(self, source: str) -> None:
        self.source = source
        self.tables = Tables()
        self.mesh: tuple[tuple[str, int], ...] = ()
        self.said: set[str] = set()
        self.counts: dict[str, int] = {}
        self.batch_axes: list[tuple[str, int]] = []
        self.shard_axes: list[tuple[str, int]] = []
        self.ranges: list[tuple[str, int, int | None]] = []
        self.assumptions: list[Assumption] = []
        self.faults: list[Finding] = []
        self.groups: list[tuple[int, ...]] = []
        self.sources: list[Source] = []
        self.loose: list[Tensor] = []
        self.lines: dict[str, list[int]] = defaultdict(list)
        self.programs: list[Program] = []
        self.owner: dict[int, tuple[Program, int]] = {}

    def head(self, word: str, line: Line) -> None:
        """A line that is not indented."""
        self.lines[word].append(line.number)
        match word:
            case "mesh" | "devices" | "replicas" | "microbatches" | "family":
                getattr(self, f"_{word}")(line)
            case "batch":
                self.batch_axes.append((line.name("the name of an input"), line.integer("an axis")))
                line.end()
            case "shard":
                self.shard_axes.append((line.name("the name of a tensor"), line.integer("an axis")))
                line.end()
            case "range":
                name, low = line.name("the name of an input"), line.signed("the least integer")
                self.ranges.append((name, low, line.signed_or_endless("the greatest integer, or inf")))
                line.end()
            case "assume":
                self.assumptions.append(Assumption(line.name("a name"), line.name("a sentence between quotes")))
                line.end()
            case "group":
                self.groups.append(tuple(iter(lambda: line.integer("a rank") if line.peek() else -1, -1)))
            case "fault":
                code, title, where, more = (line.name(what) for what in ("a code", *3 * ("a sentence between quotes",)))
                self.faults.append(Finding(code, title, where, help=more))
                line.end()
            case "source":
                file, number = line.name("the name of a file"), line.integer("a line")
                self.sources.append(Source(file, number, text=line.name("the line between quotes")))
                line.end()
            case "tensors" | "loose" | "end":
                line.end()
            case "segment" | "call" | "loss" | "gradient" | "output" | "seed" | "storage":
                if not self.programs:
                    line.fail(f"{word} stands before the first family", "begin with a line such as: family 0:4")
                getattr(self.programs[-1], word)(line)
            case _:
                line.fail(
                    f"expected mesh, devices, replicas, microbatches, batch, shard, range, assume, group, source, "
                    f"fault, tensors, loose, family, segment, call, loss, gradient, output, seed, storage or end, "
                    f"found {word[:60]}",
                    "the nodes of a segment and the entries of a table are indented",
                )

    def entry(self, section: str, line: Line) -> None:
        """An indented line, which belongs to the last line that is not."""
        match section:
            case "segment":
                self.programs[-1].node(line)
            case "tensors":
                self._logical(line)
            case "loose":
                name, ordinal, _ = line.label("a tensor")
                logical, place, part = view(
                    line, _NO_DEVICES, self.tables, logical_of(line, self.tables, name, ordinal)
                )
                line.end()
                if isinstance(place, Varied) or isinstance(part, Varied):
                    line.fail("a loose tensor is of no device: write a:b and i/n")
                self.lines[TENSOR].append(line.number)
                self.loose.append(Tensor(logical, place, part))
            case _:
                line.fail("an indented line stands under no segment and no table")

    def _mesh(self, line: Line) -> None:
        self._once("mesh", line)
        axes = []
        while line.peek():
            axis = line.name("the name of a mesh axis")
            line.expect("=")
            axes.append((axis, line.integer("the size of a mesh axis")))
            if axes[-1][1] < 1:
                line.fail(f"mesh axis {axis} has size 0", "a size is at least 1")
        if len({axis for axis, _ in axes}) < len(axes):
            line.fail("two mesh axes have one name")
        self.mesh = tuple(axes)

    def _devices(self, line: Line) -> None:
        self._count("devices", line)
        if self.counts["devices"] > MOST_DEVICES:
            line.fail(f"expected at most {MOST_DEVICES} devices, found {self.counts['devices']}")

    def _replicas(self, line: Line) -> None:
        self._count("replicas", line)

    def _microbatches(self, line: Line) -> None:
        self._count("microbatches", line)

    def _count(self, word: str, line: Line) -> None:
        self._once(word, line)
        self.counts[word] = line.integer(f"the number of {word}")
        line.end()
        if self.counts[word] < 1:
            line.fail(f"expected at least 1 of {word}, found 0")

    def _once(self, word: str, line: Line) -> None:
        if word in self.said:
            line.fail(f"{word} is said twice")
        if self.programs:
            line.fail(f"{word} stands after the first family", "say it at the head of the file")
        self.said.add(word)

    def _logical(self, line: Line) -> None:
        name, ordinal, _ = line.label("the name of a tensor")
        kind = line.name("the kind of the tensor")
        if kind not in KINDS:
            line.fail(f"expected one of {', '.join(KINDS)}, found {kind}")
        dtype = line.name("a dtype")
        shape: list[int] = []
        line.expect("[")
        while not line.skip("]"):
            shape.append(line.integer("the size of an axis"))
            if line.peek() != "]":
                line.expect(",")
        origin: Any = None
        if line.skip("origin"):
            origin = name if line.skip("name") else value(line, _NO_DEVICES)
        line.end()
        if isinstance(origin, Varied):
            line.fail("an origin is the same for all devices")
        if (name, ordinal) in self.tables.ordinals:
            line.fail(f"there is a tensor {label(name, ordinal)} already", f"call it {label(name, ordinal + 1)}")
        self.lines[LOGICAL].append(line.number)
        self.tables.ordinals[name, ordinal] = len(self.tables.logicals)
        self.tables.logicals.append(Logical(name, tuple(shape), dtype, kind, origin))

    def _family(self, line: Line) -> None:
        devices: list[int] = []
        total = self._total(line)
        while line.peek():
            start = line.integer("a device")
            stop = line.integer("the end of a range of devices") if line.skip(":") else start + 1
            if not start < stop <= total:
                line.fail(f"expected devices below {total}, found {start}:{stop}")
            devices += range(start, stop)
            if len(devices) > total:
                line.fail(f"the family has more devices than the {total} that there are")
        if not devices:
            line.fail("expected the devices of the family, found none", "such as: family 0:4")
        program = Program(Family.of(tuple(devices), self.mesh, total), self.tables, line.number)
        for position, device in enumerate(devices):
            if device in self.owner:
                line.fail(f"device {device} is already in the family of line {self.owner[device][0].line}")
            self.owner[device] = (program, position)
        self.programs.append(program)

    def _total(self, line: Line) -> int:
        found = self.counts.get("devices") or prod(size for _, size in self.mesh[1:])
        if found > MOST_DEVICES:
            line.fail(f"expected at most {MOST_DEVICES} devices, found {found}")
        return found

    def plan(self, last: int) -> Plan:
        """The plan of all the lines; `last` is the number of the last one."""
        total = self._total(Line(self.source, last, ""))
        missing = [device for device in range(total) if device not in self.owner]
        if missing:
            raise PlanFileError(
                f"{self.source}:{last}",
                f"device {missing[0]} of {total} is in no family",
                "the file may be cut off",
            )
        tensors: list[Tensor] = []
        segments: list[Segment] = []
        lines: list[tuple[int, ...]] = []
        programs: list[tuple[Call, ...]] = []
        losses: list[Held] = []
        gradients: list[Held] = []
        outputs: list[Held] = []
        seeds: list[int] = []
        storages: list[Storage] = []
        for device in range(total):
            program, position = self.owner[device]
            start, first = len(tensors), len(segments)
            where = [*range(start, start + len(program.shares)), -1]
            tensors += program.tensors_of(position)
            for at in range(len(program.segments)):
                name = program.name_of(at, position)
                segments.append(Segment(name, device, program.nodes_of(at, position, start)))
                lines.append(program.lines_of_nodes[at])
            programs.append(
                tuple(
                    Call(first + at, microbatch, tuple((where[tensor], mb) for tensor, mb in crossed))
                    for at, microbatch, crossed in program.calls
                )
            )
            losses += [Held(device, where[tensor], where[weight]) for tensor, weight in program.losses]
            gradients += [Held(device, where[tensor], where[weight]) for tensor, weight in program.gradients]
            outputs += [Held(device, where[tensor], where[weight]) for tensor, weight in program.outputs]
            seeds += [where[tensor] for tensor in program.seeds]
            storages += [Storage(device, name, tuple(where[at] for at in shared)) for name, shared in program.storages]
        return Plan(
            source=self.source,
            format=FORMAT,
            mesh=self.mesh,
            devices=total,
            replicas=self.counts.get("replicas") or (self.mesh[0][1] if self.mesh else 1),
            microbatches=self.counts.get("microbatches", 1),
            logicals=tuple(self.tables.logicals),
            tensors=(*tensors, *self.loose),
            segments=tuple(segments),
            programs=tuple(programs),
            losses=tuple(losses),
            gradients=tuple(gradients),
            seeds=tuple(seeds),
            batch_axes=tuple(self.batch_axes),
            shard_axes=tuple(self.shard_axes),
            ranges=tuple(self.ranges),
            assumptions=tuple(self.assumptions),
            outputs=tuple(outputs),
            storages=tuple(storages),
            effects=has_effects(segments, storages),
            faults=tuple(self.faults),
            groups=tuple(self.groups),
            sources=tuple(self.sources),
            lines=tuple(lines),
        )
