"""Random values for what a plan is given: inputs, weights and buffers, one array for each logical tensor.

Ids are drawn from the rows of the table that they are looked up in, and repeat; where an operator ignores an id, some
are that one. Numbers are uniform: small enough
that softmax does not saturate, so that a wrong value upstream of it shows downstream. A complex tensor has a
trailing axis of length two.
"""

from collections.abc import Mapping
from fractions import Fraction
from math import isqrt, prod

import numpy as np

from verdict.concrete.small import Small, signature
from verdict.graph import ABSENT, BUFFER, GRAD, INPUT, WEIGHT, Logical, Node, Plan, Shape
from verdict.ops import RULES, Array, OpRule

RANGE = {INPUT: 1.0, WEIGHT: 0.5, BUFFER: 1.0}
"""Values of each kind lie between minus and plus this."""
IGNORED = 0.3
"""The share of ids that are ignored, where some are."""
GRID = 64
"""Exact values are multiples of 1 / GRID."""


def random_values(plan: Plan, small: Small, seed: int, exact: bool) -> dict[int, Array]:
    """An array for every logical tensor of the single-device `plan` that is given."""
    random = np.random.default_rng(seed)
    rows = _rows(plan, small)
    gain = _gain(plan, small)
    values: dict[int, Array] = {}
    for index, logical in enumerate(plan.logicals):
        if logical.kind not in RANGE:
            continue
        shape = small.logicals[index]
        if is_integer(logical):
            values[index] = random.integers(0, rows.get(index, (2, None))[0], shape)
            ignored = rows.get(index, (2, None))[1]
            if ignored is not None:
                values[index][random.random(shape) < IGNORED] = ignored
        else:
            bound = RANGE[logical.kind] / (gain if logical.kind == WEIGHT and len(shape) == 1 else 1)
            values[index] = _numbers(random, (*shape, 2) if is_complex(logical) else shape, bound, exact)
    return values


def _gain(plan: Plan, small: Small) -> int:
    """About by how much what is divided by its root mean square is too large at small shapes.

    There the mean divides fewer elements by their full number. The weights of norms are drawn smaller by that much.
    """
    found = 1.0
    for node in (node for segment in plan.segments for node in segment.nodes if _averages(node)):
        count = small.attrs[signature(node)].get("count")
        if count and node.outputs[0] != ABSENT:
            kept = prod(small.shape(node.inputs[0])) / prod(small.shape(node.outputs[0]))
            found = max(found, count / kept)
    return isqrt(int(found))


def _averages(node: Node) -> bool:
    rule = RULES.get(node.op)
    return rule is not None and bool(rule.average_of)


def is_complex(logical: Logical) -> bool:
    """Whether the arrays of a tensor have a trailing axis of (real, imaginary)."""
    return logical.dtype.startswith("complex")


def is_integer(logical: Logical) -> bool:
    """Whether a tensor holds integers."""
    return logical.dtype.startswith(("int", "uint", "bool"))


def _numbers(random: np.random.Generator, shape: Shape, bound: float, exact: bool) -> Array:
    if not exact:
        return random.uniform(-bound, bound, shape)
    steps = random.integers(-GRID, GRID, shape, endpoint=True)
    numbers = np.frompyfunc(lambda step: Fraction(int(step), GRID) * Fraction(bound), 1, 1)(steps)
    return np.asarray(numbers, dtype=object)


def _rows(plan: Plan, small: Small) -> Mapping[int, tuple[int, int | None]]:
    """For each integer input, the rows of the smallest table that it is looked up in, and the id that all ignore who
    look something up by it.
    """
    source = {k: t.logical for k, t in enumerate(plan.tensors) if plan.kind(k) == INPUT}
    rows: dict[int, tuple[int, int | None]] = {}
    for segment in plan.segments:
        for node in segment.nodes:
            rule = RULES.get(node.op)
            if rule is None or node.op.endswith(GRAD):
                continue
            for position, atom in rule.indices.items():
                if position < len(node.inputs) and node.inputs[position] in source:
                    index, attrs = source[node.inputs[position]], small.attrs[signature(node)]
                    found = _stop(node, rule, atom, small)
                    ignored = attrs.get("ignore_index")
                    known, before = rows.get(index, (found, ignored))
                    rows[index] = min(known, found), ignored if ignored == before else None
            if rule.moves and len(node.inputs) == 1 and node.inputs[0] in source:
                source.update((tensor, source[node.inputs[0]]) for tensor in node.outputs if tensor != ABSENT)
    return rows


def _stop(node: Node, rule: OpRule, atom: str, small: Small) -> int:
    """Where the elements end that an id of a node names."""
    attrs = small.attrs[signature(node)]
    if attrs.get("stop") is not None:
        return int(attrs["stop"])
    axes = rule.axes([small.shape(tensor) for tensor in node.inputs], attrs)
    return int(attrs.get("start", 0)) + next((each.size for each in axes.atoms if each.name == atom), 1)
