"""The checks at the door. What a plan must be before anything is said about its values.

- Regions lie inside their logical tensors; shards over replicas have the shapes of even pieces.
- SSA: within a device and microbatch every tensor is produced once, before it is used; what is
  declared as an output is produced.
- Every node's full shapes and attributes satisfy its operator's shape rule.
- Every segment runs exactly once for every microbatch, and reducers run after the last contribution.
"""

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence, Set
from dataclasses import replace
from functools import cache
from typing import Any, NamedTuple, Protocol

from verdict.errors import NoRuleError, ShapeError
from verdict.graph.crossing import check_crossings
from verdict.graph.fault import Fault, Place
from verdict.graph.lockstep import LOADER
from verdict.graph.microbatches import check_microbatches
from verdict.graph.plan import ABSENT, ACCUMULATOR, INPUT, ONCE_A_STEP, PER_STEP, Call, Held, Node, Plan, Segment
from verdict.graph.region import Shape
from verdict.graph.schedule import check_schedule
from verdict.graph.shares import check_regions, check_shards
from verdict.graph.turns import IN_PLACE, makers_of, out_of_turn
from verdict.outcome import Finding

DECIDES = "decides-otherwise"
"""The code of a fault that runs of both programs showed, and that is told where the plan itself shows none."""
ASKED = "output_mask"
"""The attribute of a gradient that says which of its outputs it makes."""


class ShapeRule(Protocol):
    """What the door needs of an operator's rule."""

    @property
    def axes(self) -> Callable[[Sequence[Shape], Mapping[str, Any]], Any]:
        """The shape rule: an object with `output_shapes`, or a ShapeError."""

    @property
    def adds(self) -> bool:
        """Whether it is the sum of its inputs, of which those that are absent are zero."""


def check_plan(plan: Plan, rules: Mapping[str, ShapeRule]) -> tuple[Finding, ...]:
    """All that is wrong with the plan's form; empty for a plan whose values can be looked at."""
    return (
        *(fault for fault in plan.faults if fault.code != DECIDES),
        *check_regions(plan),
        *check_shards(plan),
        *check_order(plan),
        *check_shapes(plan, rules),
        *check_microbatches(plan),
        *check_crossings(plan),
        *check_schedule(plan),
    )


def shown(plan: Plan) -> tuple[Finding, ...]:
    """What runs of both programs showed to be wrong, of which the plan's nodes say nothing."""
    return tuple(fault for fault in plan.faults if fault.code == DECIDES)


def check_order(plan: Plan) -> tuple[Finding, ...]:
    """SSA. Microbatches that run the same segments in the same order are looked at once.

    An input that some device loads is there where its loader has run; any other is given, as weights and buffers
    are, unless a node of the device makes it (the gathered shares of a weight).
    """
    found: dict[tuple[str, int], dict[tuple[int, int], Place]] = {}
    loaded = {plan.tensors[t].logical for _, node in _nodes(plan) if node.op == LOADER for t in node.outputs if t >= 0}
    kinds = plan.kinds
    unloaded = (k for k, kind in enumerate(kinds) if kind == INPUT and plan.tensors[k].logical not in loaded)
    given = {*plan.seeds, *unloaded, *(k for k, kind in enumerate(kinds) if kind in PER_STEP)}

    def misplaced(what: str, device: int, node: Node, tensor: int) -> None:
        places = found.setdefault((what, plan.tensors[tensor].logical), {})
        places.setdefault((tensor, id(node)), Place(device, ONCE_A_STEP, node.name, node.op))

    @cache
    def makers(device: int) -> Mapping[int, Set[int]]:
        return makers_of(plan, device)

    late: dict[int, set[int]] = defaultdict(set)
    for device, program in enumerate(plan.programs):
        own = made(plan, program)
        for segments in _distinct_orders(plan, program):
            produced: set[int] = set()
            for at, node in ((number, node) for number in segments for node in plan.segments[number].nodes):
                for tensor in node.inputs:
                    if tensor in produced or tensor == ABSENT:
                        continue
                    if tensor in own and at not in (by := makers(device)[tensor]) and by <= set(segments):
                        late[device].add(tensor)
                    elif tensor not in given or tensor in own:
                        misplaced("is read before anything produces it", device, node, tensor)
                for tensor in node.outputs:
                    if tensor == ABSENT:
                        continue
                    if node.op == LOADER and kinds[tensor] != INPUT:
                        misplaced("is loaded, and is no input", device, node, tensor)
                    if tensor in produced and kinds[tensor] != ACCUMULATOR:
                        misplaced("is produced twice", device, node, tensor)
                    produced.add(tensor)
    broken = (
        _misplaced(plan, what, logical, tuple(tensor for tensor, _ in places), tuple(places.values()))
        for (what, logical), places in found.items()
    )
    turns = (out_of_turn(plan, device, tensors) for device, tensors in late.items())
    return (*broken, *filter(None, turns), *_unwritten(plan, given), *_incomplete(plan))


