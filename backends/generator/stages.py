"""From recorded stages to a plan: pipeline boundaries, the schedule, the end of the step and declared outputs."""

from collections.abc import Callable, Hashable
from dataclasses import replace
from typing import NamedTuple, Protocol

from verdict.backends.generator.draft import Draft
from verdict.backends.generator.parameters import Parameters
from verdict.backends.generator.schedule import (
    BACKWARD,
    BACKWARD_WEIGHTS,
    FORWARD,
    RECEIVE_BACKWARD,
    RECEIVE_FORWARD,
    SEND_BACKWARD,
    SEND_FORWARD,
    named,
    schedule,
)
from verdict.backends.generator.shards import UnevenError
from verdict.backends.generator.sizes import Sizes
from verdict.backends.generator.tape import Tape
from verdict.backends.generator.update import Update
from verdict.backends.generator.value import Value
from verdict.graph import ABSENT, GRADIENT, INPUT, ONCE_A_STEP, Call, Held, Node, Plan, Segment

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
    """One stage of one device: its tape, what it receives and hands on (or the loss), and the gradient of the latter.

    number: of the stage, of all. With several on each device those of device k are k, k + pp, k + 2 pp, ...
    """

    number: int
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
    """The plan of `model` on the devices of `sizes.mesh`, run by dp replicas where these are no devices.

    Replicas that cannot divide a weight evenly are listed as devices.
    """
    try:
        return _assembled(name, model, sizes)
    except UnevenError:
        return _assembled(name, model, replace(sizes, list_ranks=True))


def _assembled(name: str, model: Model, sizes: Sizes) -> Plan:
    draft, found, mesh = Draft(sizes.replicas), _Outputs(), sizes.mesh
    parameters = tuple(Parameters(draft, mesh, device, sizes.zero) for device in range(mesh.devices))
    recorded = [
        [
            _record(model, sizes, Tape(draft, mesh, device, sizes, held), number)
            for number in range(mesh.at(device, "pp"), sizes.stages, sizes.pp)
        ]
        for device, held in enumerate(parameters)
    ]
    step = Update(draft, mesh, sizes, parameters)
    for device, stages in enumerate(recorded):
        _device(sizes, device, stages, step, draft, found)
    inputs = {logical.name for logical in draft.logicals if logical.kind == INPUT}
    return Plan(
        source=f"{name} dp{sizes.dp} pp{sizes.pp} tp{sizes.tp} microbatches{sizes.microbatches}",
        format="generated",
        mesh=(("replicas" if sizes.list_ranks else "dp", sizes.replicas), *mesh.axes),
        devices=mesh.devices,
        replicas=sizes.replicas,
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
        shard_axes=tuple(draft.shards.items()),
    )


def _record(model: Model, sizes: Sizes, tape: Tape, number: int) -> _Recorded:
    layers = sizes.stage(number)
    before = model.boundary(tape, sizes, layers.start - 1) if number > 0 else ()
    after = model.record(tape, sizes, layers, before)
    gradient = tape.gradient(after[0])
    tape.walk_back(after[0], _scaled(tape, after[0], gradient) if layers.stop == sizes.layers else gradient)
    return _Recorded(number, tape, before, after, gradient)


def _scaled(tape: Tape, loss: Value, seed: int) -> int:
    """The gradient with which the backward begins."""
    if not tape.sizes.loss_scale:
        return seed
    name = f"{loss.name}.grad.scaled"
    scaled = tape.tensor(loss, name, GRADIENT)
    tape.backward.append(tape.draft.node("mul", (seed,), (scaled,), {"other": tape.sizes.loss_scale}, name))
    return scaled


def _device(sizes: Sizes, device: int, stages: list[_Recorded], step: Update, draft: Draft, found: _Outputs) -> None:
    once, work = step.of(device), dict[str, list[Node]]()
    for chunk, stage in enumerate(stages):
        work.update({named(name, chunk, sizes.vpp): nodes for name, nodes in _work(sizes, stage, draft).items()})
    if stages[-1].number + 1 == sizes.stages:
        found.losses.append(Held(device, stages[-1].after[0].tensor))
        found.seeds.append(stages[-1].gradient)
    found.gradients += [Held(device, gradient, weight) for gradient, weight in once.gradients]
    found.outputs += [Held(device, output, of) for output, of in once.outputs]

    numbers: dict[str, int] = {}
    counts = {COUNT: stages[-1].tape.counting, TOTAL: stages[-1].tape.totalling}
    for name, nodes in (*counts.items(), *work.items(), *once.segments.items()):
        if nodes:
            numbers[name] = len(found.segments)
            found.segments.append(Segment(name, device, tuple(nodes)))
    first = [(COUNT, microbatch) for microbatch in range(sizes.microbatches)]
    order = (*first, (TOTAL, ONCE_A_STEP), *schedule(stages[0].number, sizes.pp, sizes.vpp, sizes.microbatches))
    calls = [Call(numbers[name], microbatch) for name, microbatch in order if name in numbers]
    calls += [Call(numbers[name], ONCE_A_STEP) for name in once.segments if name in numbers]
    found.programs.append(tuple(calls))


def _work(sizes: Sizes, stage: _Recorded, draft: Draft) -> dict[str, list[Node]]:
    """What a stage does in one microbatch, by the words of the schedule."""
    tape, last = stage.tape, stage.after[0]
    work = {FORWARD: tape.forward, BACKWARD: tape.backward}
    if sizes.split_backward:
        work[BACKWARD], work[BACKWARD_WEIGHTS] = _apart(tape)
    if stage.before:
        peer, first = tape.mesh.step(tape.device, "pp", -1), stage.before[0]
        work[RECEIVE_FORWARD] = [_receive(draft, value, peer) for value in stage.before]
        gradient = first._replace(tensor=tape.gradients[first.use], name=f"{first.name}.grad")
        work[SEND_BACKWARD] = [_send(draft, gradient, peer)]
    if stage.number + 1 < sizes.stages:
        peer = tape.mesh.step(tape.device, "pp", 1)
        work[SEND_FORWARD] = [_send(draft, value, peer) for value in stage.after]
        gradient = last._replace(tensor=stage.gradient, name=f"{last.name}.grad")
        work[RECEIVE_BACKWARD] = [_receive(draft, gradient, peer)]
    return work


def _apart(tape: Tape) -> tuple[list[Node], list[Node]]:
    """The backward in two: what the stage before waits for, and the gradients of linears' weights.

    Source: Qi et al., Zero Bubble Pipeline Parallelism, ICLR 2024.
    """
    inputs, weights = list[Node](), list[Node]()
    for node in tape.backward:
        if node.op != "linear.grad" or ABSENT in node.outputs[:2]:
            inputs.append(node)
            continue
        inputs.append(node._replace(outputs=(node.outputs[0], *(ABSENT,) * (len(node.outputs) - 1))))
        weights.append(node._replace(outputs=(ABSENT, *node.outputs[1:])))
    return inputs, weights


def _receive(draft: Draft, value: Value, peer: int) -> Node:
    attrs: dict[str, Hashable] = {"peer": peer, "channel": value.name}
    return draft.node("recv", (), (value.tensor,), attrs, value.name)


def _send(draft: Draft, value: Value, peer: int) -> Node:
    attrs: dict[str, Hashable] = {"peer": peer, "channel": value.name}
    return draft.node("send", (value.tensor,), (), attrs, value.name)
