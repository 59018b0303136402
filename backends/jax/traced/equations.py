"""The equations of a traced program, one after the other, as lines of HLO text."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from verdict.backends.jax.traced.collectives import COLLECTIVES, gathered, sliced
from verdict.backends.jax.traced.text import (
    BODIES,
    CALLS,
    ELEMENTWISE,
    SAME,
    Refused,
    Spec,
    Text,
    Value,
    dtype_of,
    spec_of,
)


class Walk:
    """A walk through one program. literal: the class of operands that are numbers."""

    def __init__(self, text: Text, literal: Any) -> None:
        self._text = text
        self._literal = literal
        self._inside = False

    def made(self, jaxpr: Any, constants: Sequence[Any], given: Sequence[Value]) -> list[Value]:
        """What a jaxpr makes of values."""
        known: dict[Any, Value] = dict(zip(jaxpr.invars, given, strict=True))
        known |= {var: self._text.constant(array) for var, array in zip(jaxpr.constvars, constants, strict=True)}
        for equation in jaxpr.eqns:
            operands = [self._read(atom, known) for atom in equation.invars]
            self._text.at(equation)
            made = self._equation(equation, operands)
            for var, value in zip(equation.outvars, made, strict=True):
                self._require_like(equation, value, var.aval)
            known.update(zip(equation.outvars, made, strict=True))
        return [self._read(atom, known) for atom in jaxpr.outvars]

    def _require_like(self, equation: Any, value: Value, due: Any) -> None:
        """What is written has the shape and the type that jax says."""
        sizes = map(self._text.mesh.size, spec_of(value))
        shape = tuple(n * parts for n, parts in zip(value.shape, sizes, strict=True))
        if shape != tuple(due.shape) or value.dtype != dtype_of(due.dtype):
            made = f"{dtype_of(due.dtype)}{list(due.shape)}"
            raise Refused(f"{equation.primitive.name} makes {made}, which is written as {value.dtype}{list(shape)}")

    def _read(self, atom: Any, known: Mapping[Any, Value]) -> Value:
        if isinstance(atom, self._literal):
            return self._text.constant(np.asarray(atom.val, dtype=atom.aval.dtype))
        return known[atom]

    def _equation(self, equation: Any, operands: list[Value]) -> Sequence[Value]:
        name, params = equation.primitive.name, equation.params
        if name == "shard_map":
            return self._sharded(params, operands)
        if name in SAME:
            return operands
        if name in CALLS:
            body = next(params[key] for key in BODIES if key in params)
            return self.made(getattr(body, "jaxpr", body), getattr(body, "consts", ()), operands)
        if name in COLLECTIVES:
            return COLLECTIVES[name](self._text, params, operands)
        if name in CONTROL:
            return CONTROL[name](self, params, self._all(operands))
        if not self._inside and name in ELEMENTWISE:
            alike = {(each.shape, spec_of(each)) for each in operands if each.shape}
            if len(alike) == 1:
                ((_, spec),) = alike
                return [each._replace(spec=spec) for each in self._primitive(equation, operands)]
        return self._primitive(equation, self._all(operands))

    def _all(self, operands: Sequence[Value]) -> list[Value]:
        """Values of which each device holds all; inside of shard_map all of its own."""
        return [gathered(self._text, each) for each in operands]

    def _whole(self, body: Any, given: Sequence[Value]) -> list[Value]:
        """What the body of a loop or branch makes, whole as what goes round it is: a shard_map hands on parts."""
        return self._all(self.made(body.jaxpr, body.consts, given))

    def _primitive(self, equation: Any, operands: Sequence[Value]) -> list[Value]:
        """What jax lowers a primitive to."""
        shapes = [(each.shape, atom.aval.dtype) for each, atom in zip(operands, equation.invars, strict=True)]
        try:
            text, results = self._text.lower(equation, shapes)
        except Exception:  # whatever jax says of a primitive that it does not lower by itself
            return self._unknown(equation, operands)
        made = [Value("", tuple(each.shape), dtype_of(each.dtype)) for each in results]
        return self._text.embedded(text, operands, made)

    def _unknown(self, equation: Any, operands: Sequence[Value]) -> list[Value]:
        """Values of which nothing is known, and the name of what makes them."""
        target = f'custom_call_target="jax primitive {equation.primitive.name}"'
        return [
            self._text.line("custom-call", operands, var.aval.shape, dtype_of(var.aval.dtype), target)
            for var in equation.outvars
        ]

    def _sharded(self, params: Mapping[str, Any], operands: Sequence[Value]) -> list[Value]:
        mesh, text = params["mesh"], self._text
        sizes = dict(mesh.shape)
        if self._inside or set(params.get("newly_manual_axes", params.get("manual_axes", sizes))) != set(sizes):
            raise Refused("a shard_map within another, or over some axes alone, has no meaning here")
        text.use(sizes)
        given = [
            sliced(text, each, specs(spec, len(each.shape)))
            for each, spec in zip(operands, params["in_specs"], strict=True)
        ]
        self._inside = True
        body = params["jaxpr"]
        own = [each._replace(spec=()) for each in given]
        made = self.made(getattr(body, "jaxpr", body), getattr(body, "consts", ()), own)
        self._inside = False
        return [
            each._replace(spec=specs(spec, len(each.shape)))
            for each, spec in zip(made, params["out_specs"], strict=True)
        ]

    def _scan(self, params: Mapping[str, Any], operands: Sequence[Value]) -> list[Value]:
        text, length = self._text, params["length"]
        body, consts, carried = params["jaxpr"], params["num_consts"], params["num_carry"]
        of_rows = [var.aval for var in body.jaxpr.outvars[carried:]]
        begin = text.constant(_int(0))
        rows = [_zeros(text, (length, *aval.shape), dtype_of(aval.dtype)) for aval in of_rows]
        state = [begin, *operands, *rows]

        def turn(now: list[Value]) -> list[Value]:
            count, given, stacked = now[0], now[1 : 1 + len(operands)], now[1 + len(operands) :]
            one, zero = text.constant(_int(1)), text.constant(_int(0))
            at = count
            if params["reverse"]:
                at = text.line("subtract", (text.constant(_int(length - 1)), count), (), "s32")
            taken = [_row(text, each, at, zero) for each in given[consts + carried :]]
            made = self._whole(body, [*given[: consts + carried], *taken])
            written = [_written(text, *each, at, zero) for each in zip(stacked, made[carried:], strict=True)]
            after = text.line("add", (count, one), (), "s32")
            kept = [*given[:consts], *made[:carried], *given[consts + carried :]]
            return [after, *kept, *written]

        def goes_on(now: list[Value]) -> Value:
            return text.line("compare", (now[0], text.constant(_int(length))), (), "pred", "direction=LT")

        ends = self._while(state, goes_on, turn)
        return [*ends[1 + consts : 1 + consts + carried], *ends[1 + len(operands) :]]

    def _loop(self, params: Mapping[str, Any], operands: Sequence[Value]) -> list[Value]:
        of_cond, of_body = params["cond_nconsts"], params["body_nconsts"]
        constants, carried = of_cond + of_body, len(operands) - of_cond - of_body
        condition, body = params["cond_jaxpr"], params["body_jaxpr"]

        def turn(now: list[Value]) -> list[Value]:
            made = self._whole(body, [*now[of_cond:constants], *now[constants:]])
            return [*now[:constants], *made]

        def goes_on(now: list[Value]) -> Value:
            return self._whole(condition, [*now[:of_cond], *now[constants:]])[0]

        return self._while(list(operands), goes_on, turn)[len(operands) - carried :]

    def _while(self, state: list[Value], goes_on: Callable[[list[Value]], Value],
               turn: Callable[[list[Value]], Sequence[Value]]) -> list[Value]:  # fmt: skip
        text, types = self._text, [each.type for each in state]
        body, condition = text.computation(state, turn), text.condition(state, goes_on)
        begin = text.tuple_line("tuple", ", ".join(f"%{each.name}" for each in state), types)
        attrs = f"condition=%{condition}, body=%{body}"
        return text.elements(text.tuple_line("while", f"%{begin}", types, attrs), state)

    def _branch(self, params: Mapping[str, Any], operands: Sequence[Value]) -> list[Value]:
        text, given = self._text, operands[1:]
        types = [each.type for each in given]
        made: list[Value] = []

        def branch(body: Any) -> str:
            def make(now: list[Value]) -> list[Value]:
                made[:] = self._whole(body, now)
                return made

            return text.computation(given, make)

        names = [branch(each) for each in params["branches"]]
        state = text.tuple_line("tuple", ", ".join(f"%{each.name}" for each in given), types)
        inside = ", ".join([f"%{operands[0].name}", *[f"%{state}"] * len(names)])
        attrs = f"branch_computations={{{', '.join(f'%{name}' for name in names)}}}"
        return text.elements(text.tuple_line("conditional", inside, [each.type for each in made], attrs), made)


CONTROL: Mapping[str, Callable[[Walk, Mapping[str, Any], Sequence[Value]], list[Value]]] = {
    "scan": Walk._scan,
    "while": Walk._loop,
    "cond": Walk._branch,
}


def specs(spec: Any, rank: int) -> Spec:
    """Which axes cut each dimension, out of a PartitionSpec."""
    parts = [() if part is None else (part,) if isinstance(part, str) else tuple(part) for part in spec]
    return (*parts, *((),) * (rank - len(parts)))


def _int(number: int) -> Any:
    return np.asarray(number, dtype=np.int32)


def _zeros(text: Text, shape: tuple[int, ...], dtype: str) -> Value:
    zero = text.line("constant", (), (), dtype, literal="false" if dtype == "pred" else "0")
    return text.line("broadcast", (zero,), shape, dtype, "dimensions={}")


def _row(text: Text, array: Value, at: Value, zero: Value) -> Value:
    shape = array.shape[1:]
    sizes = ",".join(map(str, (1, *shape)))
    starts = (array, at, *(zero for _ in shape))
    row = text.line("dynamic-slice", starts, (1, *shape), array.dtype, f"dynamic_slice_sizes={{{sizes}}}")
    return text.line("reshape", (row,), shape, array.dtype)


def _written(text: Text, array: Value, row: Value, at: Value, zero: Value) -> Value:
    shaped = text.line("reshape", (row,), (1, *row.shape), row.dtype)
    starts = (array, shaped, at, *(zero for _ in row.shape))
    return text.line("dynamic-update-slice", starts, array.shape, array.dtype)
