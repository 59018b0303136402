"""What a plan must be for the other checks to make sense: every index names something, every communication
node says what its kind must say, and nothing else. A plan that is not so is malformed: no question can be put.
"""

from collections.abc import Iterator
from typing import NamedTuple

from verdict.errors import PlanFileError
from verdict.graph.lockstep import attribute
from verdict.graph.plan import ABSENT, BUFFER, INPUT, ONCE_A_STEP, WEIGHT, Node, Plan


class _Form(NamedTuple):
    """Of one kind of communication: the attributes it must have, and how many tensors it reads and writes."""

    needs: tuple[str, ...]
    reads: tuple[int, ...]
    writes: tuple[int, ...]
    may: tuple[str, ...] = ("replicas", "channel")


_FORMS = {
    "all_reduce": _Form(("ranks",), (1,), (1,), ("reduce", "replicas", "channel")),
    "all_gather": _Form(("ranks", "dim"), (1,), (1,)),
    "reduce_scatter": _Form(("ranks", "dim"), (1,), (1,), ("reduce", "replicas", "channel")),
    "all_to_all": _Form(("ranks", "split_dim", "concat_dim"), (1,), (1,)),
    "broadcast": _Form(("ranks", "root"), (0, 1), (0, 1)),
    "reduce": _Form(("ranks", "root"), (1,), (0, 1), ("reduce", "replicas", "channel")),
    "chunk": _Form(("ranks", "dim"), (1,), (1,)),
    "send": _Form(("peer",), (1,), (0,), ("channel",)),
    "recv": _Form(("peer",), (0,), (1,), ("channel",)),
}


_OVER_REPLICAS = ("reduce_scatter", "all_gather", "chunk")
"""What the replicas of one device may do beside an all_reduce."""


def require_form(plan: Plan) -> None:
    """Raise PlanFileError for the first thing in `plan` that makes no sense at all."""
    for problem in _indices(plan):
        raise PlanFileError(plan.source, problem, "the plan is malformed")
    for segment in plan.segments:
        for node in segment.nodes:
            form = _FORMS.get(node.op)
            problem = _nothing_known(plan, node) or (_unlike(plan, node, form) if form else "")
            if problem:
                raise PlanFileError(
                    plan.source, f"{node.op} {node.name} on rank {segment.device}: {problem}", "the plan is malformed"
                )


def _indices(plan: Plan) -> Iterator[str]:
    if min(plan.devices, plan.replicas, plan.microbatches) < 1:
        yield "it has no device, no replica or no microbatch"
    if len(plan.programs) != plan.devices:
        yield f"it has {plan.devices} devices and {len(plan.programs)} programs"
    if any(not 0 <= tensor.logical < len(plan.logicals) for tensor in plan.tensors):
        yield "a tensor names no logical tensor"
    yield from _calls(plan)
    for held in plan.declared:
        if not 0 <= held.device < plan.devices or not _names(plan, held.tensor):
            yield f"a declared output names rank {held.device}, tensor {held.tensor}"
    if any(not _names(plan, held.weight) for held in plan.gradients):
        yield "a declared gradient names no weight"
    for held in plan.outputs:
        if held.weight != ABSENT and not (_names(plan, held.weight) and plan.kind(held.weight) in (WEIGHT, BUFFER)):
            yield f"a declared output is of tensor {held.weight}, which is no weight and no buffer"
    for tensor in {held.tensor for held in plan.declared if _names(plan, held.tensor)}:
        part, parts = plan.tensors[tensor].part
        if not 0 <= part < parts:
            yield f"a declared output is part {part} of {parts}"
    if not all(_names(plan, tensor) for tensor in plan.seeds):
        yield "a seed names no tensor"
    yield from _shards(plan)


