"""What nnScaler's runtime goes by besides the nodes of a program: which groups are made, what the step returns, what
backward passes are given and in which order they find what their forward passes kept, in which order weights lie in the
buckets of a reducer. What does not fit is a fault of the plan.

Sources: https://github.com/microsoft/nnscaler, nnscaler/codegen/module/module.py (get_comm_groups, scale,
init_reducer as of version 0.4), nnscaler/codegen/schedule/schedule.py (the step and what it returns),
nnscaler/codegen/emit.py (get_backward_callsite_io_tensors), nnscaler/runtime/device.py (get_group),
nnscaler/runtime/executor.py (Executor.backward).
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from verdict.backends.nnscaler.microbatches import Numbering, template
from verdict.backends.nnscaler.programs import Program
from verdict.backends.nnscaler.records import (
    IRDimops,
    IRSegment,
    IRSubTensor,
    IRWeightReducer,
    MalformedError,
    Record,
    State,
    integer,
    integers,
)
from verdict.outcome import Finding

_Sequences = Mapping[int, Sequence[Record]]


def faults(plan: State, sequences: _Sequences, numbering: Numbering, made: list[Program]) -> Iterator[Finding]:
    """What is wrong with a plan that its nodes do not say, each cause once."""
    found = (
        *_returns(plan["_outputs"], made, numbering.count),
        *_backward_order(sequences, numbering),
        *_backward_of_nothing(sequences, numbering),
        *_bucket_order(sequences),
    )
    yield from {(finding.code, finding.title): finding for finding in reversed(found)}.values()


def groups(module: State) -> tuple[tuple[int, ...], ...]:
    """The groups of ranks that every process makes at the start: `comm_groups`, and that of all ranks.

    A group that a process asks for later and does not have is made by its members alone, and waits for all processes.
    """
    listed, ranks = module["comm_groups"], integer(module["runtime_ndevs"], "the number of devices")
    if type(listed) is not list:
        raise MalformedError("the groups that are made should be a list")
    made = dict.fromkeys(tuple(sorted(set(integers(group, "the ranks of a group")))) for group in listed)
    if any(rank >= ranks for group in made for rank in group):
        raise MalformedError(f"a group with a rank beyond the {ranks} that there are")
    return (tuple(range(ranks)), *made)


def _returns(outputs: Any, made: list[Program], microbatches: int) -> Iterator[Finding]:
    """The step returns the loss of every microbatch, in their order, on every device."""
    returned = _tensors(outputs, 0)
    for program in made:
        losses = program.device.losses.values()
        held = [program.value_of(record) for record in returned]
        due = [(k, loss) for k in range(microbatches) for loss in losses]
        if held == due or (not losses and not any(held)):
            continue
        wrong = next((k for k, (one, other) in enumerate(zip(held, due, strict=False)) if one != other), None)
        if wrong is None:
            what = f"the step returns {len(held)} tensors, and there are {len(due)} losses, one for each microbatch"
        else:
            name = returned[wrong][0]["_full_tensor"][0]["name"]
            there = "" if held[wrong] is not None else ", which it does not have,"
            what = f"the step returns {name}{there} where the loss of microbatch {due[wrong][0]} is due"
        yield Finding(
            "loss-missing", what, f"the end of the step on rank {program.device.number}", help="return every loss once"
        )


def _tensors(outputs: Any, depth: int) -> list[Record]:
    """The tensors among what a step returns, which may lie in lists, tuples and dicts; nothing else may be there."""
    if type(outputs) is IRSubTensor:
        return [outputs]
    if type(outputs) in {list, tuple, dict} and depth < 8:
        inner = outputs.values() if type(outputs) is dict else outputs
        return [tensor for output in inner for tensor in _tensors(output, depth + 1)]
    raise MalformedError(f"the step returns a {type(outputs).__name__}: only losses can be compared")


def _backward_order(sequences: _Sequences, numbering: Numbering) -> Iterator[Finding]:
    """Every backward pass of a segment takes what the oldest forward pass that has not been taken yet has kept."""
    for device, sequence in sequences.items():
        kept: dict[int, list[int]] = defaultdict(list)
        for cell in sequence:
            inner = template(cell)
            if type(inner) is not IRSegment:
                continue
            microbatch, forward = numbering.of(cell), inner[0]["_mirror"]
            if not numbering.is_backward(inner):
                kept[id(inner)].append(microbatch)
            elif forward is not None and kept[id(forward)]:
                oldest = kept[id(forward)].pop(0)
                if oldest != microbatch:
                    yield Finding(
                        "wrong-order",
                        f"it runs for microbatch {microbatch} on what the forward pass of microbatch {oldest} kept",
                        f"{inner[0]['name']} {inner[0]['_id']} backward on rank {device}",
                        help="run the backward passes of a segment in the order of its forward passes",
                    )


def _backward_of_nothing(sequences: _Sequences, numbering: Numbering) -> Iterator[Finding]:
    """A backward pass goes back from those tensors of the forward run that it mirrors whose gradients it is given, and
    hands on the gradients of those that it names; a forward run keeps something for it where what it makes requires a
    gradient.
    """
    for device, sequence in sequences.items():
        for cell in sequence:
            inner, forward = template(cell), cell[0]["_mirror"]
            if type(inner) is not IRSegment or forward is None or not numbering.is_backward(inner):
                continue
            why = _why_nothing(cell[0], forward[0])
            if why:
                yield Finding(
                    "gradient-missing",
                    f"{why} (microbatch {numbering.of(cell)})",
                    f"{inner[0]['name']} {inner[0]['_id']} backward on rank {device}",
                    help="let each backward pass mirror the forward run whose gradients it is given",
                )


def _why_nothing(backward: State, forward: State) -> str:
    """Why a backward pass does not go back through all that it should; "" where it does."""
    made = [record[0] for record in forward["_outputs"] if type(record) is IRSubTensor]
    ends = (*made, *(record[0] for record in forward["_inputs"] if type(record) is IRSubTensor))
    known = {fields["_grad"][0]["_id"] for fields in ends if fields["_grad"] is not None}
    for side, says in (("_inputs", "is given"), ("_outputs", "hands on")):
        for record in backward[side]:
            if type(record) is IRSubTensor and record[0]["_id"] not in known:
                name = record[0]["_full_tensor"][0]["name"]
                return f"it {says} {name}, the gradient of nothing in the forward run that it mirrors"
    return "" if any(fields["_requires_grad"] for fields in made) else "its forward run makes nothing that needs one"


def _bucket_order(sequences: _Sequences) -> Iterator[Finding]:
    """A reducer lays its weights one behind the other, in the order in which its device's own segments use them first:
    all devices alike.
    """
    laid: dict[tuple[int, ...], tuple[int, list[Record]]] = {}
    for device, sequence in sequences.items():
        used = _used_first(sequence)
        for cell in sequence:
            inner = template(cell)
            if type(inner) is not IRWeightReducer:
                continue
            listed = {weight[0]["_id"]: weight for weight in inner[0]["_inputs"]}
            weights = sorted(listed.values(), key=lambda weight: used.get(_parent(weight), len(used)))
            first, due = laid.setdefault((inner[0]["_id"], *inner[0]["_device"]), (device, weights))
            pairs = zip(due, weights, strict=False)
            other = next(((one, two) for one, two in pairs if one[0]["_id"] != two[0]["_id"]), None)
            if other is not None:
                one, two = (weight[0]["_full_tensor"][0]["name"] for weight in other)
                yield Finding(
                    "wrong-order",
                    f"gradients of {two} lie where those of {one} do on rank {first}, and are summed with them",
                    f"{inner[0]['name']} {inner[0]['_id']} on rank {device}",
                    help="use weights of one reducer in one order on all its ranks",
                )


def _used_first(sequence: Sequence[Record]) -> dict[int, int]:
    """The full tensors, by id, that forward segments read, in the order in which they are read first."""
    used: dict[int, int] = {}
    for inner in {id(inner): inner for inner in map(template, sequence)}.values():
        for node in inner[0]["_nodes"] if type(inner) is IRSegment else ():
            if type(node) is not IRDimops:
                continue
            for record in node[0]["_inputs"]:
                if type(record) is IRSubTensor and record[0]["_is_attr"]:
                    used.setdefault(_parent(record), len(used))
    return used


def _parent(record: Record) -> int:
    return int(record[0]["_full_tensor"][0]["_id"])
