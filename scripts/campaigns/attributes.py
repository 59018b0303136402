"""Attribute changes: two plans of one node each, equal but for one attribute, at sizes below and above the reduction's.

A question takes an operator (the plan format's own, the gradient of one, or one of ATen), a node of it, enlarges it or
brings dimensions down to one or to nothing, changes one attribute on one side, and asks. A question in ten changes
nothing, and has to be proved.
"""

import json
import math
import random
from collections.abc import Mapping, Sequence
from functools import partial
from itertools import product
from typing import Any, NamedTuple

import numpy as np
import torch

from scripts.campaigns.changes import DOMAINS, changed
from scripts.campaigns.lines import NO_RULE, NONE, Answer, Campaign
from scripts.campaigns.own_cases import COMPLEX, FLOAT, Case, own_case
from scripts.campaigns.plans import answered, judged
from scripts.campaigns.truth import truth
from tests.ops.aten_cases import NODES
from verdict.backends.text import read
from verdict.backends.torch.arguments import operator
from verdict.backends.torch.oracle import nodes
from verdict.comparison import AGREE, CANNOT, Faulty
from verdict.errors import NoRuleError, ShapeError
from verdict.graph import GRAD
from verdict.mutate.judge import Oracle
from verdict.ops import RULES, Axes

LARGE = 61_000
"""More elements than Verdict proves at full size."""
MOST = 150_000
KEPT = 600
"""What rules keep at more elements is as large in the proof as it is in the plan, and not asked about so large."""
NOTHING = "nothing to compare"
"""What Verdict says of a loss that is zero whatever the values are: that is no question."""
NO_GRADIENT = ("sgd", "adam", "adamw", "create_mask", "one_hot")
"""Operators through which nothing is differentiated."""
SCALES = (1.0, 4.0, 30.0)
SECONDS = 20


class Side(NamedTuple):
    """A case, and the shapes and types of what it makes. says: whether some of that is a number other than 0."""

    case: Case
    outputs: tuple[tuple[tuple[int, ...], str] | None, ...]
    says: bool


def campaign(seed: int) -> Campaign:
    """Question n is a change of a random attribute of a random operator."""
    return Campaign("attributes", partial(ask, truth((21, 22, 23), SCALES), seed), SECONDS)


def ask(oracle: Oracle, seed: int, number: int) -> Answer | None:
    """The answer to one question; None where what was drawn cannot be computed, whichever verdict it got."""
    draw = random.Random(f"attributes {seed} {number}")
    case = drawn(draw)
    size = draw.choice(("as it is", "as it is", "large", "large", "large", "ones", "empty"))
    if size != "as it is":
        case = resized(case, size, draw)
    if case is None:
        return None
    one = computed(case)
    if one is None or not one.says:
        return None
    what, other = NONE, one
    if draw.random() > 0.1:
        found = changed(case.op, case.attrs, attributes_of(case.op), draw)
        if found is None:
            return None
        what, attrs = found
        again = computed(case._replace(attrs=attrs))
        if again is None or not _alike(one, again):
            return None
        other = again
    ranges = ignored(one, other)
    texts = {"single.plan": spelled(one, ranges), "parallel.plan": spelled(other, ranges)}
    single, parallel = (read(text.encode(), name) for name, text in texts.items())
    found = judged(single, parallel, oracle)
    nothing = found.verdict == "UNKNOWN" and all(NOTHING in reason for reason in found.reasons)
    if found.oracle == CANNOT or (found.oracle == AGREE and nothing):
        return None
    if found.verdict == "UNKNOWN" and any(map(unruled, (one, other))):
        found = found._replace(outcome=NO_RULE)
    told = answered(found, case.op, f"{size}: {what.split(' ')[0]}", f"{what}: {_told(case)}", lambda: texts)
    return told._replace(pair=(single, parallel))


def unruled(side: Side) -> bool:
    """Whether torch takes these shapes and attributes, and the operator's rule does not."""
    try:
        _axes(side)
    except ShapeError as error:
        return isinstance(error, NoRuleError)
    return False


def attributes_of(op: str) -> tuple[str, ...]:
    """The attributes that an operator may have: of one of torch, as its schema says."""
    known = RULES[op.removesuffix(GRAD)].attributes
    if not op.startswith("aten."):
        return known
    return tuple(name for name in known if name in {argument.name for argument in operator(op)._schema.arguments})


def _told(case: Case) -> str:
    return f"{' '.join(str(list(shape)) for shape, _ in case.inputs)} {dict(case.attrs)}"


