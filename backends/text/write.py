"""Writing a plan as text: devices that differ in what is stated of tensors and in attribute values share one text.

`read(write(plan))` equals `canonical(plan)`, and `write(read(text))` equals `text` for every text written here.
"""

from collections.abc import Iterator
from typing import Any

from verdict.backends.text.canonical import FORMAT, numbered
from verdict.backends.text.spell import Spelling, literal
from verdict.backends.text.values import Family
from verdict.backends.text.words import label, quoted
from verdict.errors import PlanFileError
from verdict.graph import ABSENT, ONCE_A_STEP, Node, Plan, Segment


def write(plan: Plan) -> str:
    """The canonical text of `plan`. Raises PlanFileError for values that the format cannot hold."""
    plan, starts = numbered(plan)
    try:
        return "\n".join(_text(plan, starts)) + "\n"
    except ValueError as error:
        raise PlanFileError(plan.source, str(error)) from None


def _text(plan: Plan, starts: tuple[int, ...]) -> Iterator[str]:
    yield FORMAT
    yield ""
    yield from _head(plan)
    ordinals = _ordinals([logical.name for logical in plan.logicals])
    labels = [label(logical.name, ordinal) for logical, ordinal in zip(plan.logicals, ordinals, strict=True)]
    yield ""
    yield "tensors"
    for name, logical in zip(labels, plan.logicals, strict=True):
        shape = ", ".join(str(int(size)) for size in logical.shape)
        origin = "" if logical.origin is None else f" origin {literal(logical.origin)}"
        if type(logical.origin) is str and logical.origin == logical.name:
            origin = " origin name"
        yield f"  {name} {quoted(logical.kind)} {quoted(logical.dtype)} [{shape}]{origin}"
    for devices in _families(plan, starts):
        yield from _Family(plan, devices, starts, ordinals).text()
    if starts[-1] < len(plan.tensors):
        yield ""
        yield "loose"
    nowhere = Spelling(Family((0,), {}, {}, {}))
    for tensor in plan.tensors[starts[-1] :]:
        shape_of = plan.logicals[tensor.logical].shape
        yield f"  {labels[tensor.logical]}{nowhere.view([tensor.region], [tensor.part], shape_of)}"
    yield ""
    yield "end"


def _head(plan: Plan) -> Iterator[str]:
    if plan.mesh:
        yield "mesh " + " ".join(f"{quoted(axis)}={int(size)}" for axis, size in plan.mesh)
    yield f"devices {plan.devices}"
    yield f"replicas {plan.replicas}"
    yield f"microbatches {plan.microbatches}"
    for name, axis in plan.batch_axes:
        yield f"batch {quoted(name)} {axis}"
    for name, axis in plan.shard_axes:
        yield f"shard {quoted(name)} {axis}"
    for name, low, high in plan.ranges:
        yield f"range {quoted(name)} {low} {'inf' if high is None else high}"
    for assumption in plan.assumptions:
        yield f"assume {quoted(assumption.name)} {literal(assumption.text)}"
    for source in plan.sources:
        yield f"source {literal(source.file)} {source.line} {literal(source.text)}"
    for group in plan.groups:
        yield f"group {' '.join(map(str, group))}"
    for fault in plan.faults:
        yield f"fault {quoted(fault.code)} {literal(fault.title)} {literal(fault.where)} {literal(fault.help)}"


def _ordinals(names: list[str]) -> list[int]:
    """For each name how often it has come up, this time included."""
    count: dict[str, int] = {}
    found = []
    for name in names:
        count[name] = count.get(name, 0) + 1
        found.append(count[name])
    return found


def _families(plan: Plan, starts: tuple[int, ...]) -> list[tuple[int, ...]]:
    """The devices by program: those of one family differ in logical tensors, regions, parts and values only."""
    families: dict[Any, list[int]] = {}
    segments: list[list[tuple[Any, ...]]] = [[] for _ in range(plan.devices)]
    for segment in plan.segments:
        segments[segment.device].append(_form(segment, starts[segment.device]))
    first = _first_segments(plan)
    for device in range(plan.devices):
        start = starts[device]
        tensors = plan.tensors[start : starts[device + 1]]
        form = (
            tuple(segments[device]),
            tuple((plan.logicals[tensor.logical].name, plan.logicals[tensor.logical].shape) for tensor in tensors),
            tuple(
                (
                    call.segment - first[device],
                    call.microbatch,
                    tuple((t - start, mb) for t, mb in call.crossed),
                )
                for call in plan.programs[device]
            ),
            tuple(_local(held.tensor, start, held.weight) for held in plan.losses if held.device == device),
            tuple(_local(held.tensor, start, held.weight) for held in plan.gradients if held.device == device),
            tuple(_local(held.tensor, start, held.weight) for held in plan.outputs if held.device == device),
            tuple(seed - start for seed in plan.seeds if start <= seed < starts[device + 1]),
            tuple((s.name, tuple(t - start for t in s.tensors)) for s in plan.storages if s.device == device),
        )
        families.setdefault(form, []).append(device)
    return [tuple(devices) for devices in families.values()]


