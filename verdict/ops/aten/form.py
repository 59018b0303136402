"""The form of an ATen operator's rule: its signature bound to names, one shape rule, one forward, no gradient.

Inputs are the tensor arguments in the order of the schema, lists taken apart. An attribute is a non-tensor argument
under the schema's name; one that has the schema's default need not be there. `absent` names tensor arguments that
are None (`indices.0` is an element of a list), `<list>_count` is the length of a list, its Nones included. A number
where the schema has a tensor is an attribute of that name. Backward operators are operators of their own, so there
are no gradients here.

Arrays come in three kinds: floats, exact numbers, and terms among exact numbers. Constants that were made without
an input (arange, full) are exact; `alike` brings what meets in one operator to one kind.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np

from verdict.errors import NoRuleError, ShapeError
from verdict.graph import Shape
from verdict.ops import elements, numbers
from verdict.ops.domain import Integers
from verdict.ops.rule import Array, Atom, Attributes, Axes, Law, OpRule, Scale
from verdict.ops.shapes import known, make_axes
from verdict.ops.types import Types, like_first, of_floats, promoted
from verdict.outcome import Assumption

REQUIRED = object()
"""The default of an attribute that has none."""
MOST_ROOT = 1024.0
"""The greatest float that is looked at as a root; its inverse is the smallest."""
ROOT_DIGITS = 7
"""Of how many digits a number is whose root is looked at: by chance, one in a hundred million random floats is one."""
PLACEMENT = ("layout", "device", "pin_memory", "memory_format", "non_blocking")
"""Attributes that say where and how elements are stored: without influence on values."""
ROUNDED = Assumption(
    "constants-rounded",
    "an irrational constant (an angle of a position, say) is the 64-bit float nearest to it, the same on both sides",
)


class Arguments:
    """What a node reads: tensors (arrays or shapes; a tuple for a list, None where absent) and attributes, by name.

    given: all tensors that are there, in the order of the inputs.
    """

    __slots__ = ("attrs", "given", "name", "tensors")

    def __init__(self, name: str, tensors: Mapping[str, Any], attrs: Mapping[str, Any]) -> None:
        self.name = name
        self.tensors = tensors
        self.attrs = attrs
        self.given = _given(tensors)

    def __getitem__(self, name: str) -> Any:
        """The tensor of this name where there is one, else the attribute."""
        found = self.tensors.get(name)
        return self.attrs.get(name) if found is None else found

    def misfit(self, problem: str) -> ShapeError:
        """The error that this node's shapes or attributes do not fit."""
        return ShapeError(f"{self.name}: {problem}")

    def unruled(self, problem: str) -> NoRuleError:
        """The error that torch computes this node, and its rule does not."""
        return NoRuleError(f"{self.name}: {problem}")


class Many(tuple[Any, ...]):
    """The elements of a list argument (a shape is a plain tuple)."""

    __slots__ = ()


def _given(tensors: Mapping[str, Any]) -> tuple[Any, ...]:
    found: list[Any] = []
    for value in tensors.values():
        if isinstance(value, Many):
            found.extend(each for each in value if each is not None)
        elif value is not None:
            found.append(value)
    return tuple(found)


Shapes = Callable[[Arguments], Axes | tuple[Any, ...]]
"""Axes; or the output shape, or a tuple of them: then every dimension is WHOLE."""
Forward = Callable[[Arguments], Array | tuple[Array | None, ...]]
Known = Callable[[Arguments], Mapping[int, Integers]]
"""By their places, which integers inputs or outputs may be."""