def drawn(draw: random.Random) -> Case:
    """A node of a random operator; of own operators every third is a gradient."""
    if draw.random() < 0.5:
        node = draw.choice(NODES)
        arrays = node.inputs(draw.randrange(100))
        inputs = tuple((array.shape, {"f": FLOAT, "i": "int64", "b": "bool"}[array.dtype.kind]) for array in arrays)
        return Case(node.op, inputs, dict(node.attrs))
    case = own_case(draw)
    if draw.random() > 0.35 or case.op in NO_GRADIENT:
        return case
    side = computed(case)
    if side is None or any(made is None or made[1] not in (FLOAT, COMPLEX) for made in side.outputs):
        return case
    grads = tuple(made for made in side.outputs if made is not None)
    return Case(case.op + GRAD, (*grads, *case.inputs), case.attrs)


def resized(case: Case, how: str, draw: random.Random) -> Case | None:
    """The case with some sizes made larger, one or nothing, wherever they stand; None where nothing fits."""
    sizes = sorted({n for shape, _ in case.inputs for n in shape if n > 1})
    for _ in range(12):
        if not sizes:
            return None
        chosen = draw.sample(sizes, draw.randint(1, len(sizes)))
        factor = {n: n * draw.choice((10, 16, 50, 64, 100, 250)) for n in chosen}
        become = factor if how == "large" else dict.fromkeys(chosen, 1 if how == "ones" else 0)
        inputs = tuple((tuple(become.get(n, n) for n in shape), kind) for shape, kind in case.inputs)
        total = sum(math.prod(shape) for shape, _ in inputs)
        if total > MOST or (how == "large" and total < LARGE):
            continue
        numbers = [k for k, v in case.attrs.items() if _sized(v, become) and not k.endswith("_count")]
        for also in product((True, False), repeat=min(len(numbers), 4)):
            moved = {name for name, yes in zip(numbers, also, strict=False) if yes}
            attrs = {k: _mapped(v, become) if k in moved else v for k, v in case.attrs.items()}
            found = Case(case.op, inputs, attrs)
            side = computed(found) if all(DOMAINS[k](v) for k, v in attrs.items() if k in DOMAINS) else None
            if side is not None and (how != "large" or _kept(side) <= KEPT):
                return found
    return None


def _kept(side: Side) -> int:
    """How many elements the rule of a node keeps of the largest tensor that it reads or writes, wherever it is cut."""
    try:
        axes = _axes(side)
    except ShapeError:
        return 0
    least = {atom.name: min(max(atom.least, 2), atom.size) for atom in axes.atoms}
    return max(math.prod(least[name] for dim in dims for name in dim) for dims in (*axes.inputs, *axes.outputs))


def _axes(side: Side) -> Axes:
    op, shapes = side.case.op, [shape for shape, _ in side.case.inputs]
    grads = len(shapes) - len(side.outputs) if op.endswith(GRAD) else 0
    return RULES[op.removesuffix(GRAD)].axes(shapes[grads:], side.case.attrs)


def _sized(value: Any, become: Mapping[int, int]) -> bool:
    if isinstance(value, tuple):
        return any(_sized(item, become) for item in value)
    return isinstance(value, int) and not isinstance(value, bool) and value in become


def _mapped(value: Any, become: Mapping[int, int]) -> Any:
    if isinstance(value, tuple):
        return tuple(_mapped(item, become) for item in value)
    return become[value] if _sized(value, become) else value


def computed(case: Case) -> Side | None:
    """What torch makes of a node; None where it refuses."""
    tensors = [_filled(shape, kind) for shape, kind in case.inputs]
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    try:
        with torch.no_grad():
            if case.op.endswith(GRAD):
                forward = case.op.removesuffix(GRAD)
                count = len(nodes.forward(forward, tensors[1:], case.attrs)) if len(tensors) < 3 else 0
                count = count or _grads(forward, tensors, case.attrs)
                made = nodes.gradient(forward, tensors[count:], tensors[:count], case.attrs)
            else:
                made = nodes.forward(case.op, tensors, case.attrs)
    except (*nodes.REFUSALS, AttributeError, Faulty):
        return None
    finally:
        torch.set_default_dtype(before)
    says = any(y is not None and _says(y) for y in made)
    return Side(case, tuple(None if y is None else (tuple(y.shape), _kind(y)) for y in made), says)


def _says(y: Any) -> bool:
    return bool(((y != 0) & ~y.isnan()).any()) if y.is_floating_point() else y.numel() > 0


def _grads(op: str, tensors: Sequence[Any], attrs: Mapping[str, Any]) -> int:
    """How many of the tensors that a gradient reads are gradients."""
    for count in (1, 2, 3):
        try:
            made = nodes.forward(op, tensors[count:], attrs)
        except nodes.REFUSALS:
            continue
        if [tuple(y.shape) for y in made] == [tuple(g.shape) for g in tensors[:count]]:
            return count
    raise ValueError("no gradient of this node")


