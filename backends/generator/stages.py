"""From recorded stages to a plan: pipeline boundaries, the schedule, the end of the step and declared outputs."""

from collections.abc import Callable
from typing import NamedTuple, Protocol

from backends.generator.draft import Draft
from backends.generator.mesh import Mesh
from backends.generator.schedule import (
    BACKWARD,
    FORWARD,
    RECEIVE_BACKWARD,
    RECEIVE_FORWARD,
    SEND_BACKWARD,
    SEND_FORWARD,
    one_forward_one_backward,
)
from backends.generator.sizes import Sizes
from backends.generator.tape import Tape
from backends.generator.update import Update
from backends.generator.value import Value
from verdict.graph import INPUT, ONCE_A_STEP, Call, Held, Node, Plan, Segment

COUNT, TOTAL = "count", "total"


class Model(Protocol):
    """What a stage needs to know of a model. Of the values that stages hand on, the first has a gradient."""

    @property
    def input(self) -> str: ...
    @property
    def boundary(self) -> Callable[[Tape, Sizes, int], tuple[Value, ...]]: ...
    @property
    def record(self) -> Callable[[Tape, Sizes, range, tuple[Value, ...]], tuple[Value, ...]]: ...


class _Recorded(NamedTuple):
    """One device's tape, what it receives and hands on (or the loss), and the gradient of the first of the latter."""

    tape: Tape
    before: tuple[Value, ...]
    after: tuple[Value, ...]
    gradient: int


class _Outputs:
    """What the devices of a plan declare, while it is made."""

    def __init__(self) -> None:
        self.segments: list[Segment] = []
        self.programs: list[tuple[Call, ...]] = []
        self.losses: list[Held] = []
        self.gradients: list[Held] = []
        self.outputs: list[Held] = []
        self.seeds: list[int] = []


def assemble(name: str, model: Model, sizes: Sizes) -> Plan:
    """The plan of `model` on the devices of `sizes.mesh`, run by dp replicas where these are no devices."""
    draft, found, mesh = Draft(), _Outputs(), sizes.mesh
    recorded = [_record(model, sizes, device, draft, mesh) for device in range(mesh.devices)]
    step = Update(draft, mesh, sizes, tuple(stage.tape.parameters for stage in recorded))
    for device, stage in enumerate(recorded):
        _device(sizes, device, stage, step, draft, found)
    replicas = 1 if sizes.explicit else sizes.dp
    inputs = {logical.name for logical in draft.logicals if logical.kind == INPUT}
    return Plan(
        source=f"{name} dp{sizes.dp} pp{sizes.pp} tp{sizes.tp} microbatches{sizes.microbatches}",
        format="generated",
        mesh=(("replicas" if sizes.explicit else "dp", replicas), *mesh.axes),
        devices=mesh.devices,
        replicas=replicas,
        microbatches=sizes.microbatches,
        logicals=tuple(draft.logicals),
        tensors=tuple(draft.tensors),
        segments=tuple(found.segments),
        programs=tuple(found.programs),
        losses=tuple(found.losses),
        gradients=tuple(found.gradients),
        seeds=tuple(found.seeds),
        batch_axes=tuple((name, 0) for name in sorted(inputs)),
        outputs=tuple(found.outputs),
    )


def _record(model: Model, sizes: Sizes, device: int, draft: Draft, mesh: Mesh) -> _Recorded:
    tape = Tape(draft, mesh, device, sizes)
    stage = mesh.at(device, "pp")
    layers = sizes.stage(stage)
    before = model.boundary(tape, sizes, layers.start - 1) if stage > 0 else ()
    after = model.record(tape, sizes, layers, before)
    gradient = tape.gradient(after[0])
    tape.walk_back(after[0], gradient)
    return _Recorded(tape, before, after, gradient)


def _device(sizes: Sizes, device: int, stage: _Recorded, step: Update, draft: Draft, found: _Outputs) -> None:
    tape, last, number = stage.tape, stage.after[0], stage.tape.mesh.at(device, "pp")
    work = {COUNT: tape.counting, TOTAL: tape.totalling, FORWARD: tape.forward, BACKWARD: tape.backward}
    if stage.before:
        peer, first = tape.mesh.step(device, "pp", -1), stage.before[0]
        work[RECEIVE_FORWARD] = [_receive(draft, value.tensor, peer, value.name) for value in stage.before]
        work[SEND_BACKWARD] = [_send(draft, tape.gradients[first.use], peer, f"{first.name}.grad")]
    if number + 1 < sizes.pp:
        peer = tape.mesh.step(device, "pp", 1)
        work[SEND_FORWARD] = [_send(draft, value.tensor, peer, value.name) for value in stage.after]
        work[RECEIVE_BACKWARD] = [_receive(draft, stage.gradient, peer, f"{last.name}.grad")]
    else:
        found.losses.append(Held(device, last.tensor))
        found.seeds.append(stage.gradient)
    once = step.of(device)
    found.gradients += [Held(device, gradient, weight) for gradient, weight in once.gradients]
    found.outputs += [Held(device, output, of) for output, of in once.outputs]

    numbers: dict[str, int] = {}
    for name, nodes in (*work.items(), *once.segments.items()):
        if nodes:
            numbers[name] = len(found.segments)
            found.segments.append(Segment(name, device, tuple(nodes)))
    counts = [(COUNT, microbatch) for microbatch in range(sizes.microbatches)]
    order = (*counts, (TOTAL, ONCE_A_STEP), *one_forward_one_backward(number, sizes.pp, sizes.microbatches))
    calls = [Call(numbers[name], microbatch) for name, microbatch in order if name in numbers]
    calls += [Call(numbers[name], ONCE_A_STEP) for name in once.segments if name in numbers]
    found.programs.append(tuple(calls))


def _receive(draft: Draft, tensor: int, peer: int, channel: str) -> Node:
    return draft.node("recv", (), (tensor,), {"peer": peer, "channel": channel}, channel)


def _send(draft: Draft, tensor: int, peer: int, channel: str) -> Node:
    return draft.node("send", (tensor,), (), {"peer": peer, "channel": channel}, channel)
