"""From plain data to a Plan. Every error names the place in the data, what belongs there and what stands there."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, NoReturn, TypeVar

from verdict.backends.text.canonical import FORMAT
from verdict.backends.text.values import DEEPEST
from verdict.backends.text.words import KINDS
from verdict.errors import PlanFileError
from verdict.graph import ABSENT, Attrs, Call, Held, Logical, Node, Plan, Region, Segment, Storage, Tensor, has_effects
from verdict.outcome import Assumption, Finding, Source

_NAME, _VERSION = FORMAT.split()
MOST_ITEMS = 50_000_000
"""How many items all lists may have together, an item of a list that stands in several places counted in each."""

T = TypeVar("T")


def plan_of(content: Any, source: str) -> Plan:
    """The plan whose fields `content` holds. Raises PlanFileError(source) where it does not hold them."""
    return _Reader(source).plan(content)


class _Reader:
    def __init__(self, source: str) -> None:
        self._source = source
        self._items = 0

    def plan(self, content: Any) -> Plan:
        if type(content) is not dict or _NAME not in content:
            self._fail("the file", f"a dict with the key {_NAME}", content)
        if content[_NAME] != int(_VERSION):
            self._fail(_NAME, f"version {_VERSION}", content[_NAME])
        for key in content:
            if key != _NAME and key not in _FIELDS:
                self._fail("the dict", f"the keys {', '.join(_FIELDS)}", key)
        for key in _FIELDS:
            if key not in content and key not in _OPTIONAL:
                raise PlanFileError(self._source, f"the dict has no key {key}")
        plan = Plan(
            source=self._source,
            format=FORMAT,
            **{"mesh": ()} | {key: read(self, key, content[key]) for key, read in _FIELDS.items() if key in content},
        )
        self._check(plan)
        return replace(plan, effects=has_effects(plan.segments, plan.storages))

    def count(self, where: str, value: Any) -> int:
        if self._integer(where, value) < 1:
            self._fail(where, "at least 1", value)
        return int(value)

    def sizes(self, where: str, value: Any) -> tuple[tuple[str, int], ...]:
        return self._each(where, value, self._size)

    def assumptions(self, where: str, value: Any) -> tuple[Assumption, ...]:
        return self._each(where, value, self._assumption)

    def faults(self, where: str, value: Any) -> tuple[Finding, ...]:
        return self._each(where, value, self._fault)

    def groups(self, where: str, value: Any) -> tuple[tuple[int, ...], ...]:
        return self._each(where, value, self.integers)

    def logicals(self, where: str, value: Any) -> tuple[Logical, ...]:
        return self._each(where, value, self._logical)

    def tensors(self, where: str, value: Any) -> tuple[Tensor, ...]:
        return self._each(where, value, self._tensor)

    def segments(self, where: str, value: Any) -> tuple[Segment, ...]:
        return self._each(where, value, self._segment)

    def programs(self, where: str, value: Any) -> tuple[tuple[Call, ...], ...]:
        return self._each(where, value, lambda at, item: self._each(at, item, self._call))

    def held(self, where: str, value: Any) -> tuple[Held, ...]:
        return self._each(where, value, self._held)

    def storages(self, where: str, value: Any) -> tuple[Storage, ...]:
        return self._each(where, value, self._storage)

    def integers(self, where: str, value: Any) -> tuple[int, ...]:
        row = self._row(where, value)
        for item in row:
            self._integer(where, item)
        return row

    def ranges(self, where: str, value: Any) -> tuple[tuple[str, int, int | None], ...]:
        return self._each(where, value, self._range)

    def _range(self, where: str, value: Any) -> tuple[str, int, int | None]:
        name, low, high = self._row(where, value, 3)
        end = None if high is None else self._integer(where, high)
        return self._string(where, name), self._integer(where, low), end

    def sources(self, where: str, value: Any) -> tuple[Source, ...]:
        return self._each(where, value, self._line_of_program)

    def _line_of_program(self, where: str, value: Any) -> Source:
        file, line, text = self._row(where, value, 3)
        return Source(self._string(where, file), self._integer(where, line), text=self._string(where, text))

    def _size(self, where: str, value: Any) -> tuple[str, int]:
        name, size = self._row(where, value, 2)
        return self._string(where, name), self._integer(where, size)

    def _assumption(self, where: str, value: Any) -> Assumption:
        name, text = self._row(where, value, 2)
        return Assumption(self._string(where, name), self._string(where, text))

    def _fault(self, where: str, value: Any) -> Finding:
        code, title, place, help_ = (self._string(where, item) for item in self._row(where, value, 4))
        return Finding(code, title, place, help=help_)

    def _logical(self, where: str, value: Any) -> Logical:
        row = self._row(where, value, 4, 5)
        if row[3] not in KINDS:
            self._fail(where, f"one of the kinds {', '.join(KINDS)}", row[3])
        return Logical(
            self._string(where, row[0]),
            self.integers(where, row[1]),
            self._string(where, row[2]),
            row[3],
            self._value(where, row[4], 0) if len(row) == 5 else None,
        )

    def _tensor(self, where: str, value: Any) -> Tensor:
        row = self._row(where, value, 2, 3)
        part = self._pair(where, row[2]) if len(row) == 3 else (0, 1)
        return Tensor(self._integer(where, row[0]), self._region(where, row[1]), part)

    def _region(self, where: str, value: Any) -> Region:
        return tuple(self._pair(where, item) for item in self._row(where, value))

    def _pair(self, where: str, value: Any) -> tuple[int, int]:
        first, second = self._row(where, value, 2)
        return self._integer(where, first), self._integer(where, second)

    def _segment(self, where: str, value: Any) -> Segment:
        name, device, nodes = self._row(where, value, 3)
        return Segment(self._string(where, name), self._integer(where, device), self._each(where, nodes, self._node))

    def _node(self, where: str, value: Any) -> Node:
        row = self._row(where, value, 4, 5)
        return Node(
            self._string(where, row[0]),
            self.integers(where, row[1]),
            self.integers(where, row[2]),
            self._attrs(where, row[3]),
            self._string(where, row[4]) if len(row) == 5 else "",
        )

    def _attrs(self, where: str, value: Any) -> Attrs:
        pairs = [self._row(where, pair, 2) for pair in self._row(where, value)]
        found = {self._string(where, name): self._value(where, item, 0) for name, item in pairs}
        if len(found) != len(pairs):
            self._fail(where, "each attribute once", value)
        return tuple(sorted(found.items(), key=lambda pair: pair[0]))

    def _value(self, where: str, value: Any, depth: int) -> Any:
        if value is None or type(value) in (int, float, str, bool):
            return value
        if depth == DEEPEST:
            self._fail(where, f"values nested at most {DEEPEST} deep", value)
        return tuple(self._value(where, item, depth + 1) for item in self._row(where, value))

    def _call(self, where: str, value: Any) -> Call:
        row = self._row(where, value, 2, 3)
        crossed = self._row(where, row[2]) if len(row) == 3 else ()
        return Call(
            self._integer(where, row[0]),
            self._integer(where, row[1]),
            tuple(self._pair(where, item) for item in crossed),
        )

    def _held(self, where: str, value: Any) -> Held:
        row = self.integers(where, self._row(where, value, 2, 3))
        return Held(*row)

    def _storage(self, where: str, value: Any) -> Storage:
        device, name, tensors = self._row(where, value, 3)
        return Storage(self._integer(where, device), self._string(where, name), self.integers(where, tensors))

    def _each(self, where: str, value: Any, read: Callable[[str, Any], T]) -> tuple[T, ...]:
        return tuple(read(f"{where}[{at}]", item) for at, item in enumerate(self._row(where, value)))

    def _row(self, where: str, value: Any, *lengths: int) -> tuple[Any, ...]:
        if type(value) not in (list, tuple):
            self._fail(where, "a list", value)
        if lengths and len(value) not in lengths:
            self._fail(where, f"{' or '.join(map(str, lengths))} items", len(value))
        self._items += len(value)
        if self._items > MOST_ITEMS:
            self._fail(where, f"at most {MOST_ITEMS} items in all", "more")
        return tuple(value)

    def _integer(self, where: str, value: Any) -> int:
        if type(value) is not int:
            self._fail(where, "a whole number", value)
        return int(value)

    def _string(self, where: str, value: Any) -> str:
        if type(value) is not str:
            self._fail(where, "a string", value)
        return str(value)

    def _fail(self, where: str, expected: str, found: Any) -> NoReturn:
        plain = found is None or type(found) in (int, float, str, bool)
        shown = repr(found)[:80] if plain else f"a {type(found).__name__}"
        raise PlanFileError(self._source, f"{where}: expected {expected}, found {shown}")

    def _check(self, plan: Plan) -> None:
        """Every number of a device, logical tensor, tensor or segment names one that exists."""
        for at, tensor in enumerate(plan.tensors):
            self._known(f"tensors[{at}]", "logical tensor", tensor.logical, len(plan.logicals))
        for at, segment in enumerate(plan.segments):
            self._known(f"segments[{at}]", "device", segment.device, plan.devices)
            for index, node in enumerate(segment.nodes):
                self._known_tensors(plan, f"segments[{at}][{index}]", *node.inputs, *node.outputs)
        if len(plan.programs) != plan.devices:
            self._fail("programs", f"{plan.devices} programs, one for each device", len(plan.programs))
        for device, program in enumerate(plan.programs):
            for at, call in enumerate(program):
                self._check_call(plan, f"programs[{device}][{at}]", device, call)
        for name, outputs in (("losses", plan.losses), ("gradients", plan.gradients), ("outputs", plan.outputs)):
            for at, held in enumerate(outputs):
                self._known(f"{name}[{at}]", "device", held.device, plan.devices)
                self._known_tensors(plan, f"{name}[{at}]", held.tensor, held.weight)
        self._known_tensors(plan, "seeds", *plan.seeds)
        for at, storage in enumerate(plan.storages):
            self._known(f"storages[{at}]", "device", storage.device, plan.devices)
            self._known_tensors(plan, f"storages[{at}]", *storage.tensors)

    def _check_call(self, plan: Plan, where: str, device: int, call: Call) -> None:
        self._known(where, "segment", call.segment, len(plan.segments))
        if plan.segments[call.segment].device != device:
            self._fail(where, f"a segment of device {device}", call.segment)
        self._known_tensors(plan, where, *(tensor for tensor, _ in call.crossed))

    def _known_tensors(self, plan: Plan, where: str, *numbers: int) -> None:
        for number in numbers:
            if number != ABSENT:
                self._known(where, "tensor", number, len(plan.tensors))

    def _known(self, where: str, what: str, number: int, count: int) -> None:
        if not 0 <= number < count:
            self._fail(where, f"the number of a {what}, below {count}", number)


_FIELDS: dict[str, Callable[[_Reader, str, Any], Any]] = {
    "mesh": _Reader.sizes,
    "devices": _Reader.count,
    "replicas": _Reader.count,
    "microbatches": _Reader.count,
    "batch_axes": _Reader.sizes,
    "shard_axes": _Reader.sizes,
    "ranges": _Reader.ranges,
    "assumptions": _Reader.assumptions,
    "logicals": _Reader.logicals,
    "tensors": _Reader.tensors,
    "segments": _Reader.segments,
    "programs": _Reader.programs,
    "losses": _Reader.held,
    "gradients": _Reader.held,
    "seeds": _Reader.integers,
    "outputs": _Reader.held,
    "storages": _Reader.storages,
    "faults": _Reader.faults,
    "groups": _Reader.groups,
    "sources": _Reader.sources,
}
_OPTIONAL = frozenset(
    {"mesh", "batch_axes", "shard_axes", "ranges", "assumptions", "outputs", "storages", "faults", "groups", "sources"}
)
