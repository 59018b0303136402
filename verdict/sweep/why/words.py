"""Words for nodes, ranks and elements."""

from collections.abc import Iterable, Sequence

import numpy as np

from verdict import words
from verdict.graph import ONCE_A_STEP, Node, spelled
from verdict.graph.lockstep import attribute
from verdict.graph.sources import cited_in, in_short
from verdict.sweep.elements import Block, Ids, Kind
from verdict.sweep.flow import CONCATENATE, PIECE, REDUCTIONS, SUM, Step
from verdict.sweep.why.scene import Scene
from verdict.sweep.why.siblings import Instance, Siblings

SPOKEN = {
    SUM: "sum", PIECE: "piece", CONCATENATE: "concatenation", "~mean": "mean", "~max": "maximum", "~min": "minimum"
}  # fmt: skip
REDUCING = ("all_reduce", "reduce_scatter", "reduce")
"""Collectives that sum what ranks put in, or reduce it otherwise."""
MOST_RUNS = 6
"""How many runs of ranks are named; dots stand for the others."""


def ranks_text(ranks: Iterable[int]) -> str:
    """Ranks, runs of them in short."""
    return words.ranks_text(sorted(set(ranks)), "-", MOST_RUNS)


def places_text(scene: Scene, instances: Sequence[Instance]) -> str:
    """Ranks, and the microbatches where there are several."""
    text = ranks_text(rank for rank, _ in instances)
    microbatches = sorted({m for _, m in instances if m != ONCE_A_STEP})
    if scene.parallel.microbatches > 1 and microbatches:
        text += f", microbatch{'es' if len(microbatches) > 1 else ''} " + ", ".join(map(str, microbatches))
    return text


def node_text(scene: Scene, step: Step) -> str:
    """A parallel step: its operator and name."""
    return called(operator_text(scene, step), step.place.name)


def called(operator: str, name: str) -> str:
    """An operator and the name of its node; the name alone where it cites a line of a program, since it tells both."""
    return f"{operator} {name}" if cited_in(name) is None else in_short(name)


def operator_text(scene: Scene, step: Step) -> str:
    """The operator of a step, as its plan has it."""
    if not step.op.startswith("~"):
        return step.op
    node = collective(scene, step)
    return node.op if node is not None else SPOKEN.get(step.op, step.op[1:])


def entered(scene: Scene, step: Step) -> list[int]:
    """The ranks that put something into the collective of which a step is part, in the order of the group."""
    node = collective(scene, step)
    if node is None:
        return [step.place.rank]
    plan = scene.parallel
    start = step.place.rank // plan.devices * plan.devices
    across = bool(attribute(node, "replicas"))
    replicas = range(0, plan.ranks, plan.devices) if across else (start,)
    return [first + device for first in replicas for device in attribute(node, "ranks") or ()]


def collective(scene: Scene, step: Step) -> Node | None:
    """The communication node of a plan of which a step is part."""
    if not step.op.startswith("~"):
        return None
    named = scene.collectives.get((step.place.rank % scene.parallel.devices, step.place.name), ())
    reducing = step.op in REDUCTIONS.values()
    fitting = (node for node in named if (node.op in REDUCING) == reducing or node.op == "reduce_scatter")
    return next(fitting, named[-1] if named else None)


def node_line(scene: Scene, step: Step) -> str:
    """A parallel step in one line."""
    return _line(operator_text(scene, step), step)


def single_line(scene: Scene, number: int) -> str:
    """A single-device step in one line."""
    step = scene.one.steps[number]
    return _line(step.op, step)


def owner_lines(scene: Scene, names: Sequence[str]) -> tuple[str, ...]:
    """Names of single-device nodes as lines; what is a line already, and what is given, as it is."""
    lines = {in_short(step.place.name): _line(step.op, step) for step in scene.one.steps}
    return tuple(dict.fromkeys(lines.get(name, name) for name in names))


def attributes_text(step: Step, names: Sequence[str]) -> str:
    """Some attributes of a step, as its plan has them."""
    attrs = step.stated
    return ", ".join(f"{name}={attrs[name]!r}" if name in attrs else f"no {name}" for name in names)


def _line(op: str, step: Step) -> str:
    own = {} if step.op.startswith("~") else step.stated
    attrs = " ".join(f"{key}={value!r}" for key, value in sorted(own.items()))
    return called(op, step.place.name) + (f" {attrs}" if attrs else "")


def elements_text(scene: Scene, ids: Ids) -> str:
    """Which single-device elements these are."""
    blocks = scene.elements.blocks_of(ids)
    numbers = [block.constant for block in blocks if block.kind is Kind.CONSTANT]
    if len(numbers) == len(blocks) > 2:
        return f"numbers from {min(numbers)} to {max(numbers)}"
    if len(blocks) > 2:
        return "elements of " + ", ".join(dict.fromkeys(_owner(scene, b.kind, b.owner) for b in blocks[:3])) + ", ..."
    parts = []
    for block in blocks:
        if block.kind is Kind.CONSTANT:
            parts.append(str(block.constant))
            continue
        inside = ids[(ids >= block.start) & (ids < block.start + int(np.prod(block.shape, dtype=np.int64)))]
        places = np.unravel_index(inside.ravel() - block.start, block.shape) if block.shape else ()
        box = tuple((int(axis.min()), int(axis.max()) + 1) for axis in places)
        full = box == tuple((0, size) for size in block.shape)
        region = "" if full else spelled(box)
        parts.append(_made(scene, block) + region)
    return " and ".join(parts)


def _made(scene: Scene, block: Block) -> str:
    """What elements are of: of a node of several outputs that one, where the plan has a name for it."""
    names = scene.outputs.get(block.owner, ()) if block.kind is Kind.SINGLE else ()
    return names[block.output] if block.output < len(names) else _owner(scene, block.kind, block.owner)


def owners(scene: Scene, ids: Ids) -> tuple[str, ...]:
    """The single-device nodes or given tensors of which these are elements, without constants."""
    found = (b for b in scene.elements.blocks_of(ids) if b.kind is not Kind.CONSTANT)
    return tuple(dict.fromkeys(_owner(scene, block.kind, block.owner) for block in found))


def _owner(scene: Scene, kind: Kind, owner: int) -> str:
    if kind is Kind.GIVEN:
        return scene.single.logicals[owner].name
    if kind is Kind.CONSTANT:
        return "constants"
    return in_short(scene.one.steps[owner].place.name) if kind is Kind.SINGLE else "a parallel value"


def readers_text(scene: Scene, siblings: Siblings, position: int = 0) -> str:
    """What reads the values of these steps: the first reader of each, or that they are declared outputs."""
    names: dict[str, None] = {}
    for number in siblings.steps.values():
        for value in scene.step(number).outputs[position : position + 1]:
            for reader in scene.readers.get(value, ()):
                step = scene.step(reader)
                names["the declared output" if step.place.name == "declared outputs" else node_text(scene, step)] = None
            names.update((f"the declared {r.what}", None) for r in scene.other.results if r.value == value)
    return " and ".join(list(names)[:2]) or "nothing"


def maker_text(scene: Scene, value: int) -> str:
    """The step that makes a value that is none of the single-device plan's."""
    maker = scene.maker.get(value)
    return f"what {node_text(scene, scene.step(maker))} makes" if maker is not None else "what is given"
