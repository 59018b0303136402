"""From recorded stages to a plan: pipeline boundaries, the schedule, gradient reducers and declared outputs."""

from collections.abc import Callable, Hashable
from typing import NamedTuple, Protocol

from backends.generator.draft import Draft
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
from backends.generator.tape import Tape, Value
from verdict.graph import GRADIENT, ONCE_A_STEP, Call, Held, Node, Plan, Segment

_REDUCE = "reduce_gradients"


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
        self.seeds: list[int] = []


def assemble(name: str, model: Model, sizes: Sizes) -> Plan:
    """The plan of `model` on pp x tp devices, tp the faster axis, in dp replicas."""
    draft, found = Draft(), _Outputs()
    recorded = [_record(model, sizes, device, draft) for device in range(sizes.pp * sizes.tp)]
    holders = _holders(draft, sizes, [stage.tape for stage in recorded])
    for device, stage in enumerate(recorded):
        _device(sizes, device, stage, holders, draft, found)
    return Plan(
        source=f"{name} dp{sizes.dp} pp{sizes.pp} tp{sizes.tp} microbatches{sizes.microbatches}",
        format="generated",
        mesh=(("dp", sizes.dp), ("pp", sizes.pp), ("tp", sizes.tp)),
        devices=sizes.pp * sizes.tp,
        replicas=sizes.dp,
        microbatches=sizes.microbatches,
        logicals=tuple(draft.logicals),
        tensors=tuple(draft.tensors),
        segments=tuple(found.segments),
        programs=tuple(found.programs),
        losses=tuple(found.losses),
        gradients=tuple(found.gradients),
        seeds=tuple(found.seeds),
        batch_axes=((model.input, 0),),
    )


def _record(model: Model, sizes: Sizes, device: int, draft: Draft) -> _Recorded:
    number, tp_rank = divmod(device, sizes.tp)
    group = tuple(range(number * sizes.tp, (number + 1) * sizes.tp))
    tape = Tape(draft, group, tp_rank, sizes.rows)
    layers = sizes.stage(number)
    before = model.boundary(tape, sizes, layers.start - 1) if number > 0 else ()
    after = model.record(tape, sizes, layers, before)
    gradient = tape.gradient(after[0])
    tape.walk_back(after[0], gradient)
    return _Recorded(tape, before, after, gradient)


def _holders(draft: Draft, sizes: Sizes, tapes: list[Tape]) -> dict[tuple[str, int], tuple[int, ...]]:
    """The devices that train a weight, by its name and their tp rank: more than one where stages share it."""
    found: dict[tuple[str, int], tuple[int, ...]] = {}
    for device, tape in enumerate(tapes):
        for weight in tape.weights:
            key = (_name(draft, weight), device % sizes.tp)
            found[key] = (*found.get(key, ()), device)
    return found


def _device(
    sizes: Sizes, device: int, stage: _Recorded, holders: dict[tuple[str, int], tuple[int, ...]], draft: Draft,
    found: _Outputs,
) -> None:  # fmt: skip
    number, tp_rank = divmod(device, sizes.tp)
    tape, last = stage.tape, stage.after[0]
    work = {FORWARD: tape.forward, BACKWARD: tape.backward}
    if stage.before:
        peer, first = device - sizes.tp, stage.before[0]
        work[RECEIVE_FORWARD] = [_receive(draft, value.tensor, peer, value.name) for value in stage.before]
        work[SEND_BACKWARD] = [_send(draft, tape.gradients[first.use], peer, f"{first.name}.grad")]
    if number + 1 < sizes.pp:
        peer = device + sizes.tp
        work[SEND_FORWARD] = [_send(draft, value.tensor, peer, value.name) for value in stage.after]
        work[RECEIVE_BACKWARD] = [_receive(draft, stage.gradient, peer, f"{last.name}.grad")]
    else:
        found.losses.append(Held(device, last.tensor))
        found.seeds.append(stage.gradient)

    work[_REDUCE] = []
    for weight, accumulator in tape.weights.items():
        final, ranks = accumulator, holders[_name(draft, weight), tp_rank]
        if sizes.dp > 1 or len(ranks) > 1:
            final = _reduced(draft, accumulator)
            work[_REDUCE].append(_reducer(draft, accumulator, final, ranks))
        found.gradients.append(Held(device, final, weight))

    numbers: dict[str, int] = {}
    for name, nodes in work.items():
        if nodes:
            numbers[name] = len(found.segments)
            found.segments.append(Segment(name, device, tuple(nodes)))
    order = one_forward_one_backward(number, sizes.pp, sizes.microbatches)
    calls = [Call(numbers[name], microbatch) for name, microbatch in order if name in numbers]
    if _REDUCE in numbers:
        calls.append(Call(numbers[_REDUCE], ONCE_A_STEP))
    found.programs.append(tuple(calls))


def _name(draft: Draft, tensor: int) -> str:
    return draft.logicals[draft.tensors[tensor].logical].name


def _receive(draft: Draft, tensor: int, peer: int, channel: str) -> Node:
    return draft.node("recv", (), (tensor,), {"peer": peer, "channel": channel}, channel)


def _send(draft: Draft, tensor: int, peer: int, channel: str) -> Node:
    return draft.node("send", (tensor,), (), {"peer": peer, "channel": channel}, channel)


def _reduced(draft: Draft, accumulator: int) -> int:
    """The sum of an accumulator over all that hold it: the same tensor as the single plan's accumulator, by origin."""
    number, region, _ = draft.tensors[accumulator]
    of = draft.logicals[number]
    return draft.tensor(f"{of.name}.reduced", of.shape, of.dtype, GRADIENT, region, origin=of.name)


def _reducer(draft: Draft, accumulator: int, final: int, ranks: tuple[int, ...]) -> Node:
    attrs: dict[str, Hashable] = {"ranks": ranks, "replicas": True, "reduce": "sum"}
    return draft.node("all_reduce", (accumulator,), (final,), attrs, _name(draft, final))
