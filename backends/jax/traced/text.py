"""HLO text while it is written: values, the mesh, computations."""

import re
from collections.abc import Callable, Sequence
from itertools import product
from math import prod
from typing import Any, NamedTuple

import numpy as np

DTYPES = {
    **{"bool": "pred", "bfloat16": "bf16", "float16": "f16", "float32": "f32", "float64": "f64"},
    **{f"int{bits}": f"s{bits}" for bits in (8, 16, 32, 64)},
    **{f"uint{bits}": f"u{bits}" for bits in (8, 16, 32, 64)},
}
SAME = frozenset(
    {"pvary", "pcast", "pbroadcast", "reshard", "sharding_constraint", "copy", "copy_p", "stop_gradient", "mesh_cast"}
    | {"optimization_barrier", "layout_constraint"}
)
"""Primitives that hand on their operands."""
CALLS = frozenset(
    {"jit", "pjit", "closed_call", "core_call", "custom_jvp_call", "custom_vjp_call", "remat", "checkpoint", "remat2"}
)
BODIES = ("jaxpr", "call_jaxpr", "fun_jaxpr")
ELEMENTWISE = frozenset(
    {"add", "add_any", "sub", "mul", "div", "max", "min", "neg", "exp", "log", "tanh", "sqrt", "rsqrt", "integer_pow"}
    | {"logistic", "select_n", "convert_element_type", "eq", "ne", "lt", "le", "gt", "ge", "sign", "abs", "square"}
)
"""Primitives that work element by element: done on parts where all operands have the same parts."""
_HEAD = re.compile(r"(ENTRY )?%?([\w.\-]+) (\(.*\) -> .*)?\{\s*")
"""The line that a computation begins with."""
Spec = tuple[tuple[str, ...], ...]
Lower = Callable[[Any, Sequence[Any]], tuple[str, Sequence[Any]]]
"""An equation and the shapes of its operands -> a module, and the shapes of its results."""


class Refused(Exception):
    """Why there is no text: a clause."""


class Value(NamedTuple):
    """A value of a block: its name, what one device holds, and, outside of shard_map, of which part."""

    name: str
    shape: tuple[int, ...]
    dtype: str
    spec: Spec = ()

    @property
    def type(self) -> str:
        """As HLO writes it."""
        return f"{self.dtype}[{','.join(map(str, self.shape))}]"


class Mesh:
    """Devices by their places along named axes."""

    def __init__(self, sizes: dict[str, int]) -> None:
        self.sizes = sizes
        self.count = prod(sizes.values())

    def place(self, device: int, axes: Sequence[str]) -> int:
        """Where a device is along axes, the first of which counts most."""
        at = dict(zip(self.sizes, np.unravel_index(device, tuple(self.sizes.values())), strict=True))
        number = 0
        for axis in axes:
            number = number * self.sizes[axis] + int(at[axis])
        return number

    def size(self, axes: Sequence[str]) -> int:
        """How many places there are along axes."""
        return prod(self.sizes[axis] for axis in axes)

    def groups(self, axes: Sequence[str]) -> list[list[int]]:
        """Devices that differ along axes alone, in the order of their places there."""
        others = [axis for axis in self.sizes if axis not in axes]
        found: dict[int, list[int]] = {}
        for device in range(self.count):
            found.setdefault(self.place(device, others), []).append(device)
        return [sorted(group, key=lambda device: self.place(device, axes)) for group in found.values()]

    def sharding(self, spec: Spec) -> str:
        """As HLO writes it."""
        counts = [self.size(axes) for axes in spec]
        if prod(counts) == 1:
            return "{replicated}"
        tiles: dict[tuple[int, ...], list[int]] = {}
        for device in range(self.count):
            tiles.setdefault(tuple(self.place(device, axes) for axes in spec), []).append(device)
        rest = self.count // prod(counts)
        devices = [device for tile in product(*map(range, counts)) for device in tiles[tile]]
        behind = " last_tile_dim_replicate" if rest > 1 else ""
        sizes = [*counts, rest] if rest > 1 else counts
        return f"{{devices=[{','.join(map(str, sizes))}]{','.join(map(str, devices))}{behind}}}"