def _shards(plan: Plan) -> Iterator[str]:
    if len(dict(plan.shard_axes)) < len(plan.shard_axes):
        yield "a tensor is divided over replicas along two axes"
    axes, known = dict(plan.shard_axes), {logical.name for logical in plan.logicals}
    for name in axes:
        if name not in known:
            yield f"it divides {name} over replicas, and has no tensor of that name"
    for name in sorted({plan.logicals[plan.tensors[held.tensor].logical].name for held in plan.losses} & set(axes)):
        yield f"it divides the loss {name} over replicas, whose losses add up"
    for logical in plan.logicals:
        axis = axes.get(logical.name, 0)
        if logical.name in axes and logical.kind == INPUT:
            yield f"it divides the input {logical.name} over replicas as no batch"
        elif logical.name in axes and not 0 <= axis < len(logical.shape):
            yield f"it divides {logical.name} along axis {axis}, which has {len(logical.shape)} dimensions"


def _calls(plan: Plan) -> Iterator[str]:
    for device, program in enumerate(plan.programs):
        for call in program:
            if not 0 <= call.segment < len(plan.segments):
                yield f"rank {device} calls segment {call.segment}, which does not exist"
            elif plan.segments[call.segment].device != device:
                yield f"rank {device} calls a segment of rank {plan.segments[call.segment].device}"
            if call.microbatch != ONCE_A_STEP and not 0 <= call.microbatch < plan.microbatches:
                yield f"rank {device} runs microbatch {call.microbatch} of {plan.microbatches}"
            if any(not _names(plan, tensor) for tensor, _ in call.crossed):
                yield f"rank {device} takes a tensor that does not exist from another microbatch"


def _names(plan: Plan, tensor: int) -> bool:
    return 0 <= tensor < len(plan.tensors)


def _nothing_known(plan: Plan, node: Node) -> str:
    for tensor in (*node.inputs, *node.outputs):
        if tensor != ABSENT and not 0 <= tensor < len(plan.tensors):
            return f"tensor {tensor} does not exist"
    return ""


def _unlike(plan: Plan, node: Node, form: _Form) -> str:
    """How a communication node departs from its form; empty where it does not."""
    names = {name for name, _ in node.attrs}
    if missing := [name for name in form.needs if name not in names]:
        return f"it does not say its {missing[0]}"
    if foreign := sorted(names - {*form.needs, *form.may}):
        return f"it has an attribute {foreign[0]}, which is unknown"
    if len(node.inputs) not in form.reads or len(node.outputs) not in form.writes:
        return f"it reads {len(node.inputs)} tensors and writes {len(node.outputs)}"
    if ABSENT in (*node.inputs, *node.outputs):
        return "a tensor is absent"
    ranks = attribute(node, "ranks") or ()
    if "ranks" in form.needs and (not isinstance(ranks, tuple) or not ranks or len(set(ranks)) != len(ranks)):
        return f"its group {ranks} must name every member once"
    if "root" in form.needs and attribute(node, "root") not in ranks:
        return f"its root {attribute(node, 'root')} is not in its group {list(ranks)}"
    if attribute(node, "replicas") and (problem := _among_replicas(node.op, ranks)):
        return problem
    return _dimensions(plan, node)


def _among_replicas(op: str, ranks: tuple[object, ...]) -> str:
    if op == "all_reduce" or (op in _OVER_REPLICAS and len(ranks) == 1):
        return ""
    if op in _OVER_REPLICAS:
        return f"its group of {len(ranks)} devices on every replica has no order: name one device, or all_reduce"
    return f"there is no {op} over replicas: there are all_reduce, {', '.join(_OVER_REPLICAS)}"


def _dimensions(plan: Plan, node: Node) -> str:
    for tensor in (*node.inputs, *node.outputs):
        rank = len(plan.tensors[tensor].region)
        for name in ("dim", "split_dim", "concat_dim"):
            dim = attribute(node, name)
            if dim is not None and not (isinstance(dim, int) and 0 <= dim < rank):
                return f"its {name} is {dim}, its tensors have {rank} dimensions"
    return ""
