"""Nodes and declared outputs that read another tensor than they should: wire them to the one that holds it."""

from collections.abc import Iterator, Sequence

from verdict.graph import ABSENT, Place, Region
from verdict.lineage import Evidence
from verdict.lineage.compare import unreduced
from verdict.lineage.reference import Bases
from verdict.lineage.values import OVER_MICROBATCHES, OVER_REPLICAS
from verdict.outcome import Finding
from verdict.repair.case import Candidate, Case
from verdict.repair.edits import Patch, Site, node_at

MOST = 2
"""How many tensors that hold what is due are tried."""


def rewire(case: Case, finding: Finding) -> Iterator[Candidate]:
    """Every input of the nodes at fault to a tensor of the rank that holds what their partner reads there."""
    about = finding.evidence
    if not isinstance(about, Evidence) or about.partner == ABSENT or case.walk is None:
        return
    due = case.walk.reference.partners[about.partner].inputs
    choices = [_inputs(case, place, tensor, due, about.region) for place, tensor in _pairs(about)]
    for attempt in range(min(MOST, max((len(options) for _, options in choices), default=0))):
        chosen = [(site, options[min(attempt, len(options) - 1)]) for site, options in choices if options]
        instead = {
            site: (node_at(case.plan, site)._replace(inputs=inputs),) for site, inputs in chosen if site is not None
        }
        if instead and len(chosen) == len(choices):
            site, inputs = chosen[0]
            yield Candidate(_in_words(case, site, inputs, len(chosen)), Patch(instead=instead))  # type: ignore[arg-type]


def redeclare(case: Case, finding: Finding) -> Iterator[Candidate]:
    """Declare the tensor that holds the result instead of the one that is declared."""
    about = finding.evidence
    if not isinstance(about, Evidence) or about.places[0].op != "output" or not about.expected:
        return
    device, declared = about.places[0].device, about.tensors[0]
    for tensor in sorted(case.walk.held[device] if case.walk else ()):
        if tensor == declared or not case.is_right(device, tensor, about.expected, about.region):
            continue
        if not is_complete(case, device, tensor):
            continue
        losses, gradients = (
            {
                number: held._replace(tensor=tensor)
                for number, held in enumerate(outputs)
                if (held.device, held.tensor) == (device, declared)
            }
            for outputs in (case.plan.losses, case.plan.gradients)
        )
        sentence = f"declare {case.name(tensor)} instead of {case.name(declared)} on rank {device}"
        yield Candidate(sentence, Patch(losses=losses, gradients=gradients))
        return


def own_microbatch(case: Case, finding: Finding) -> Iterator[Candidate]:
    """Take every input from the microbatch that a call runs for."""
    if finding.code != "wrong-input" or isinstance(finding.evidence, Evidence):
        return
    programs = {
        device: tuple(call._replace(crossed=()) for call in program)
        for device, program in enumerate(case.plan.programs)
        if any(call.crossed for call in program)
    }
    if programs:
        devices = ", ".join(map(str, programs))
        yield Candidate(f"every segment reads its own microbatch on ranks {devices}", Patch(programs=programs))


def _pairs(about: Evidence) -> list[tuple[Place, int]]:
    """Each node at fault once, with the tensor."""
    return list(dict(zip(about.places, about.tensors, strict=False)).items())


def _inputs(
    case: Case, place: Place, tensor: int, due: Sequence[Bases], region: Region
) -> tuple[Site | None, list[tuple[int, ...]]]:
    """The node at a place that reads `tensor`, and what it may read instead: every input that is due."""
    for site in case.named_nodes(place.device, place.op, place.name):
        node = node_at(case.plan, site)
        if tensor not in node.inputs or len(node.inputs) != len(due):
            continue
        columns = [
            _holders(case, place.device, found, expected, region if found == tensor else ())
            for found, expected in zip(node.inputs, due, strict=True)
        ]
        if not all(columns):
            return site, []
        options = [
            tuple(column[min(attempt, len(column) - 1)] for column in columns)
            for attempt in range(max(map(len, columns)))
        ]
        return site, [inputs for inputs in options if inputs != node.inputs]
    return None, []


def _holders(case: Case, device: int, tensor: int, expected: Bases, region: Region) -> list[int]:
    """The tensors that hold what is due, the one that is read first; it stays where nothing can be said."""
    value = case.held(device, tensor) if tensor != ABSENT else ()
    if value is None:
        return [tensor]
    where = value[0].region if value else region
    if not expected:
        return [tensor if not value else ABSENT]
    if value and case.is_right(device, tensor, expected, where):
        return [tensor]
    regions = [where] if tensor == ABSENT else [case.plan.tensors[tensor].region, where]
    held = case.walk.held[device] if case.walk else {}
    found = [
        other
        for wanted in dict.fromkeys(regions)
        for other in sorted(held)
        if wanted and not case.is_accumulator(other) and case.is_right(device, other, expected, wanted)
    ]
    return list(dict.fromkeys(found))


def is_complete(case: Case, device: int, tensor: int) -> bool:
    """Whether a tensor is summed over all microbatches and replicas, where it is a sum over the batch."""
    value = case.held(device, tensor) or ()
    plan = case.plan
    return not (
        (plan.microbatches > 1 and unreduced(value, case.bases, OVER_MICROBATCHES, ""))
        or (plan.replicas > 1 and unreduced(value, case.bases, OVER_REPLICAS, ""))
    )


def _in_words(case: Case, site: Site, inputs: tuple[int, ...], places: int) -> str:
    node, device = node_at(case.plan, site), case.plan.segments[site.segment].device
    changed = [k for k in range(len(inputs)) if inputs[k] != node.inputs[k]]
    more = f", and alike at {places - 1} more places" if places > 1 else ""
    if len(changed) == 2 and {inputs[k] for k in changed} == {node.inputs[k] for k in changed}:
        return f"exchange inputs {changed[0]} and {changed[1]} of {case.named(site)} on rank {device}{more}"
    wires = ", ".join(f"input {k} from {_tensor(case, device, inputs[k])}" for k in changed)
    return f"{wires} in {case.named(site)} on rank {device}{more}"


def _tensor(case: Case, device: int, tensor: int) -> str:
    if tensor == ABSENT:
        return "nothing"
    maker = case.maker(device, tensor)
    return f"{case.name(tensor)} ({case.named(maker)})" if maker else case.name(tensor)
