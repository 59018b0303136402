"""view: the same elements in row-major order, other dimensions. The gradient is the view back.

(2, 3, 32) -> (2, 3, 4, 8)    the last dimension is (h, d): x[b, s, 8 h + d] = y[b, s, h, d]
(4, 6)     -> (6, 4)          only the slowest and the fastest factor 2 are common; what lies between
                              is WHOLE on each side and is never reduced
"""

from collections.abc import Sequence
from math import gcd, prod

from verdict.errors import ShapeError
from verdict.graph import Shape
from verdict.ops.rule import Array, Atom, Attributes, Axes, Dim, Law, OpRule, Scale
from verdict.ops.shapes import arity, is_integer, known, make_axes
from verdict.ops.types import like_first


class _Side:
    """The dimensions of one side of a view, while common factors are taken off their ends."""

    def __init__(self, shape: Shape) -> None:
        self.left = [(place, size) for place, size in enumerate(shape) if size > 1]
        self.slow: list[list[str]] = [[] for _ in shape]
        self.fast: list[list[str]] = [[] for _ in shape]

    def take(self, end: int, factor: int, name: str) -> None:
        """Give the atom `name` to the first (end 0) or the last (end -1) dimension that is left."""
        place, size = self.left[end]
        (self.fast[place].insert(0, name) if end else self.slow[place].append(name))
        self.left[end] = (place, size // factor)
        if size == factor:
            del self.left[end]

    def dims(self) -> tuple[Dim, ...]:
        return tuple((*slow, *fast) for slow, fast in zip(self.slow, self.fast, strict=True))


def factor(source: Shape, target: Shape) -> Axes:
    """The common atoms of two shapes with equally many elements.

    Both sides' slowest dimensions share their greatest common divisor as one atom, and so on from the slow
    end, then from the fast end. Dimensions left without a common factor are atoms of their own, WHOLE; so are all
    where there are no elements.
    """
    if not prod(source):
        return _apart(source, target)
    sides = (_Side(source), _Side(target))
    atoms: list[Atom] = []
    for end in (0, -1):
        while all(side.left for side in sides):
            common = gcd(*(side.left[end][1] for side in sides))
            if common == 1:
                break
            atoms.append(Atom(f"v{len(atoms)}", common, Law.EACH, 2))
            for side in sides:
                side.take(end, common, atoms[-1].name)
    for side, label in zip(sides, ("x", "y"), strict=True):
        while side.left:
            place, size = side.left[0]
            atoms.append(Atom(f"{label}{place}", size, Law.WHOLE, size))
            side.take(0, size, atoms[-1].name)
    return make_axes(atoms, (sides[0].dims(),), (sides[1].dims(),))


def _apart(source: Shape, target: Shape) -> Axes:
    """Every dimension an atom of its own."""
    shapes = (("x", source), ("y", target))
    sides = [[Atom(f"{side}{k}", n, Law.WHOLE, n) for k, n in enumerate(shape)] for side, shape in shapes]
    read, written = (tuple((atom.name,) for atom in atoms) for atoms in sides)
    return make_axes([*sides[0], *sides[1]], (read,), (written,))


def _axes(shapes: Sequence[Shape], attrs: Attributes) -> Axes:
    known("view", attrs, ("size",))
    arity("view", shapes, 1)
    (shape,), size = shapes, attrs.get("size")
    if not isinstance(size, tuple) or not all(is_integer(length) for length in size):
        raise ShapeError(f"view: size is {size}, it must be a tuple of integers")
    if size.count(-1) > 1 or any(length < -1 for length in size):
        raise ShapeError(f"view: size {size} must not be negative, but for at most one -1")
    elements, given = prod(shape), prod(length for length in size if length != -1)
    if -1 in size and not given:
        raise ShapeError(f"view: size {size} does not say what -1 is, as there are no elements")
    if (elements % given if given else elements) or (-1 not in size and elements != given):
        raise ShapeError(f"view: {shape} has {elements} elements, which do not fit into size {size}")
    return factor(shape, tuple(elements // given if length == -1 else int(length) for length in size))


def _forward(inputs: Sequence[Array], attrs: Attributes) -> tuple[Array, ...]:
    return (inputs[0].reshape(attrs["size"]),)


def _gradient(inputs: Sequence[Array], grads: Sequence[Array], attrs: Attributes) -> tuple[Array | None, ...]:
    return (grads[0].reshape(inputs[0].shape),)


def _reduce(attrs: Attributes, scale: Scale) -> Attributes:
    return {**attrs, "size": scale.outputs[0]}


RULES = (
    OpRule(
        "view",
        _axes,
        _forward,
        _gradient,
        reduce=_reduce,
        linear=frozenset({0}),
        moves=True,
        local=frozenset({"size"}),
        views=True,
        attributes=("size",),
        formula="y = x in row-major order, with dimensions size",
        source="torch.Tensor.view",
        types=like_first,
    ),
)