def operator(
    name: str,
    tensors: str,
    attributes: Mapping[str, Any],
    shapes: Shapes,
    forward: Forward,
    formula: str,
    *,
    moves: bool = False,
    linear: Sequence[int] = (),
    together: tuple[int, ...] = (),
    indices: Mapping[int, str] | None = None,
    domain: Known | None = None,
    within: Known | None = None,
    reduce: Callable[[Attributes, Scale], Attributes] | None = None,
    assumptions: tuple[Assumption, ...] = (),
    types: Types | None = None,
) -> OpRule:
    """The rule of one operator. tensors: its tensor arguments; `weight?` may be None, `tensors*` is a list.

    types: where they are not said, what only moves elements of one tensor keeps its type.
    """
    signature = tuple(tensors.split())
    lists = tuple(f"{word[:-1]}_count" for word in signature if word.endswith("*"))
    names = (*attributes, "absent", *lists, *PLACEMENT)

    bind = _binding(name, signature, attributes)

    def axes(given: Sequence[Shape], attrs: Attributes) -> Axes:
        known(name, attrs, names)
        found = shapes(bind(given, attrs))
        return found if isinstance(found, Axes) else whole(given, found)

    def run(inputs: Sequence[Array], attrs: Attributes) -> tuple[Array | None, ...]:
        made = forward(bind(inputs if moves else alike(inputs), attrs))
        return made if isinstance(made, tuple) else (made,)

    def gradient(inputs: Sequence[Array], grads: Sequence[Array], attrs: Attributes) -> tuple[Array | None, ...]:
        return tuple(None for _ in inputs)

    def bound(
        known_of: Known | None,
    ) -> Callable[[Sequence[Shape], Attributes], Mapping[int, Integers]] | None:
        return known_of and (lambda given, attrs: known_of(bind(given, attrs)))

    rule = OpRule(
        name,
        axes,
        run,
        gradient,
        within=bound(within),
        moves=moves,
        linear=frozenset(linear),
        together=together,
        indices=indices or {},
        assumptions=assumptions,
        types=types or (_moved(signature) if moves else of_floats),
        attributes=names,
        formula=formula,
        source=f"torch.ops.{name}",
    )
    known_domain = bound(domain)
    rule = rule if known_domain is None else replace(rule, domain=known_domain)
    return rule if reduce is None else replace(rule, reduce=reduce)


def _moved(signature: Sequence[str]) -> Types:
    """The types of what moves elements of these tensors."""
    if len(signature) != 1:
        return of_floats
    return promoted if signature[0].endswith("*") else like_first


def _binding(
    name: str, signature: tuple[str, ...], defaults: Mapping[str, Any]
) -> Callable[[Sequence[Any], Attributes], Arguments]:
    """What puts inputs and attributes under the names of an operator: what does not depend on them is found once."""
    required = tuple(key for key, default in defaults.items() if default is REQUIRED)
    usual = {key: None if default is REQUIRED else default for key, default in defaults.items()}
    keys = _single(signature)

    def bind(values: Sequence[Any], attrs: Attributes) -> Arguments:
        for key in required:
            if key not in attrs:
                raise ShapeError(f"{name}: needs the attribute {key}")
        known_values = usual | {key: attrs[key] for key in attrs if key in usual} if attrs else usual
        if len(values) == len(keys) and "absent" not in attrs and attrs.keys().isdisjoint(keys):
            return Arguments(name, dict(zip(keys, values, strict=True)), known_values)
        return Arguments(name, _tensors(name, signature, values, attrs), known_values)

    return bind


def _tensors(name: str, signature: tuple[str, ...], values: Sequence[Any], attrs: Attributes) -> dict[str, Any]:
    """The tensors by name, where some are absent, or lists."""
    left = list(values)
    absent = {*attrs.get("absent", ()), *attrs}
    single = sum(not word.endswith("*") and word.rstrip("?") not in absent for word in signature)
    tensors: dict[str, Any] = {}
    for word in signature:
        key = word.rstrip("?*")
        if word.endswith("*"):
            length = attrs.get(f"{key}_count", len(left) - single + len(tensors))
            places = [f"{key}.{k}" in absent for k in range(length)]
            if places.count(False) > len(left):
                raise ShapeError(f"{name}: {key} has {length} tensors, found {len(left)}")
            tensors[key] = Many(None if gone else left.pop(0) for gone in places)
        elif key in absent or (word.endswith("?") and not left):
            tensors[key] = None
        elif not left:
            raise ShapeError(f"{name}: takes {len(signature)} inputs, found {len(values)}")
        else:
            tensors[key] = left.pop(0)
    if left:
        raise ShapeError(f"{name}: takes {len(signature)} inputs, found {len(values)}")
    return tensors


