"""What a node makes as large as it says itself: elements that are alike along an axis that nothing it reads has.

A rank that works on its share of the batch makes a mask, or expands one, for that share. Which part of the
single-device tensor that is, its numbers do not say: it is taken for the part that the rank has of its inputs. Any part
is right where elements are alike; that is a claim as any other, which the stage proves.
"""

from collections.abc import Callable, Mapping
from math import prod

from verdict.graph import Attrs, Interval, Node, Region, Shape
from verdict.lineage.meaning import Meaning
from verdict.ops import RULES, Dim, Law, Scale

Piece = Callable[[int, int], Interval | None]
"""Which part of so many elements has the size that is asked for; None where none is known."""


def own_intervals(
    meaning: Meaning, read: tuple[Region | None, ...], made: tuple[Shape | None, ...], piece: Piece
) -> dict[str, Interval]:
    """The parts of the index axes of its outputs that a node has by itself, where it makes outputs of these shapes.

    made: None where nobody wants the output. Empty where it makes all of them, and where nothing can be said.
    """
    if meaning.axes is None or meaning.is_gradient:
        return {}
    bound = {name for dims, region in zip(meaning.read, read, strict=True) if region for dim in dims for name in dim}
    free = {atom.name for atom in meaning.axes.atoms if atom.law is Law.EACH} - bound
    found: dict[str, Interval] = {}
    for dims, shape in zip(meaning.written, made, strict=True):
        if shape is None or len(shape) != len(dims):
            continue
        for dim, size in zip(dims, shape, strict=True):
            own = [name for name in dim if name in free]
            part = _part(dim, own[0], size, meaning.sizes, piece) if len(own) == 1 else None
            if part is not None and found.setdefault(own[0], part) != part:
                return {}
    return {name: part for name, part in found.items() if part != (0, meaning.sizes[name])}


def _part(dim: Dim, own: str, size: int, sizes: Mapping[str, int], piece: Piece) -> Interval | None:
    """The part of an axis of which a dimension of so many elements is a product."""
    beside = prod(sizes[name] for name in dim if name != own)
    if not beside or size % beside:
        return None
    length = size // beside
    return (0, length) if length == sizes[own] else piece(sizes[own], length)


def makes_alike(meaning: Meaning, attrs: Attrs, own: Mapping[str, Interval]) -> bool:
    """Whether the attributes of a node that reads nothing are the single-device ones, at the sizes of a part."""
    if meaning.rule is None:
        return False
    bounds = {name: own.get(name, (0, size)) for name, size in meaning.sizes.items()}
    sizes = {name: stop - start for name, (start, stop) in bounds.items()}
    made = tuple(tuple(prod(sizes[name] for name in dim) for dim in dims) for dims in meaning.written)
    points = {name: {at: at - start for at in (start, stop)} for name, (start, stop) in bounds.items()}
    due = meaning.rule.reduce(dict(meaning.signature.attrs), Scale(bounds, sizes, points, (), made))
    return dict(due) == dict(attrs)


def differs_in_size(node: Node, attrs: Attrs) -> bool:
    """Whether attributes are those of a node but for what differs from rank to rank because each has its own share."""
    rule = RULES.get(node.op)
    local = rule.local if rule is not None else frozenset()
    return [pair for pair in node.attrs if pair[0] not in local] == [pair for pair in attrs if pair[0] not in local]
