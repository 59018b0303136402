"""Walk one column of the parallel plan and say what every tensor holds, in single-device values.

All plan devices run in lockstep, as they would. Each node finds its partner by what it reads; what it
writes is what the partner's rule implies (a claim, proved by its stage later). Where a node reads
something else than its partner, that is a divergence: it is recorded once, and the walk goes on behind it
as if the plan's own claim held, so that independent faults are found too.
"""

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace

from verdict.counting import Progress, uncounted
from verdict.graph import ABSENT, GRADIENT, ONCE_A_STEP, PER_STEP, Place, Plan
from verdict.graph.lockstep import CHUNK, LOADER, Handlers, Step, Walk, lockstep, program
from verdict.lineage.binding import Binding
from verdict.lineage.compute import compute
from verdict.lineage.ends import ends_of
from verdict.lineage.exchange import chunk, meet, place_of
from verdict.lineage.grounds import NOTHING, Grounds, Learned
from verdict.lineage.guessing import Guessing
from verdict.lineage.holdings import Holdings
from verdict.lineage.lineages import Evidence, Gap, Lineages, Unfollowed
from verdict.lineage.reference import Reference
from verdict.lineage.values import Value
from verdict.ops import FACTS
from verdict.outcome import Finding


def propagate(
    reference: Reference,
    plan: Plan,
    binding: Binding,
    microbatch: int = 0,
    assume: frozenset[str] = frozenset(),
    every: bool = False,
    progress: Progress = uncounted,
) -> Lineages:
    """Say what every tensor of one column of `plan` holds. `microbatch`: whose column is looked at.

    every: look at all replicas where each has its own pieces, not only at those that stand for all. progress: of nodes.
    """
    return _walk(Holdings(reference, plan, binding, assume, every), plan, microbatch, progress)


def guessed(
    grounds: Grounds,
    plan: Plan,
    binding: Binding,
    learned: Learned = NOTHING,
    microbatch: int = 0,
    progress: Progress = uncounted,
    steps: int | None = None,
) -> Lineages:
    """Say what every tensor of one column holds, as far as the guesses are right that are its `cuts`.

    steps: how many are walked at most; all without.
    """
    holdings = Guessing(grounds, plan, binding, learned)
    found = _walk(holdings, plan, microbatch, progress, steps)
    return replace(found, moved=holdings.movement.elements(), made_of=holdings.movement.numbering.made_of())


OFTEN = 1024
"""How many nodes are walked between two times that it is told how many are."""


class _Enough(Exception):
    """As many steps were walked as were asked for."""


def _walk(holdings: Holdings, plan: Plan, microbatch: int, progress: Progress, most: int | None = None) -> Lineages:
    programs = [
        program(plan, [call for call in calls if call.microbatch in (microbatch, ONCE_A_STEP)])
        for calls in plan.programs
    ]
    nodes, done, told = sum(map(len, programs)), 0, 0

    def count(more: int) -> None:
        nonlocal done, told
        done += more
        if done - told >= OFTEN:
            told = done
            progress(done, nodes, "nodes")
        if most is not None and done >= most:
            raise _Enough

    def alone(device: int, step: Step) -> None:
        try:
            local(holdings, device, step)
        except Unfollowed:
            _forget(holdings, {device: step})
        holdings.follow({device: step})
        count(1)

    def followed(steps: Mapping[int, Step], follow: Callable[[], None]) -> None:
        _followed(holdings, steps, follow)
        count(len(steps))

    def sent(device: int, step: Step) -> Value | None:
        count(1)
        return holdings.read(device, step.node.inputs[0])

    handlers = Handlers(
        local=alone,
        send=sent,
        receive=lambda device, step, value, sent: followed(
            {device: step},
            lambda: holdings.write(device, step.node.outputs[0], value, place_of(device, step)),
        ),
        meet=lambda members: followed(members, lambda: meet(holdings, members)),
    )
    walk = Walk((), ())
    with suppress(_Enough):
        walk = lockstep(programs, handlers)
    progress(done, nodes, "nodes")
    return _lineages(holdings, walk, nodes)