def _single(signature: tuple[str, ...]) -> tuple[str, ...]:
    """The names of the tensors that an operator takes, where it takes no list of them; else none."""
    return tuple(word.rstrip("?") for word in signature) if not any(word.endswith("*") for word in signature) else ()


def whole(inputs: Sequence[Shape], found: tuple[Any, ...]) -> Axes:
    """Axes of which every dimension is an atom of its own, computed along and never reduced."""
    outputs = found if found and isinstance(found[0], tuple) else (found,)
    atoms: list[Atom] = []

    def dims(prefix: str, shape: Shape) -> tuple[tuple[str, ...], ...]:
        atoms.extend(Atom(f"{prefix}{k}", size, Law.WHOLE, size) for k, size in enumerate(shape))
        return tuple((f"{prefix}{k}",) for k in range(len(shape)))

    read = tuple(dims(f"x{k}_", shape) for k, shape in enumerate(inputs))
    written = tuple(dims(f"y{k}_", shape) for k, shape in enumerate(outputs))
    return make_axes(atoms, read, written)


def alike(arrays: Sequence[Array]) -> list[Array]:
    """The arrays of one node in one kind: floats where some are floats and none has terms, else objects."""
    if all(x.dtype.kind == "f" for x in arrays):
        return list(arrays)
    if any(numbers.has_terms(x) for x in arrays):
        return [numbers.each(exactly, x) for x in arrays]
    if any(x.dtype.kind == "f" for x in arrays):
        return [x.astype(np.float64) if numbers.of_objects(x) else x for x in arrays]
    return [x.astype(object) for x in arrays]


def exactly(value: Any) -> Any:
    """A float as the Fraction that it is written as; anything else as it is."""
    if isinstance(value, float | np.floating) and math.isfinite(value):
        return numbers.rational(float(value))
    return int(value) if isinstance(value, np.integer) else value


def constant(like: Array, value: Any) -> Any:
    """A number of an attribute as an element for arrays like `like`; a truth value is 1 or 0.

    Among terms a float that is but for rounding the root of a whole number, or its inverse, is that root: DTensor
    divides a norm that n ranks hold by n ** 0.5, and the n squares must add up.
    """
    if isinstance(value, bool | int):
        return int(value)
    square = root_of(value) if numbers.of_objects(like) else None
    term = None if square is None else next((x for x in like.flat if not elements.is_number(x)), None)
    return numbers.scalar(like, value) if term is None else term.number(square).power(Fraction(1, 2))


@lru_cache(maxsize=1024)
def root_of(value: float) -> Fraction | None:
    """The number of which `value` is the irrational root but for rounding: whole, the inverse of a whole one, or of few
    digits.
    """
    if not 1 / MOST_ROOT < value < MOST_ROOT:
        return None
    square = value * value
    number = Fraction(round(square)) if value > 1 else Fraction(1, round(1 / square))
    near = next((each for each in (number, Fraction(f"{square:.{ROOT_DIGITS - 1}e}")) if _is_root(value, each)), None)
    return None if near is None or isinstance(elements.power(near, Fraction(1, 2)), Fraction) else near


def _is_root(value: float, number: Fraction) -> bool:
    near = math.sqrt(number)
    return abs(near - value) <= 2 * math.ulp(near)


def dtype_kind(dtype: Any) -> str:
    """'float', 'int', 'bool' or 'complex', of the name of an element type; '' where there is none."""
    word = str(dtype or "").removeprefix("torch.")
    for kind in ("float", "complex", "bool"):
        if kind in word:
            return kind
    return "int" if "int" in word else ""
