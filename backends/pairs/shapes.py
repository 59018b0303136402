"""What the lines of an outline leave open: the shapes of the tensors that its nodes make, by the operators' rules."""

from collections.abc import Mapping, Sequence
from typing import Any

from verdict.backends.text.values import Family, Varied, part, region, value
from verdict.backends.text.words import KINDS, Line
from verdict.errors import ShapeError
from verdict.graph import ACTIVATION, GRADIENT, Logical, Shape, extent
from verdict.graph.effects import ATTRIBUTES
from verdict.graph.lockstep import CHUNK, COMMUNICATION
from verdict.ops import RULES
from verdict.ops.types import is_whole, kind

COPIES = frozenset({*COMMUNICATION, CHUNK, "wait", "identity", "contiguous"})


class Table:
    """The logical tensors of an outline by name."""

    def __init__(self, known: Mapping[str, Logical]) -> None:
        self._known = known
        self._logicals: dict[str, Logical] = {}

    def get(self, name: str) -> Logical | None:
        """The tensor of this name, declared here or in the single-device plan; it then counts as used."""
        if name not in self._logicals and name in self._known:
            self._logicals[name] = self._known[name]
        return self._logicals.get(name)

    def declare(self, line: Line) -> None:
        """`name kind [dtype] [shape]`."""
        name, role = line.name("the name of a tensor"), line.name("a kind")
        dtype = "float32" if line.peek() == "[" else line.name("a dtype")
        if role not in KINDS or name in self._logicals:
            line.fail(f"{name} is declared twice" if name in self._logicals else f"expected a kind, found {role}")
        line.expect("[")
        shape: list[int] = []
        while not line.skip("]"):
            shape.append(line.integer("a size"))
            line.skip(",")
        line.end()
        self.add(Logical(name, tuple(shape), dtype, role))

    def add(self, logical: Logical) -> None:
        """One more."""
        self._logicals[logical.name] = logical

    def used(self) -> tuple[Logical, ...]:
        """All that some line mentions or declares."""
        return tuple(self._logicals.values())


def describe(line: Line, family: Family, table: Table, held: dict[str, Shape]) -> None:
    """Enter into the table what a node makes and no line declares.

    held: the shape that the first device of the family holds of each share, by its label; it grows.
    """
    outputs: list[str] = []
    if line.tokens[1] != "(":
        outputs.append(_mention(line, family, table, held))
        while line.skip(","):
            outputs.append(_mention(line, family, table, held))
        line.expect("=")
    op = line.name("an operator")
    line.expect("(")
    inputs: list[str] = []
    while not line.skip(")"):
        inputs.append(_mention(line, family, table, held))
        line.skip(",")
    attrs: dict[str, Any] = {}
    while line.peek() not in ("", ":"):
        key = line.name("an attribute")
        line.expect("=")
        found = value(line, family)
        if key not in ATTRIBUTES:
            attrs[key] = found.values[0] if isinstance(found, Varied) else found
    if all(name == "-" or name in held for name in outputs):
        return
    unknown = [name for name in inputs if name != "-" and name not in held]
    if unknown:
        line.fail(f"the shape of {unknown[0]} is not known here", "declare it: NAME activation [SHAPE]")
    shapes = _made(line, op, [held.get(name) for name in inputs], len(outputs), attrs)
    lead = table.get(_bare(inputs[0])) if inputs else None
    role = lead.kind if lead and op in COPIES and lead.kind in (ACTIVATION, GRADIENT) else ACTIVATION
    read = [known.dtype if (known := table.get(_bare(name))) else "" for name in inputs]
    for place, (name, shape) in enumerate(zip(outputs, shapes, strict=True)):
        if name == "-" or name in held:
            continue
        dtype = lead.dtype if lead and op in COPIES else _type(op, read, attrs, place)
        table.add(Logical(_bare(name), shape, dtype, GRADIENT if op.endswith(".grad") else role))
        held[name] = shape


def _mention(line: Line, family: Family, table: Table, held: dict[str, Shape]) -> str:
    """The label of a tensor; what the first device holds of it is kept where it is mentioned first."""
    if line.skip("-"):
        return "-"
    label = line.peek()
    name, _, _ = line.label("a tensor")
    logical = table.get(name)
    shape: Shape | None = None
    if line.peek() == "[":
        if logical is None:
            line.fail(f"{name} is in no plan, so it can have no region", f"declare it: {name} activation [SHAPE]")
        found = region(line, family, logical.shape)
        shape = extent(found.values[0] if isinstance(found, Varied) else found)
    if line.peek() == "{":
        part(line, family)
    if logical is not None and label not in held:
        held[label] = logical.shape if shape is None else shape
    return label


def _type(op: str, read: Sequence[str], attrs: Mapping[str, Any], place: int) -> str:
    """The type of an output: integers where the operator can make them of what it reads, else float32."""
    rule = None if op.endswith(".grad") else RULES.get(op)
    found = rule.types([kind(dtype) for dtype in read], attrs) if rule else (None,)
    allowed = {name for name in found[min(place, len(found) - 1)] or () if is_whole(name)}
    if not allowed:
        return "float32"
    return next((dtype for dtype in read if dtype in allowed), min(allowed))


def _bare(label: str) -> str:
    """The name in a label."""
    return label.split("'", maxsplit=1)[0]


def _made(line: Line, op: str, inputs: list[Shape | None], outputs: int, attrs: Mapping[str, Any]) -> list[Shape]:
    given = [shape for shape in inputs if shape is not None]
    if op in COPIES:
        if op == "recv" or not given:
            line.fail("what it receives is not known here", "declare it, or name it as the sender does")
        return [_communicated(op, given[0], attrs)] * outputs
    rule = RULES.get(op.removesuffix(".grad"))
    if rule is None:
        line.fail(f"there is no operator {op}")
    if op.endswith(".grad"):
        return [shape or () for shape in inputs[len(inputs) - outputs :]]
    try:
        return list(rule.axes(given, attrs).output_shapes)
    except ShapeError as error:
        line.fail(error.problem)


def _communicated(op: str, shape: Shape, attrs: Mapping[str, Any]) -> Shape:
    """The shape of what a collective makes of even pieces."""
    count, sizes = len(attrs.get("ranks", (0,))), list(shape)
    if op == "all_gather":
        sizes[attrs["dim"]] *= count
    elif op in ("reduce_scatter", CHUNK):
        sizes[attrs["dim"]] //= count
    elif op == "all_to_all":
        sizes[attrs["split_dim"]] //= count
        sizes[attrs["concat_dim"]] *= count
    return tuple(sizes)