def _followed(holdings: Holdings, steps: Mapping[int, Step], follow: Callable[[], None]) -> None:
    """Follow steps that devices take together; what they make is unknown where nothing can be said of them."""
    try:
        follow()
    except Unfollowed:
        _forget(holdings, steps)
    holdings.follow(steps)


def _forget(holdings: Holdings, steps: Mapping[int, Step]) -> None:
    for device, step in steps.items():
        holdings.env[device].update({tensor: None for tensor in step.node.outputs if tensor != ABSENT})


def local(holdings: Holdings, device: int, step: Step) -> None:
    """What a step of one device makes."""
    node, place = step.node, place_of(device, step)
    if node.op == LOADER:
        for tensor in node.outputs:
            holdings.read(device, tensor)
        return
    if step.microbatch == ONCE_A_STEP and holdings.plan.microbatches > 1:
        _only_per_step(holdings, step, place)
    values = _read(holdings, device, step)
    if values is None:
        for output in node.outputs:
            holdings.write(device, output, None, place)
        return
    summed = FACTS.addends(node.op, values, len(node.outputs))
    if summed is not None:
        total = summed[0] if len(summed) == 1 else holdings.sum(summed)
        for tensor in node.outputs:
            holdings.write(device, tensor, total, place)
    elif node.op == CHUNK:
        piece = chunk(holdings, device, step, values[0], place) if values[0] else ()
        holdings.write(device, node.outputs[0], piece, place)
    else:
        compute(holdings, device, step, values, place)


def _read(holdings: Holdings, device: int, step: Step) -> tuple[Value, ...] | None:
    """What a node reads; None where some of it is unknown, and cannot be guessed."""
    values = tuple([holdings.read(device, tensor) for tensor in step.node.inputs])
    known = tuple([value for value in values if value is not None])
    return known if len(known) == len(values) else holdings.guess(device, step, values)


def _only_per_step(holdings: Holdings, step: Step, place: Place) -> None:
    """What runs once a step may not read what every microbatch has its own of."""
    for tensor in step.node.inputs:
        if tensor < 0 or holdings.kinds[tensor] in PER_STEP or holdings.kinds[tensor] == GRADIENT:
            continue
        if tensor not in holdings.once[place.device]:
            holdings.gap(f"once a step it reads {holdings.name(tensor)}, of which every microbatch has its own", place)


def _lineages(holdings: Holdings, walk: Walk, nodes: int) -> Lineages:
    stuck = tuple(Gap("the walk did not reach its end", place_of(s.device, s.step)) for s in walk.stuck[:1])
    held = tuple(_held(holdings, device) for device in range(len(holdings.env)))
    ends = tuple(ends_of(holdings))
    return Lineages(
        reference=holdings.reference,
        distinct=tuple(holdings.known),
        members={
            index: {number: tuple(places) for number, places in found.items()}
            for index, found in sorted(holdings.members.items())
        },
        laws=frozenset(holdings.laws),
        held=held,
        ends=ends,
        findings=tuple(_together(found) for found in holdings.findings.values()),
        gaps=(*holdings.gaps.values(), *stuck),
        assumptions=tuple(holdings.assumptions.values()),
        nodes=nodes,
        cuts=holdings.cuts,
        unsaid=None if stuck else frozenset(holdings.unsaid),
    )


def _held(holdings: Holdings, device: int) -> dict[int, Value | None]:
    """What all tensors hold on a device that were read or written there."""
    own = holdings.env[device]
    return {tensor: holdings.read(device, tensor) for tensor in own} if holdings.accumulated else dict(own)


def _together(found: list[Finding]) -> Finding:
    """One finding for all places at which one cause shows."""
    about = [finding.evidence for finding in found if isinstance(finding.evidence, Evidence)]
    places = tuple(place for one in about for place in one.places)
    tensors = tuple(tensor for one in about for tensor in one.tensors)
    evidence = about[0]._replace(places=places, tensors=tensors)
    return replace(found[0], extent=len(found), evidence=evidence)
