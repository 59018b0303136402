"""An nnScaler plan file becomes a Plan: the story.

What the file does not say is taken on trust and said: how the batch is split, that reducers sum, the seed of
the loss. Data parallel replicas do not appear in the file; nnScaler makes rank r * devices + d run the program
of plan device d with its groups shifted by r * devices (`ModuleCodeGen.scale`).
"""

from collections.abc import Iterator, Sequence

from verdict.backends.apart import apart
from verdict.backends.content import Content
from verdict.backends.nnscaler import unpickle
from verdict.backends.nnscaler.microbatches import Numbering, template
from verdict.backends.nnscaler.nodes import Writer
from verdict.backends.nnscaler.programs import Program, programs
from verdict.backends.nnscaler.records import (
    ExecutionPlan,
    IRAdapter,
    IRSegment,
    MalformedError,
    ModuleCodeGen,
    Record,
    integer,
    integers,
    state,
)
from verdict.backends.nnscaler.runtime import faults, groups
from verdict.backends.nnscaler.tensors import Tensors
from verdict.errors import PlanFileError
from verdict.graph import Held, Plan
from verdict.graph.limits import MOST_RANKS
from verdict.outcome import Assumption

MEMORY_PER_BYTE = 32
"""Bytes of memory for each byte of the file, beside what every reader gets: more than twice what real files need."""
MEMORY_AT_LEAST = 256 << 20
"""Address space granted to the reader. Real files need about 12 bytes for each byte of theirs."""

Mesh = tuple[tuple[str, int], ...]

ASSUMPTIONS = (
    Assumption(
        "batch-split",
        "every rank of replica r takes in microbatch m the (r * microbatches + m)-th equal slice of the batch",
    ),
    Assumption("reducer-sums", "a weight reducer sums gradients over its devices and all replicas, without a factor"),
    Assumption("loss-seed", "the gradient of the loss is 1 in every replica and microbatch"),
    Assumption("backward-as-stated", "autograd runs the backward passes that the file states"),
)


def recognises(head: bytes) -> bool:
    """Whether a file that begins with `head` is an nnScaler plan: a pickle whose first class is nnScaler's."""
    return head[:1] == b"\x80" and b"nnscaler.codegen.module.module" in head[:256]


def read(data: bytes, source: str) -> Plan:
    """The plan in `data`, the whole decompressed file. `source` names it in messages.

    The work is done in a child process; nothing that the file names is imported or called there either. Raises
    PlanFileError for anything but a plan that can be represented; faults of a plan that can be stay in it.
    """
    return apart(lambda _: parse(Content.of(data), source), source, MEMORY_AT_LEAST + MEMORY_PER_BYTE * len(data))


def parse(content: Content, source: str) -> Plan:
    """`read` without a child process; it is left to the caller to free, or to outlive, what it leaves behind."""
    root = unpickle.load(content, source)
    try:
        return _plan(root, source)
    except MalformedError as error:
        problem = str(error)
    except MemoryError:
        problem = "it needs far more memory than its size warrants"
    except (AttributeError, IndexError, KeyError, TypeError, ValueError, RecursionError) as error:
        problem = f"a record is not as nnScaler writes it ({type(error).__name__}: {error})"
    raise PlanFileError(source, problem, "write the plan again with nnScaler")


def _plan(root: object, source: str) -> Plan:
    if type(root) is not ModuleCodeGen:
        raise MalformedError("it holds no plan but something else, and nothing in it was run")
    module = state(root, ModuleCodeGen)
    plan = state(module["execplan"], ExecutionPlan)
    sequences = _sequences(plan["_seq"], module["devices"])
    devices = len(sequences)
    ranks = integer(module["runtime_ndevs"], "the number of devices")
    if ranks > MOST_RANKS:
        raise MalformedError(f"it has {ranks} ranks, at most {MOST_RANKS} are allowed")
    if ranks < devices or ranks % devices:
        raise MalformedError(f"{ranks} devices cannot be replicas of {devices}")
    if module["enable_dp"] is not (ranks > devices):
        switch = "on" if module["enable_dp"] else "off"
        raise MalformedError(f"replicas are switched {switch}, with {ranks} ranks for {devices} devices")
    tensors = Tensors()
    numbering = Numbering(sequences)
    made, segments = programs(sequences, numbering, tensors, Writer(ranks > devices))
    gradients = tuple(held for program in made for held in _gradients(program))
    for held in gradients:
        tensors.claim_whole(held.tensor)
    return Plan(
        source=source,
        format="nnscaler",
        mesh=_mesh(ranks // devices, sequences, numbering),
        devices=devices,
        replicas=ranks // devices,
        microbatches=numbering.count,
        logicals=tuple(tensors.logicals),
        tensors=tuple(tensors.tensors),
        segments=tuple(segments),
        programs=tuple(tuple(program.calls) for program in made),
        losses=tuple(Held(program.device.number, loss) for program in made for loss in program.device.losses.values()),
        gradients=gradients,
        seeds=tuple(sorted(set().union(*(program.seeds for program in made)))),
        assumptions=ASSUMPTIONS,
        faults=tuple(faults(plan, sequences, numbering, made)),
        groups=groups(module),
    )


def _sequences(by_device: object, devices: object) -> dict[int, Sequence[Record]]:
    """The cells of each plan device, in the order of the devices, which must be numbered from 0."""
    numbers = integers(devices, "the devices of the plan")
    if not numbers or numbers != tuple(range(len(numbers))):
        raise MalformedError(f"plan devices {numbers[:8]} that do not count from 0")
    if type(by_device) is not dict or by_device.keys() != set(numbers):
        raise MalformedError("a plan without a program for each of its devices")
    return {number: by_device[number] for number in numbers}


def _gradients(program: Program) -> Iterator[Held]:
    """For each weight of a device that gets a gradient: the tensor that holds it at the end."""
    device = program.device
    for weight, accumulator in device.accumulators.items():
        yield Held(device.number, device.reduced.get(weight, accumulator), weight)


def _mesh(replicas: int, sequences: dict[int, Sequence[Record]], numbering: Numbering) -> Mesh:
    """The axes, for people. Devices that share a forward segment, or talk within one, are one pipeline stage."""
    stage = {device: {device} for device in sequences}
    first: dict[int, int] = {}
    for device, sequence in sequences.items():
        for cell in {id(inner): inner for inner in map(template, sequence)}.values():
            if type(cell) is not IRSegment or numbering.is_backward(cell):
                continue
            joined = {first.setdefault(cell[0]["_id"], device)}
            for node in cell[0]["_nodes"]:
                if type(node) is IRAdapter:
                    joined.update(*(prim[0]["kwargs"].get("ranks", ()) for prim in node[0]["_prims"]))
            for other in joined & stage.keys():
                _join(stage, device, other)
    stages = list({id(members): sorted(members) for members in stage.values()}.values())
    width = len(sequences) // len(stages)
    if sorted(stages) != [list(range(start, start + width)) for start in range(0, len(sequences), width)]:
        return ("dp", replicas), ("device", len(sequences))
    return ("dp", replicas), ("pp", len(stages)), ("tp", width)


def _join(stage: dict[int, set[int]], one: int, other: int) -> None:
    if stage[one] is stage[other]:
        return
    stage[one] |= stage[other]
    for member in stage[other]:
        stage[member] = stage[one]
