"""Faults of the schedule: calls and microbatches, reductions once a step, declared outputs."""

from collections.abc import Callable
from dataclasses import replace
from random import Random

from verdict.graph import ABSENT, ACCUMULATOR, INPUT, ONCE_A_STEP, WEIGHT, Call, Plan
from verdict.mutate.sites import Change, change_each, edit, named, node_at, pick, shape, sites

Program = tuple[Call, ...]


def drop_call(plan: Plan, random: Random) -> Change | None:
    """A segment does not run for one microbatch."""
    return _at_call(plan, random, lambda call: True, lambda calls, k: (*calls[:k], *calls[k + 1 :]), "dropped")


def duplicate_call(plan: Plan, random: Random) -> Change | None:
    """A segment runs twice for one microbatch."""
    return _at_call(plan, random, lambda call: True, lambda calls, k: (*calls[: k + 1], *calls[k:]), "doubled")


def exchange_calls(plan: Plan, random: Random) -> Change | None:
    """Two calls of one device change places."""

    def exchanged(calls: Program, k: int) -> Program:
        other = min(k + random.randint(1, 3), len(calls) - 1)
        changed = list(calls)
        changed[k], changed[other] = changed[other], changed[k]
        return tuple(changed)

    return _at_call(plan, random, lambda call: True, exchanged, "exchanged with a later one:")


def change_microbatch(plan: Plan, random: Random) -> Change | None:
    """A call runs for another microbatch than it should."""
    if plan.microbatches < 2:
        return None

    def changed(calls: Program, k: int) -> Program:
        others = [m for m in range(plan.microbatches) if m != calls[k].microbatch]
        return (*calls[:k], calls[k]._replace(microbatch=random.choice(others)), *calls[k + 1 :])

    return _at_call(plan, random, lambda call: call.microbatch != ONCE_A_STEP, changed, "another microbatch for")


def exchange_microbatches(plan: Plan, random: Random) -> Change | None:
    """A segment runs for two microbatches in the other order."""
    if plan.microbatches < 2:
        return None

    def changed(calls: Program, k: int) -> Program:
        same = [j for j, call in enumerate(calls) if call.segment == calls[k].segment and j != k]
        if not same:
            return calls
        j = random.choice(same)
        found = list(calls)
        found[k], found[j] = (
            calls[k]._replace(microbatch=calls[j].microbatch),
            calls[j]._replace(microbatch=calls[k].microbatch),
        )
        return tuple(found)

    return _at_call(plan, random, lambda call: call.microbatch != ONCE_A_STEP, changed, "exchanged microbatches of")


def cross_microbatch(plan: Plan, random: Random) -> Change | None:
    """A call reads a tensor of another microbatch."""
    if plan.microbatches < 2:
        return None

    def changed(calls: Program, k: int) -> Program:
        call = calls[k]
        nodes = plan.segments[call.segment].nodes
        made = {tensor for node in nodes for tensor in node.outputs}
        read = sorted(
            {
                tensor
                for node in nodes
                for tensor in node.inputs
                if tensor != ABSENT and tensor not in made and plan.kind(tensor) not in (WEIGHT, ACCUMULATOR)
            }
        )
        if not read:
            return calls
        other = random.choice([m for m in range(plan.microbatches) if m != call.microbatch])
        return (*calls[:k], call._replace(crossed=((random.choice(read), other),)), *calls[k + 1 :])

    return _at_call(plan, random, lambda call: call.microbatch != ONCE_A_STEP, changed, "an input of another column in")


def early_reduction(plan: Plan, random: Random) -> Change | None:
    """What runs once a step runs before the last backward pass."""

    def changed(calls: Program, k: int) -> Program:
        rest = [*calls[:k], *calls[k + 1 :]]
        rest.insert(random.randint(max(0, k - 4), max(0, k - 1)), calls[k])
        return tuple(rest)

    return _at_call(plan, random, lambda call: call.microbatch == ONCE_A_STEP, changed, "too early:")