def _filled(shape: tuple[int, ...], kind: str) -> Any:
    random_ = np.random.default_rng(7)
    if kind == FLOAT:
        return torch.from_numpy(np.asarray(random_.uniform(0.1, 0.9, shape)))
    if kind == COMPLEX:
        return torch.complex(*(torch.from_numpy(np.asarray(random_.uniform(0.1, 0.9, shape))) for _ in range(2)))
    return torch.zeros(shape, dtype=getattr(torch, kind))


def _kind(y: Any) -> str:
    if y.is_floating_point():
        return FLOAT
    return COMPLEX if y.is_complex() else str(y.dtype).removeprefix("torch.")


def _alike(one: Side, other: Side) -> bool:
    """Whether both make as many outputs, of as many elements each: so that they can be compared."""
    sizes = [[None if made is None else math.prod(made[0]) for made in side.outputs] for side in (one, other)]
    return sizes[0] == sizes[1] and any(sizes[0])


def ignored(*sides: Side) -> tuple[int, int] | None:
    """The range of targets some of which are ignored: those that either side ignores occur, and all classes."""
    named = [side.case.attrs["ignore_index"] for side in sides if "ignore_index" in side.case.attrs]
    sizes = [size for side in sides for shape, _ in side.case.inputs for size in shape]
    return (min(*named, 0), max(*named, *sizes)) if named else None


def spelled(side: Side, ranges: tuple[int, int] | None = None) -> str:
    """A plan that reads the inputs and random weights of all outputs' elements, and makes a loss of the outputs."""
    aten = side.case.op.startswith("aten.") or side.case.op == "constant"
    tensors, lines, sums = [], [], []
    whole = [k for k, (_, kind) in enumerate(side.case.inputs) if kind == "int64"]
    for k, (shape, kind) in enumerate(side.case.inputs):
        tensors.append(f"x{k} input {kind} {list(shape)} origin name")
    for k, made in enumerate(side.outputs):
        if made is None or made[1] == COMPLEX:
            continue
        shape, kind = made
        size = math.prod(shape)
        tensors += [f"y{k} {_kind_of(side.case)} {kind} {list(shape)}", f"w{k} input float32 {[size]} origin name"]
        name = f"y{k}"
        if side.case.op == "create_mask":
            tensors.append(f"e{k} activation float32 {list(shape)}")
            lines.append(f"e{k} = exp({name})")
            name = f"e{k}"
        if kind != FLOAT:
            tensors.append(f"c{k} activation float32 {list(shape)}")
            lines.append(f'c{k} = aten._to_copy({name}) dtype="float32"')
            name = f"c{k}"
        tensors += [f"{at}{k} activation float32 {[size]}" for at in "fm"]
        tensors.append(f"s{k} activation float32 {[] if aten else [1]}")
        lines.append(f"f{k} = {'aten.' if aten else ''}view({name}) size=({size},)")
        lines.append(f"m{k} = {'aten.mul.Tensor' if aten else 'mul'}(f{k}, w{k})")
        lines.append(f"s{k} = aten.sum(m{k})" if aten else f"s{k} = sum(m{k}) dim=None keepdim=False")
        sums.append(f"s{k}")
    total = sums[0]
    for k, more in enumerate(sums[1:]):
        tensors.append(f"t{k} activation float32 {[] if aten else [1]}")
        lines.append(f"t{k} = {'aten.add.Tensor' if aten else 'add'}({total}, {more})")
        total = f"t{k}"
    outputs = ", ".join("-" if made is None or made[1] == COMPLEX else f"y{k}" for k, made in enumerate(side.outputs))
    inputs = ", ".join(f"x{k}" for k in range(len(side.case.inputs)))
    attrs = "".join(f" {name}={_spelled(value)}" for name, value in side.case.attrs.items())
    node = f"{outputs} = {side.case.op}({inputs}){attrs}"
    head = [
        "verdict-plan 1",
        "devices 1",
        *(f"range x{k} {ranges[0]} {ranges[1]}" for k in whole if ranges),
        "tensors",
        *(f"  {tensor}" for tensor in tensors),
        "family 0",
        "segment step",
    ]
    return "\n".join([*head, f"  {node}", *(f"  {line}" for line in lines), "call step 0", f"loss {total}", "end", ""])


def _kind_of(case: Case) -> str:
    return "gradient" if case.op.endswith(GRAD) else "activation"


def _spelled(value: Any) -> str:
    if isinstance(value, str):
        return json.dumps(value)
    if isinstance(value, tuple):
        return "(" + "".join(f"{_spelled(item)}, " for item in value).rstrip(" ") + ")" if value else "()"
    return str(value)