class Text:
    """A module while it is written. Blocks are lists of lines, one for each computation."""

    def __init__(self, lower: Lower, where: Callable[[Any], str]) -> None:
        self.done: list[str] = []
        self.mesh = Mesh({})
        self.lower, self.where = lower, where
        self._count = 0
        self._block: list[str] = []
        self._metadata = ""

    def use(self, sizes: dict[str, int]) -> None:
        """The mesh of the program. Raises Refused where it has another one."""
        if self.mesh.sizes and self.mesh.sizes != sizes:
            raise Refused("two meshes have no meaning here")
        self.mesh = Mesh(sizes)

    def fresh(self, word: str) -> str:
        """A name that is nowhere else."""
        self._count += 1
        return f"{re.sub(r'[^A-Za-z0-9_]', '_', word)}.{self._count}"

    def at(self, equation: Any) -> None:
        """What is written from here on belongs to an equation."""
        self._metadata = f'metadata={{op_name="{equation.primitive.name}"{self.where(equation)}}}'

    def line(self, opcode: str, operands: Sequence[Value], shape: Sequence[int], dtype: str, attrs: str = "",
             word: str = "", literal: str | None = None) -> Value:  # fmt: skip
        """One instruction that makes an array."""
        made = Value(self.fresh(word or opcode.replace("-", "_")), tuple(shape), dtype)
        inside = ", ".join(f"%{each.name}" for each in operands) if literal is None else literal
        more = "".join(f", {part}" for part in (attrs, self._metadata) if part)
        self._block.append(f"  %{made.name} = {made.type} {opcode}({inside}){more}")
        return made

    def tuple_line(self, opcode: str, inside: str, types: Sequence[str], attrs: str = "", root: bool = False) -> str:
        """One instruction that makes a tuple; its name."""
        name = self.fresh(opcode)
        more = "".join(f", {part}" for part in (attrs, self._metadata) if part)
        self._block.append(f"  {'ROOT ' * root}%{name} = ({', '.join(types)}) {opcode}({inside}){more}")
        return name

    def elements(self, name: str, values: Sequence[Value]) -> list[Value]:
        """The elements of a tuple, which are like some values."""
        return [
            self._element(f"get-tuple-element(%{name}), index={k}", each) for k, each in enumerate(values)
        ]

    def _element(self, what: str, like: Value) -> Value:
        made = like._replace(name=self.fresh("element"))
        self._block.append(f"  %{made.name} = {made.type} {what}")
        return made

    def computation(self, given: Sequence[Value], make: Callable[[list[Value]], Sequence[Value]]) -> str:
        """A computation of one tuple that makes a tuple; its name."""
        outer, self._block = self._block, []
        name = self.fresh("body")
        state = self.tuple_line("parameter", "0", [each.type for each in given])
        made = make(self.elements(state, given))
        self.tuple_line("tuple", ", ".join(f"%{m.name}" for m in made), [m.type for m in made], root=True)
        self.done.append("\n".join([f"%{name} {{", *self._block, "}"]))
        self._block = outer
        return name

    def condition(self, given: Sequence[Value], make: Callable[[list[Value]], Value]) -> str:
        """A computation of one tuple that makes one truth value; its name."""
        outer, self._block = self._block, []
        name = self.fresh("condition")
        state = self.tuple_line("parameter", "0", [each.type for each in given])
        made = make(self.elements(state, given))
        self._block.append(f"  ROOT %{self.fresh('root')} = {made.type} copy(%{made.name})")
        self.done.append("\n".join([f"%{name} {{", *self._block, "}"]))
        self._block = outer
        return name

    def reducer(self, opcode: str, dtype: str) -> str:
        """A computation of two numbers; its name."""
        name = self.fresh(opcode)
        one, other = (f"  %{side} = {dtype}[] parameter({k})" for k, side in enumerate(("one", "other")))
        self.done.append(f"%{name} {{\n{one}\n{other}\n  ROOT %made = {dtype}[] {opcode}(%one, %other)\n}}")
        return name

    def constant(self, array: Any) -> Value:
        """Numbers that are known."""
        array = np.asarray(array)
        dtype = dtype_of(array.dtype)
        words = [str(each).lower() if dtype == "pred" else str(each) for each in array.reshape(-1)]
        inside = words[0] if array.ndim == 0 else f"{{{', '.join(words)}}}"
        return self.line("constant", (), array.shape, dtype, literal=inside)

    def embedded(self, text: str, operands: Sequence[Value], made: Sequence[Value]) -> list[Value]:
        """What a module makes, whose computations become part of this one."""
        lines = text.splitlines()[1:]
        heads = [found for line in lines if (found := _HEAD.fullmatch(line))]
        names = {head.group(2): self.fresh("part") for head in heads}
        (entry,) = (head.group(2) for head in heads if head.group(1))
        words = "|".join(sorted(map(re.escape, names), key=len, reverse=True))
        pattern = re.compile(rf"(?<![\w.\-])({words})(?![\w.\-])")
        for line in lines:
            plain = re.sub(r", metadata=\{[^}]*\}", "", line).removeprefix("ENTRY ")
            moved = pattern.sub(lambda found: names[found.group(1)], plain)
            is_instruction = " = " in moved and self._metadata and " parameter(" not in moved
            self.done.append(f"{moved}, {self._metadata}" if is_instruction else moved)
        inside, attrs = ", ".join(f"%{each.name}" for each in operands), f"to_apply=%{names[entry]}"
        root = next(line for line in reversed(lines) if line.strip().startswith("ROOT "))
        if not re.search(r"= \(", root):
            return [self.line("call", operands, made[0].shape, made[0].dtype, attrs)]
        return self.elements(self.tuple_line("call", inside, [each.type for each in made], attrs), made)

    def stated(self, parts: Sequence[Spec]) -> str:
        """How the elements of a tuple lie, as an attribute; nothing in a program for one device."""
        shardings = f"{{{', '.join(map(self.mesh.sharding, parts))}}}"
        return f", sharding={shardings}" if self.mesh.count > 1 else ""

    def whole(self, name: str, parameters: Sequence[str], made: Sequence[Value]) -> str:
        """The text of the module."""
        self._metadata = ""
        stated = self.stated([spec_of(value) for value in made]).removeprefix(", ")
        inside, types = ", ".join(f"%{each.name}" for each in made), [each.type for each in made]
        self.tuple_line("tuple", inside, types, stated, root=True)
        head = f"HloModule {re.sub(r'[^A-Za-z0-9_]', '_', name)}, num_partitions={self.mesh.count}\n"
        return "\n".join([head, *self.done, "", "ENTRY %main {", *parameters, *self._block, "}", ""])


def spec_of(value: Value) -> Spec:
    """Which axes cut each dimension."""
    return value.spec or ((),) * len(value.shape)


def dtype_of(dtype: Any) -> str:
    """HLO's word for a type. Raises Refused."""
    if str(dtype) not in DTYPES:
        raise Refused(f"a value of type {dtype} has no meaning here")
    return DTYPES[str(dtype)]