def drop_reduction(plan: Plan, random: Random) -> Change | None:
    """A gradient is not reduced on one device, or by its whole group; it stays what the device has."""
    once = {call.segment for program in plan.programs for call in program if call.microbatch == ONCE_A_STEP}
    reducers = [
        site
        for site in sites(plan, lambda node: node.op == "all_reduce")
        if site.segment in once
        and shape(plan, node_at(plan, site).inputs[0]) == shape(plan, node_at(plan, site).outputs[0])
    ]
    if not reducers:
        return None
    site = random.choice(reducers)
    return change_each(plan, (site,), lambda node: node._replace(op="identity", attrs=())), f"not: {named(plan, site)}"


def exchange_reductions(plan: Plan, random: Random) -> Change | None:
    """Two reductions of one device read each other's gradient."""
    site = pick(plan, random, lambda node: _reads_accumulator(plan, node.inputs))
    if site is None:
        return None
    mine = node_at(plan, site)
    others = [
        other
        for other in sites(plan, lambda node: _reads_accumulator(plan, node.inputs))
        if other != site
        and plan.segments[other.segment].device == plan.segments[site.segment].device
        and shape(plan, node_at(plan, other).inputs[0]) == shape(plan, mine.inputs[0])
    ]
    if not others:
        return None
    other = random.choice(others)
    theirs = node_at(plan, other)
    changed = edit(plan, {site: (mine._replace(inputs=theirs.inputs),), other: (theirs._replace(inputs=mine.inputs),)})
    return changed, f"{named(plan, site)} and {named(plan, other)} read each other's input"


def _reads_accumulator(plan: Plan, inputs: tuple[int, ...]) -> bool:
    return len(inputs) == 1 and inputs[0] != ABSENT and plan.kind(inputs[0]) == ACCUMULATOR


def drop_output(plan: Plan, random: Random) -> Change | None:
    """A declared loss or gradient is not declared."""
    of_losses = random.random() < 0.5
    held = plan.losses if of_losses else plan.gradients
    if not held:
        return None
    k = random.randrange(len(held))
    kept = (*held[:k], *held[k + 1 :])
    name = plan.logicals[plan.tensors[held[k].tensor].logical].name
    changed = replace(plan, losses=kept) if of_losses else replace(plan, gradients=kept)
    return changed, f"{name} is not declared on device {held[k].device}"


def exchange_declared(plan: Plan, random: Random) -> Change | None:
    """Two weights of one device and shape have each other's gradient; or one has its accumulator unreduced."""
    if not plan.gradients:
        return None
    k = random.randrange(len(plan.gradients))
    mine = plan.gradients[k]
    others = [
        j
        for j, held in enumerate(plan.gradients)
        if held.device == mine.device and held != mine and shape(plan, held.tensor) == shape(plan, mine.tensor)
    ]
    if not others:
        return None
    j = random.choice(others)
    found = list(plan.gradients)
    found[k], found[j] = mine._replace(tensor=found[j].tensor), found[j]._replace(tensor=mine.tensor)
    name = plan.logicals[plan.tensors[mine.weight].logical].name
    return replace(plan, gradients=tuple(found)), f"the gradient of {name} on device {mine.device} is another's"


def exchange_input_slices(plan: Plan, random: Random) -> Change | None:
    """A device reads another input tensor of the same shape."""
    inputs = [k for k in range(len(plan.tensors)) if plan.kind(k) == INPUT]
    random.shuffle(inputs)
    for one in inputs:
        for other in inputs:
            if plan.tensors[one] != plan.tensors[other] and shape(plan, one) == shape(plan, other):
                tensors = list(plan.tensors)
                tensors[one], tensors[other] = tensors[other], tensors[one]
                return replace(plan, tensors=tuple(tensors)), f"input tensors {one} and {other} exchanged"
    return None


def _at_call(
    plan: Plan,
    random: Random,
    wanted: Callable[[Call], bool],
    change: Callable[[Program, int], Program],
    told: str,
) -> Change | None:
    found = [(d, k) for d, calls in enumerate(plan.programs) for k, call in enumerate(calls) if wanted(call)]
    if not found:
        return None
    device, k = random.choice(found)
    programs = list(plan.programs)
    call = programs[device][k]
    programs[device] = change(programs[device], k)
    name = plan.segments[call.segment].name
    return replace(plan, programs=tuple(programs)), f"{told} {name}, microbatch {call.microbatch}, device {device}"