def _first_segments(plan: Plan) -> list[int]:
    counts = [0] * (plan.devices + 1)
    for segment in plan.segments:
        counts[segment.device + 1] += 1
    for device in range(plan.devices):
        counts[device + 1] += counts[device]
    return counts


def _local(tensor: int, start: int, weight: int) -> tuple[int, int]:
    return tensor - start, ABSENT if weight == ABSENT else weight - start


def _form(segment: Segment, start: int) -> tuple[Any, ...]:
    return tuple(
        (
            node.op,
            tuple([at if at == ABSENT else at - start for at in node.outputs]),
            tuple([at if at == ABSENT else at - start for at in node.inputs]),
            node.name,
            tuple([name for name, _ in node.attrs]),
        )
        for node in segment.nodes
    )


class _Family:
    """The text of one family. `_mentioned` is what the text has said so far of each tensor."""

    def __init__(self, plan: Plan, devices: tuple[int, ...], starts: tuple[int, ...], ordinals: list[int]) -> None:
        self._plan = plan
        self._devices = devices
        self._starts = starts
        self._ordinals = ordinals
        self._spelling = Spelling(Family.of(devices, plan.mesh, plan.devices))
        self._names: dict[int, str] = {}
        self._versions: dict[int, int] = {}

    def text(self) -> Iterator[str]:
        plan, lead = self._plan, self._devices[0]
        first = _first_segments(plan)
        segments = [segment.name for segment in plan.segments[first[lead] : first[lead + 1]]]
        names = [label(name, ordinal) for name, ordinal in zip(segments, _ordinals(segments), strict=True)]
        yield ""
        yield f"family {_ranges(self._devices)}"
        for at, name in enumerate(names):
            members = [plan.segments[first[device] + at] for device in self._devices]
            called = [literal(member.name) for member in members]
            yield f"segment {name}" + (f" <{' | '.join(called)}>" if len(set(called)) > 1 else "")
            yield from (self._node(nodes) for nodes in zip(*[member.nodes for member in members], strict=True))
        for call in plan.programs[lead]:
            crossed = "".join(f" {self._mention(tensor)}@{_microbatch(mb)}" for tensor, mb in call.crossed)
            yield f"call {names[call.segment - first[lead]]} {_microbatch(call.microbatch)}{crossed}"
        for word, outputs in (("loss", plan.losses), ("gradient", plan.gradients), ("output", plan.outputs)):
            for held in outputs:
                if held.device == lead:
                    tensor = self._mention(held.tensor)
                    yield f"{word} {tensor}" + ("" if held.weight == ABSENT else f" of {self._mention(held.weight)}")
        for seed in plan.seeds:
            if self._starts[lead] <= seed < self._starts[lead + 1]:
                yield f"seed {self._mention(seed)}"
        for storage in plan.storages:
            if storage.device == lead:
                yield f"storage {quoted(storage.name)}: {', '.join(map(self._mention, storage.tensors))}"

    def _node(self, nodes: tuple[Node, ...]) -> str:
        node = nodes[0]
        outputs = ", ".join([self._mention(tensor) for tensor in node.outputs])
        inputs = ", ".join([self._mention(tensor) for tensor in node.inputs])
        attrs = "".join(
            f" {quoted(name)}={self._spelling.value(name, [each.attrs[at][1] for each in nodes])}"
            for at, (name, _) in enumerate(node.attrs)
        )
        name = "" if node.name == self._default_name(node) else f" : {quoted(node.name)}"
        return f"  {outputs}{' = ' if outputs else ''}{quoted(node.op)}({inputs}){attrs}{name}"

    def _default_name(self, node: Node) -> str:
        """The name of a node whose line does not say it: that of its first output, else of its first input."""
        tensor = next((at for at in (*node.outputs, *node.inputs) if at != ABSENT), ABSENT)
        plan = self._plan
        return "" if tensor == ABSENT else plan.logicals[plan.tensors[tensor].logical].name

    def _mention(self, tensor: int) -> str:
        if tensor == ABSENT:
            return "-"
        local = tensor - self._starts[self._devices[0]]
        known = self._names.get(local)
        if known is not None:
            return known
        shares = [self._plan.tensors[self._starts[device] + local] for device in self._devices]
        logical = shares[0].logical
        version = self._versions[logical] = self._versions.get(logical, 0) + 1
        of = self._plan.logicals[logical]
        name = self._names[local] = label(of.name, self._ordinals[logical], version)
        which = self._spelling.ordinals([self._ordinals[share.logical] for share in shares])
        view = self._spelling.view([share.region for share in shares], [share.part for share in shares], of.shape)
        return name + which + view


def _microbatch(microbatch: int) -> str:
    return "once" if microbatch == ONCE_A_STEP else str(microbatch)


def _ranges(devices: tuple[int, ...]) -> str:
    """The devices in order, runs of them as start:stop."""
    runs: list[list[int]] = []
    for device in devices:
        if runs and runs[-1][1] == device:
            runs[-1][1] += 1
        else:
            runs.append([device, device + 1])
    return " ".join(str(start) if stop == start + 1 else f"{start}:{stop}" for start, stop in runs)
