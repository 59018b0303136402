"""In which part of the model a single-device node stands: "layers.0", "norm".

Plans name weights, not layers. A node that reads a weight stands in that weight's part. Any other stands where its
nearest weights before and behind it stand; between two parts, a node that joins a part's result with something
older (a residual sum) ends that part, and what follows it begins the next.
"""

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from verdict.graph import WEIGHT
from verdict.lineage import Reference

_NUMBERED = re.compile(r"(?:^|\.)\d+(?=\.|$)")


class Modules(NamedTuple):
    """names: for each single-device node, its part of the model, "" where nothing tells.

    alike: for each, a label that the nodes at the same spot of other layers have too.
    """

    names: tuple[str, ...]
    alike: tuple[tuple[object, ...], ...]


def module_of(weight: str) -> str:
    """The part of the model that a weight's name tells: up to its first number, or its first word."""
    numbered = _NUMBERED.search(weight)
    return weight[: numbered.end()] if numbered else weight.split(".", maxsplit=1)[0]


def modules_of(reference: Reference) -> Modules:
    """The part of the model of every single-device node."""
    own = _own(reference)
    order = {name: rank for rank, name in enumerate(dict.fromkeys(name for name in own if name))}
    before, behind = _before(reference, own, order), _behind(reference, own, order)
    names: list[str] = []
    joined: set[int] = set()
    for index, partner in enumerate(reference.partners):
        if partner.meaning.is_gradient:
            names.append(_of_forward(reference, index, names))
            continue
        read = {reference.bases[base].node for value in partner.inputs for base in value} - {-1}
        names.append(_between(index, read, before, behind, joined))
    return Modules(tuple(names), _alike(reference, names))


def _own(reference: Reference) -> list[str]:
    """For each node the part of the weight that it reads, "" for none."""
    plan = reference.plan
    weights = {base: plan.logicals[k].name for k, base in reference.given.items() if plan.logicals[k].kind == WEIGHT}
    return [
        next((module_of(weights[base]) for value in partner.inputs for base in value if base in weights), "")
        for partner in reference.partners
    ]


def _before(reference: Reference, own: Sequence[str], order: Mapping[str, int]) -> list[str]:
    """For each node the last part that it, or anything before it, reads a weight of."""
    found: list[str] = []
    for partner, name in zip(reference.partners, own, strict=True):
        nodes = (reference.bases[base].node for value in partner.inputs for base in value)
        earlier = [found[node] for node in nodes if node >= 0 and found[node]]
        found.append(name or max(earlier, key=order.__getitem__, default=""))
    return found


def _behind(reference: Reference, own: Sequence[str], order: Mapping[str, int]) -> list[str]:
    """For each forward node the first part that it, or any forward node behind it, reads a weight of."""
    found = list(own)
    for index in range(len(own) - 1, -1, -1):
        partner = reference.partners[index]
        if partner.meaning.is_gradient or not found[index]:
            continue
        for base in (base for value in partner.inputs for base in value):
            node = reference.bases[base].node
            if node >= 0 and not own[node] and not (found[node] and order[found[node]] <= order[found[index]]):
                found[node] = found[index]
    return found


def _between(index: int, read: set[int], before: Sequence[str], behind: Sequence[str], joined: set[int]) -> str:
    """The part of a forward node. `joined`: the nodes between two parts that are, or follow, the end of the first."""
    first, then = before[index], behind[index]
    if first == then or not then:
        return first
    if not first:
        return then
    inside = any(before[node] == behind[node] for node in read)
    after_end = any(node in joined for node in read)
    if (inside and len(read) > 1 and not after_end) or after_end:
        joined.add(index)
    if after_end:
        return then
    if inside and len(read) > 1:
        return first
    return then if not _NUMBERED.search(first) else f"{first} or {then}"


def _of_forward(reference: Reference, index: int, names: Sequence[str]) -> str:
    partner = reference.partners[index]
    forward = partner.inputs[partner.signature.grads :]
    found = reference.by_inputs.get((partner.signature.op.removesuffix(".grad"), forward), ())
    return names[found[0]] if found and found[0] < index else ""


def _alike(reference: Reference, names: Sequence[str]) -> tuple[tuple[object, ...], ...]:
    counts: dict[tuple[str, str], int] = defaultdict(int)
    found: list[tuple[object, ...]] = []
    for partner, name in zip(reference.partners, names, strict=True):
        key = (name, partner.signature.op)
        counts[key] += 1
        spot = (counts[key],) if name else (partner.signature,)
        found.append((_NUMBERED.sub("*", name), partner.signature.op, *spot))
    return tuple(found)
