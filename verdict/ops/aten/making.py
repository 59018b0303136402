"""Tensors that are made of nothing but attributes, or of the shape of a tensor.

Their elements are exact: integers, Fractions, minus infinity. `*_like` and `new_*` read a tensor only for its shape.
A tensor that is not initialised (`empty`, `new_empty_strided`) holds no number until it is written over: its
elements are "not a number", and what is computed from one of them is not known.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from verdict.graph import Shape
from verdict.ops import integers, numbers
from verdict.ops.aten.form import REQUIRED, Arguments, dtype_kind, operator
from verdict.ops.aten.shaping import same, sized
from verdict.ops.rule import Array, Atom, Axes, Law, OpRule
from verdict.ops.shapes import is_number, make_axes, numbered
from verdict.ops.types import cast

DTYPE = {"dtype": None}


def exact(value: Any) -> Any:
    """A number of an attribute, exactly as it is written."""
    if isinstance(value, bool | int):
        return int(value)
    return numbers.rational(value) if math.isfinite(value) else float(value)


def filled(shape: Shape, value: Any) -> Array:
    """An array of one exact number."""
    number = exact(value)
    return np.full(shape, number, dtype=np.int64 if isinstance(number, int) else object)


def _count(args: Arguments) -> int:
    start, end, step = (args[key] for key in ("start", "end", "step"))
    if not all(is_number(value) for value in (start, end, step)) or step == 0:
        raise args.misfit(f"start, end and step are {start}, {end} and {step}, they must be numbers, step not 0")
    if dtype_kind(args["dtype"]) in {"int", "bool"} and not all(float(value).is_integer() for value in (start, step)):
        raise args.misfit(f"start and step are {start} and {step}, which are no integers as {args['dtype']} asks for")
    return max(0, math.ceil(Fraction(exact(end) - exact(start)) / Fraction(exact(step))))


def _arange(args: Arguments) -> Array:
    start, step = exact(args["start"]), exact(args["step"])
    values = [start + k * step for k in range(_count(args))]
    whole = all(isinstance(value, int) for value in values)
    made = np.empty(len(values), dtype=np.int64 if whole else object)
    made[:] = values
    return integers.held(integers.wrapped(made, str(args["dtype"])), str(args["dtype"])) if whole else made


def _linspace_shape(args: Arguments) -> Shape:
    steps = args["steps"]
    if not isinstance(steps, int) or steps < 0:
        raise args.misfit(f"steps is {steps}, it must be a number of elements")
    if args["dtype"] is not None and not args["dtype"].startswith("float"):
        raise args.unruled(f"dtype is {args['dtype']}, what lies between two numbers is known of floating-point types")
    return (int(steps),)


def _linspace(args: Arguments) -> Array:
    start, end, steps = exact(args["start"]), exact(args["end"]), int(args["steps"])
    made = np.empty(steps, dtype=object)
    made[:] = [start + Fraction(end - start) * Fraction(k, max(1, steps - 1)) for k in range(steps)]
    return made


def _made(
    name: str, attributes: Mapping[str, Any], shape: str, value: Callable[[Arguments], Any], formula: str
) -> OpRule:
    """A tensor of one value, of the shape in an attribute."""
    rule = operator(
        name,
        "",
        {**attributes, **DTYPE},
        lambda args: _alike_axes(args, args[shape]),
        lambda args: filled(args[shape], _cast(args, value(args))),
        formula,
        types=cast,
        moves=True,
        reduce=sized(shape),
    )
    return replace(rule, zero=_makes_zeros(value), local=frozenset({shape}))


def _alike_axes(args: Arguments, size: Any) -> Axes:
    """Elements that are all alike, whatever is read: dimension by dimension a tensor of its own."""
    atoms, dims = numbered("d", tuple(size))
    every, read = list(atoms), []
    for position, shape in enumerate(args.given):
        unused, own = numbered(f"x{position}_", shape)
        every.extend(replace(atom, law=Law.UNUSED) for atom in unused)
        read.append(own)
    return make_axes(every, read, (dims,))


def _makes_zeros(value: Callable[[Arguments], Any]) -> Callable[[Mapping[str, Any]], bool]:
    """Whether the one value is zero, by the attributes of a node."""
    return lambda attrs: bool(value is _zero or (value is _value and attrs.get("fill_value") == 0))


def _cast(args: Arguments, value: Any) -> Any:
    kind = dtype_kind(args["dtype"])
    if isinstance(value, float) and math.isnan(value):
        return value
    if kind == "bool":
        return int(bool(value))
    if kind == "int":
        whole = integers.cast(np.asarray([value], dtype=object), str(args["dtype"]))
        return int(whole[0])
    return integers.held(np.asarray([exact(value)], dtype=object), str(args["dtype"]))[0]


def _like(name: str, attributes: Mapping[str, Any], value: Callable[[Arguments], Any], formula: str) -> OpRule:
    """A tensor of one value, of the shape of another."""
    rule = operator(
        name,
        "self",
        {**attributes, **DTYPE},
        same,
        lambda args: filled(args["self"].shape, _cast(args, value(args))),
        formula,
        types=cast,
    )
    return replace(rule, shape_only=frozenset({0}), zero=_makes_zeros(value))


def _new(name: str, attributes: Mapping[str, Any], value: Callable[[Arguments], Any], formula: str) -> OpRule:
    """A tensor of one value, of the shape in an attribute; what it reads has no influence."""
    rule = operator(
        name,
        "self",
        {"size": REQUIRED, **attributes, **DTYPE},
        lambda args: _alike_axes(args, args["size"]),
        lambda args: filled(args["size"], _cast(args, value(args))),
        formula,
        types=cast,
        reduce=sized("size"),
    )
    return replace(rule, shape_only=frozenset({0}), zero=_makes_zeros(value), local=frozenset({"size"}))


def _triangle(upper: bool) -> Callable[[Arguments], Array]:
    def forward(args: Arguments) -> Array:
        x = args["self"]
        row, column = np.indices(x.shape[-2:])
        kept = column - row >= args["diagonal"] if upper else column - row <= args["diagonal"]
        return np.where(kept, x, np.zeros((), dtype=np.int64))

    return forward


def _matrix(args: Arguments) -> Axes:
    shape = args["self"]
    if len(shape) < 2:
        raise args.misfit(f"{shape} has no rows and columns")
    atoms = [Atom(f"d{k}", n, Law.EACH if k < len(shape) - 2 else Law.WHOLE, n) for k, n in enumerate(shape)]
    dims = tuple((atom.name,) for atom in atoms)
    return make_axes([replace(atom, least=1) if atom.law is Law.EACH else atom for atom in atoms], (dims,), (dims,))


def _fill_axes(args: Arguments) -> Axes:
    if args["value"] is None or (isinstance(args["value"], tuple) and args["value"] != ()):
        raise args.misfit("value must be one number")
    atoms, dims = numbered("d", args["self"])
    return make_axes(atoms, (dims, *(() for _ in args.given[1:])), (dims,))


def _fill(args: Arguments) -> Array:
    value = args["value"]
    if isinstance(value, np.ndarray):
        return np.broadcast_to(value, args["self"].shape)
    return filled(args["self"].shape, value)


def _value(args: Arguments) -> Any:
    return args["fill_value"]


def _nothing(args: Arguments) -> float:
    return math.nan


def _zero(args: Arguments) -> int:
    return 0


def _one(args: Arguments) -> int:
    return 1


SIZE = {"size": REQUIRED}
FILL = {"fill_value": REQUIRED}
DIAGONAL = {"diagonal": 0}

RULES: tuple[OpRule, ...] = (
    *(
        operator(
            name,
            "",
            {"start": start, "end": REQUIRED, "step": 1, **DTYPE},
            lambda args: (_count(args),),
            _arange,
            "y[k] = start + k step",
            moves=True,
        )
        for name, start in (("aten.arange", 0), ("aten.arange.start", REQUIRED), ("aten.arange.start_step", REQUIRED))
    ),
    operator(
        "aten.linspace",
        "",
        {"start": REQUIRED, "end": REQUIRED, "steps": REQUIRED, **DTYPE},
        _linspace_shape,
        _linspace,
        "y[k] = start + k (end - start) / (steps - 1)",
        moves=True,
    ),
    _made("aten.full", {**SIZE, **FILL}, "size", _value, "y = fill_value"),
    _made("aten.zeros", SIZE, "size", _zero, "y = 0"),
    _made("aten.ones", SIZE, "size", _one, "y = 1"),
    replace(
        operator(
            "aten.scalar_tensor",
            "",
            {"s": REQUIRED, **DTYPE},
            lambda args: (),
            lambda args: filled((), _cast(args, args["s"])),
            "y = s",
            types=cast,
            moves=True,
        ),
        zero=lambda attrs: bool(attrs.get("s") == 0),
    ),
    _like("aten.full_like", FILL, _value, "y = fill_value"),
    _like("aten.zeros_like", {}, _zero, "y = 0"),
    _like("aten.ones_like", {}, _one, "y = 1"),
    _like("aten.zero", {}, _zero, "y = 0"),
    _new("aten.new_full", FILL, _value, "y = fill_value"),
    _new("aten.new_zeros", {}, _zero, "y = 0"),
    _new("aten.new_ones", {}, _one, "y = 1"),
    *(
        _made(f"aten.{name}", {**SIZE, **layout}, "size", _nothing, "y has no value until it is written over")
        for name, layout in (
            ("empty.memory_format", {}),
            ("empty_strided", {"stride": REQUIRED}),
            ("empty_permuted", {"physical_layout": REQUIRED}),
        )
    ),
    _like("aten.empty_like", {}, _nothing, "y has no value until it is written over"),
    _new("aten.new_empty", {}, _nothing, "y has no value until it is written over"),
    _new("aten.new_empty_strided", {"stride": REQUIRED}, _nothing, "y has no value until it is written over"),
    *(
        replace(
            operator(name, "self value?", {"value": None}, _fill_axes, _fill, "y = value"),
            shape_only=frozenset({0}),
            zero=lambda attrs: bool(attrs.get("value") == 0),
        )
        for name in ("aten.fill.Scalar", "aten.fill.Tensor")
    ),
    operator(
        "aten.triu",
        "self",
        DIAGONAL,
        _matrix,
        _triangle(True),
        "y = x where column - row >= diagonal, else 0",
        linear=(0,),
    ),
    operator(
        "aten.tril",
        "self",
        DIAGONAL,
        _matrix,
        _triangle(False),
        "y = x where column - row <= diagonal, else 0",
        linear=(0,),
    ),
)