def made(plan: Plan, program: tuple[Call, ...]) -> set[int]:
    """What the nodes of a device make, accumulators and loaded inputs aside."""
    kinds = plan.kinds
    nodes = [node for segment in {call.segment for call in program} for node in plan.segments[segment].nodes]
    found = {tensor for node in nodes if node.op != LOADER for tensor in node.outputs}
    return {tensor for tensor in found if tensor != ABSENT and kinds[tensor] != ACCUMULATOR}


def _unwritten(plan: Plan, given: set[int]) -> Iterator[Finding]:
    """Declared outputs that no node of their device writes. Of an accumulator the walk says what is missing."""
    written = [
        {t for segment in {call.segment for call in program} for n in plan.segments[segment].nodes for t in n.outputs}
        for program in plan.programs
    ]
    for code, declared in _ends(plan):
        missing = [
            held
            for held in declared
            if held.tensor not in written[held.device]
            and held.tensor not in given
            and plan.kind(held.tensor) != ACCUMULATOR
        ]
        if missing:
            first = missing[0]
            name = plan.logicals[plan.tensors[first.tensor].logical].name
            title = f"nothing computes {name}, which rank {first.device} declares as its output"
            places = tuple(Place(held.device, ONCE_A_STEP, "the end of the step", "output") for held in missing)
            about = Fault(places, tuple(held.tensor for held in missing))
            yield Finding(code, title, f"rank {first.device}", extent=len(missing), evidence=about, kind="unmade")


def _incomplete(plan: Plan) -> Iterator[Finding]:
    """Declared parts of sums some other part of which no rank declares, of whatever region."""
    for code, declared in _ends(plan):
        parts: dict[tuple[int, int], dict[int, Held]] = defaultdict(dict)
        for held in declared:
            share = plan.tensors[held.tensor]
            parts[share.logical, share.part[1]].setdefault(share.part[0], held)
        for (logical, count), holders in parts.items():
            missing = next((part for part in range(count) if part not in holders), None)
            if missing is not None:
                held = next(iter(holders.values()))
                title = f"no rank holds part {missing} of {count} of {plan.logicals[logical].name}"
                place = Place(held.device, ONCE_A_STEP, "the end of the step", "output")
                yield Finding(code, title, f"rank {held.device}", evidence=Fault((place,), (held.tensor,)), kind="part")


def _ends(plan: Plan) -> tuple[tuple[str, tuple[Held, ...]], ...]:
    """What is declared, by the code of the finding that it is not there."""
    return ("loss-missing", plan.losses), ("gradient-missing", plan.gradients), ("output-missing", plan.outputs)


def _distinct_orders(plan: Plan, program: tuple[Call, ...]) -> set[tuple[int, ...]]:
    """The orders in which a device runs the segments of one microbatch and those that run once a step.

    A microbatch that nothing runs for has those alone.
    """
    once: list[int] = []
    own: dict[int, list[tuple[int, int]]] = defaultdict(list)
    for call in program:
        if call.microbatch == ONCE_A_STEP:
            once.append(call.segment)
        else:
            own[call.microbatch].append((len(once), call.segment))
    orders = {tuple(calls) for calls in own.values()} | ({()} if len(own) < plan.microbatches else set())
    return {tuple(_with(once, calls)) for calls in orders}


def _with(once: Sequence[int], calls: Sequence[tuple[int, int]]) -> Iterator[int]:
    """The segments that run once a step, and among them each of `calls` behind so many of them."""
    done = 0
    for behind, segment in calls:
        yield from once[done:behind]
        yield segment
        done = behind
    yield from once[done:]


