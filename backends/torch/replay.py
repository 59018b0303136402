"""Run a recorded Plan on real tensors: every node calls the torch operator that it names, ranks side by side.

This is the recorder's oracle: what the recordings of all ranks compute must be what the program computes.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import torch

from verdict.backends.torch.arguments import decode, operator
from verdict.backends.torch.trace import CHOICE, DECISION, UNMODELLED
from verdict.errors import UsageError
from verdict.graph import ABSENT, Held, Node, Plan
from verdict.graph.draws import BERNOULLI, DRAW
from verdict.graph.effects import WAIT
from verdict.graph.lockstep import Handlers, Step, attribute, lockstep
from verdict.graph.unsaid import UNSAID

Tensors = Mapping[str, Any]
FLOATS = frozenset({"float16", "bfloat16", "float32"})


class ChosenOtherwise(UsageError):
    """What decides is another number on the numbers of a replay than it was recorded."""


def replay(plan: Plan, given: Tensors) -> dict[tuple[int, str], Any]:
    """(device, name) -> what each declared output holds, for inputs, weights and buffers by name (whole tensors)."""
    return replay_held(plan, lambda device, tensor, name: share(plan, tensor, given[name]).clone())


def replay_held(
    plan: Plan, given: Callable[[int, int, str], Any], double: bool = False,
    drawn: Callable[[int, int], Any] | None = None, grid: float | None = None,
) -> dict[tuple[int, str], Any]:  # fmt: skip
    """The same, for what each device holds of an input, weight or buffer: given(device, tensor of the plan, name).

    drawn: what a device draws at random, by the number of the draw. double: all floating-point numbers have 64 bits,
    whatever the plan says of them. grid: with double, what every node computes is rounded as `on_grid` does, in the
    type that the plan says.
    """
    held: list[dict[int, Any]] = [{ABSENT: None} for _ in range(plan.devices)]
    for device, tensor, name in _given(plan):
        value = given(device, tensor, name)
        held[device][tensor] = value.double() if double and value.is_floating_point() else value

    def local(device: int, step: Step) -> None:
        node = step.node
        if node.op == "dataloader":
            return
        if node.op == DRAW and drawn is not None:
            value = drawn(device, attribute(node, "number"))
            truths = attribute(node, "kind") == BERNOULLI
            held[device][node.outputs[0]] = value.bool() if truths else _wide(value) if double else value
            return
        attrs = {name: doubled(value) for name, value in node.attrs} if double else dict(node.attrs)
        found = apply(node.op, [held[device][tensor] for tensor in node.inputs], attrs)
        outputs = node.outputs
        if node.op == "constant":
            stated = dtype_of(plan, outputs[0])
            found = [typed(found[0], doubled(stated) if double else stated)]
        for tensor, value in zip(outputs, found, strict=True):
            held[device][tensor] = finished(tensor, value)

    def finished(tensor: int, value: Any) -> Any:
        wide = _wide(value) if double else value
        return wide if grid is None or tensor == ABSENT else on_grid(wide, dtype_of(plan, tensor), grid)

    def send(device: int, step: Step) -> Any:
        return held[device][step.node.inputs[0]].clone()

    def receive(device: int, step: Step, value: Any, sent: Step) -> None:
        held[device][step.node.outputs[0]] = value

    def meet(members: Mapping[int, Step]) -> None:
        node = next(iter(members.values())).node
        ranks = attribute(node, "ranks")
        values = [[held[rank][tensor] for tensor in members[rank].node.inputs] for rank in ranks]
        try:
            found = exchange(node, ranks, values)
        except RuntimeError as error:
            raise UsageError(
                "replay", f"{node.op} takes nothing that its members put in: {str(error).splitlines()[0]}", ""
            ) from error
        for rank, value in zip(ranks, found, strict=True):
            for tensor in members[rank].node.outputs:
                held[rank][tensor] = value

    programs = [
        [Step(node, call.microbatch) for call in program for node in plan.segments[call.segment].nodes]
        for program in plan.programs
    ]
    walk = lockstep(programs, Handlers(local, send, receive, meet))
    if walk.stuck or walk.unreceived:
        raise UsageError(plan.source, f"the recordings do not end: {walk.stuck or walk.unreceived}", "")
    return {(end.device, _name(plan, end)): held[end.device][end.tensor] for end in plan.declared}


def _name(plan: Plan, end: Held) -> str:
    return plan.logicals[plan.tensors[end.tensor].logical].name


def share(plan: Plan, tensor: int, whole: Any) -> Any:
    """The region of a whole tensor that a tensor of the plan is."""
    return whole[tuple(slice(start, stop) for start, stop in plan.tensors[tensor].region)]


def _given(plan: Plan) -> Iterator[tuple[int, int, str]]:
    """(device, tensor, name) of what each device is given."""
    for device, program in enumerate(plan.programs):
        nodes = [node for call in program for node in plan.segments[call.segment].nodes]
        for tensor in {tensor for node in nodes for tensor in (*node.inputs, *node.outputs)} - {ABSENT}:
            if plan.kind(tensor) in ("input", "weight", "buffer"):
                yield device, tensor, plan.logicals[plan.tensors[tensor].logical].name


def typed(value: Any, dtype: str) -> Any:
    """`value` in the dtype of this name."""
    return value.to(getattr(torch, dtype))


def dtype_of(plan: Plan, tensor: int) -> str:
    """The name of the type that the plan says of a tensor."""
    return plan.logicals[plan.tensors[tensor].logical].dtype


def on_grid(value: Any, dtype: str, scale: float) -> Any:
    """Numbers of 64 bits, rounded to those that are a number of the narrower type `dtype` divided by `scale`.

    That is another rounding of the same width for each scale. Integers stay, and what is rounded stays as it is: so
    equal numbers stay equal, whichever nodes move or choose them.
    """
    if dtype not in FLOATS or not isinstance(value, torch.Tensor) or not value.is_floating_point():
        return value
    near = typed(value * scale, dtype).double() / scale
    return torch.where((value == value.round()) | ~near.isfinite(), value, near)


def doubled(value: Any) -> Any:
    """The name of the 64-bit type in place of a narrower one."""
    return "float64" if value in FLOATS else value


def apply(op: str, inputs: Sequence[Any], attrs: Mapping[str, Any]) -> list[Any]:
    """The outputs of one node of one rank."""
    if op == "constant":
        return [torch.tensor(attrs["values"], dtype=torch.float64).reshape(attrs["shape"])]
    if op in (WAIT, CHOICE):
        return list(inputs)
    if op == DECISION:
        if tuple(inputs[0].reshape(-1).long().tolist()) != attrs["values"]:
            raise ChosenOtherwise("replay", "what decides is another number than it was recorded", "")
        return []
    if op == DRAW:
        raise UsageError("replay", "a node draws random numbers, and nobody says which", "")
    if op == UNSAID:
        raise UsageError("replay", f"nobody says {attrs['reason']}", "")
    if op == UNMODELLED:
        raise UsageError("replay", f"a node is not modelled: {attrs['reason']}", "")
    name = "aten.reshape" if op == "aten.view" else op
    attrs = {"shape": attrs["size"]} if op == "aten.view" else attrs
    func = operator(name)
    args, kwargs = decode(func, [_dense(value) for value in inputs], attrs)
    try:
        found = func(*args, **kwargs)
    except RuntimeError as error:
        raise UsageError("replay", f"{op} takes nothing that it is given: {str(error).splitlines()[0]}", "") from error
    return list(found) if isinstance(found, list | tuple) else [found]


def _wide(value: Any) -> Any:
    """Floats in 64 bits, whatever type a node asks for."""
    return value.double() if isinstance(value, torch.Tensor) and value.is_floating_point() else value


def _dense(value: Any) -> Any:
    return value.contiguous() if isinstance(value, torch.Tensor) else value


def exchange(node: Node, ranks: Sequence[int], values: Sequence[Sequence[Any]]) -> list[Any]:
    """What each member of a collective gets, from what each puts in."""
    count, how = len(ranks), attribute(node, "reduce")
    if node.op == "broadcast":
        root = values[list(ranks).index(attribute(node, "root"))][0]
        return [root.clone() for _ in ranks]
    each = [value[0] for value in values]
    match node.op:
        case "all_reduce" | "reduce":
            total = _reduced(each, how)
            return [total.clone() for _ in ranks]
        case "all_gather":
            joined = torch.cat(each, attribute(node, "dim"))
            return [joined.clone() for _ in ranks]
        case "reduce_scatter":
            return list(_reduced(each, how).chunk(count, attribute(node, "dim")))
        case "all_to_all":
            pieces = [value.chunk(count, attribute(node, "split_dim")) for value in each]
            return [torch.cat([row[at] for row in pieces], attribute(node, "concat_dim")) for at in range(count)]
        case _:
            raise UsageError("replay", f"{node.op} is no collective", "")


def _reduced(values: Sequence[Any], how: str) -> Any:
    stacked = torch.stack(list(values))
    match how:
        case "sum":
            return stacked.sum(0, dtype=stacked.dtype)
        case "avg":
            return stacked.mean(0)
        case "max":
            return stacked.amax(0)
        case _:
            return stacked.amin(0)
