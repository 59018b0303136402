"""Messages that are taken for each other: a rank reads what it got in one of them where that of another is due."""

from collections.abc import Iterator
from dataclasses import replace

from verdict.graph import ABSENT, Node
from verdict.graph.lockstep import RECV, SEND, attribute
from verdict.ops import FACTS, RULES
from verdict.sweep.why.mend import State
from verdict.sweep.why.scene import Scene, close
from verdict.sweep.why.search import Cause
from verdict.sweep.why.words import called, elements_text

OTHERS = frozenset({"wrong-slice", "wrong-input"})
"""Codes of reading another value than is due."""


def as_messages(scene: Scene, cause: Cause) -> Cause:
    """The cause, told of the messages where what a correction wires in is what came in others of the same rank."""
    fix, reads = cause.fix, cause.fix.change.reads
    ranks = {rank for _, rank in reads}
    if fix.code not in OTHERS or len(ranks) != 1 or fix.change.values or not _are_exchanged(scene, cause.before, cause):
        return cause
    (rank,) = ranks
    step = scene.step(fix.at.steps[fix.instances[0]])
    device = rank % scene.parallel.devices
    node = next(_received(scene, device, step.place.name), None)
    (value, _), due = next(iter(reads.items()))
    has, wanted = cause.before.look(scene, value), scene.look(due)
    if node is None or has is None or wanted is None:
        return cause
    got, missing = elements_text(scene, has), elements_text(scene, wanted)
    peer = attribute(node, "peer")
    sends = next((n.name for n in _nodes(scene, peer) if (n.op, attribute(n, "peer")) == (SEND, device)), "")
    title = f"{called(node.op, node.name)} on rank {rank} gets {got} where {missing} is due, and the other way round"
    others = (f"the same would be mended by another order of {called(SEND, sends)} on rank {peer}",) if sends else ()
    told = fix._replace(
        code="wrong-order",
        title=title,
        at=fix.at._replace(name=node.name),
        notes=(f"that shows where it is read: {fix.title}", *others),
        help="receive in the order in which the peer sends",
        edits=tuple,
    )
    return replace(cause, fix=told)


def _are_exchanged(scene: Scene, state: State, cause: Cause) -> bool:
    """Whether other ranks made what is read, and all that is due is read somewhere else."""
    reads = cause.fix.change.reads
    makers = [(scene.maker.get(value), rank) for value, rank in reads]
    if len(reads) < 2 or any(maker is None or scene.step(maker).place.rank == rank for maker, rank in makers):
        return False
    held = [arrays for value, _ in reads if (arrays := state.arrays(value)) is not None]
    return all(any(close(due, arrays) for arrays in held) for due in reads.values())


def _received(scene: Scene, device: int, name: str) -> Iterator[Node]:
    """The receives whose messages the nodes of a name read, as they came or moved."""
    nodes = list(_nodes(scene, device))
    makers = {tensor: node for node in nodes for tensor in node.outputs}
    for reader in (node for node in nodes if node.name == name):
        waiting = list(reader.inputs)
        while waiting:
            node = makers.get(waiting.pop(0))
            if node is None:
                continue
            if node.op == RECV:
                yield node
            elif _hands_on(node):
                waiting.extend(tensor for tensor in node.inputs if tensor != ABSENT)


def _hands_on(node: Node) -> bool:
    rule = RULES.get(node.op)
    return FACTS.copies(node.op, len(node.inputs), len(node.outputs)) or (rule is not None and rule.moves)


def _nodes(scene: Scene, device: int) -> Iterator[Node]:
    return (node for one in scene.parallel.segments if one.device == device for node in one.nodes)