def _misplaced(plan: Plan, what: str, logical: int, tensors: tuple[int, ...], places: tuple[Place, ...]) -> Finding:
    return Finding(
        "broken-data-flow",
        f"{plan.logicals[logical].name} {what}",
        places[0].spelled,
        help=IN_PLACE if any(plan.kind(tensor) in PER_STEP for tensor in tensors) else "",
        extent=len(places),
        evidence=Fault(places, tuple(dict.fromkeys(tensors))),
        kind=what,
    )


def check_shapes(plan: Plan, rules: Mapping[str, ShapeRule]) -> tuple[Finding, ...]:
    """Every node's full shapes and attributes against its operator's shape rule; those of one look once."""
    wrong = {look: misfit for look, at in plan.looks.items() if (misfit := _misfit_at(plan, *at, rules)) is not None}
    findings: dict[tuple[str, Misfit], Finding] = {}
    places: dict[tuple[str, Misfit], list[Place]] = defaultdict(list)
    tensors: dict[tuple[str, Misfit], list[int]] = defaultdict(list)
    for segment, node in _nodes(plan) if wrong else ():
        misfit = wrong.get(plan.look(node))
        if misfit is not None:
            alike = node.op, misfit
            place = Place(segment.device, ONCE_A_STEP, node.name, node.op)
            places[alike].append(place)
            tensors[alike].extend(node.outputs)
            findings.setdefault(alike, Finding("shape-mismatch", misfit.text, place.spelled, kind=misfit.kind))
    return tuple(
        replace(finding, extent=len(places[alike]), evidence=Fault(tuple(places[alike]), tuple(tensors[alike])))
        for alike, finding in findings.items()
    )


class Misfit(NamedTuple):
    """Why shapes are none that an operator has. kind: what is wrong, whatever the sizes. text: for people."""

    kind: Hashable
    text: str


def _misfit_at(plan: Plan, number: int, place: int, rules: Mapping[str, ShapeRule]) -> Misfit | None:
    """What is wrong with the node at a place of a segment."""
    node, shapes = plan.segments[number].nodes[place], plan.shapes
    sides = [tuple([shapes[t] if t != ABSENT else None for t in side]) for side in (node.inputs, node.outputs)]
    return misfit_of(node, sides[0], sides[1], rules)


def misfit_of(
    node: Node,
    inputs: tuple[Shape | None, ...],
    outputs: tuple[Shape | None, ...],
    rules: Mapping[str, ShapeRule],
) -> Misfit | None:
    if node.op == "all_reduce":
        kept = set(inputs) == set(outputs) or None in inputs
        return None if kept else Misfit("kept", "what it returns has another shape")
    gradient = node.op.endswith(".grad")
    rule = rules.get(node.op.removesuffix(".grad"))
    if rule is None:
        return None
    grads = len(inputs) - len(outputs) if gradient else 0
    forward = inputs[grads:]
    if rule.adds:
        forward = tuple(shape for shape in forward if shape is not None)
    if any(shape is None for shape in forward):
        return Misfit("input", "an input is missing")
    asked = dict(node.attrs).get(ASKED)
    flags = asked if isinstance(asked, tuple) else ()
    if any(shape is not None and not wanted for shape, wanted in zip(outputs, flags, strict=False)):
        return Misfit("unasked", f"it has an output that its {ASKED} does not ask for")
    try:
        made = rule.axes([shape for shape in forward if shape is not None], dict(node.attrs)).output_shapes
    except ShapeError as error:
        return None if isinstance(error, NoRuleError) else Misfit("refused", error.problem)
    wanted = (*inputs[:grads], *outputs) if gradient else outputs
    right = (*made, *forward) if gradient else made
    if len(wanted) != len(right):
        return Misfit("count", f"it has {len(wanted)} outputs or gradients where its operator has {len(right)}")
    for found, expected in zip(wanted, right, strict=True):
        if found is not None and found != expected:
            text = f"the plan says shape {list(found)} where the operator makes {list(expected or ())}"
            return Misfit(("made", len(found), len(expected or ())), text)
    return None


def _nodes(plan: Plan) -> Iterator[tuple[Segment, Node]]:
    return ((segment, node) for segment in plan.segments for node in segment.nodes)
