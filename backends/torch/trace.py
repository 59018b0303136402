"""The recording of one rank: single assignment, plain data, and what of it matters."""

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from verdict.backends.torch.meetings import Meeting
from verdict.graph import ABSENT
from verdict.graph.draws import DRAW
from verdict.graph.effects import ASYNCHRONOUS
from verdict.graph.unsaid import UNSAID

UNMODELLED = "unmodelled"
TALKS = "talks"
"""The attribute of what is not modelled and communicates."""
BY_PYTHON = "a value is read by Python"
"""Why what Python reads is not modelled, unless all ranks are recorded together."""
BY_SHAPE = "the shape of a result is data"
"""The same of what makes a tensor of which the data says how long it is."""
WAITS = "ddp-waits"
"""The note that DistributedDataParallel waits for gradients that the step does not make."""
CHOICE, DECISION = "choice", "decision"
"""What hands on integers that were chosen by real numbers, and what says which integers decided something."""
COMMUNICATION = frozenset(
    {"all_reduce", "all_gather", "reduce_scatter", "all_to_all", "broadcast", "reduce", "send", "recv"}
)
UNKNOWN = frozenset({UNMODELLED, UNSAID, DRAW})
"""What makes values of which nothing is known of nothing."""
SHAPE_ALONE = frozenset(
    {f"aten.{name}" for name in ("full_like", "zeros_like", "ones_like", "new_full", "new_zeros", "new_ones")}
)
"""Operators that read the shape and the type of a tensor, and no number of it."""
SEEDED = "+"
"""The end of a word for how a value was made (`Trace.beginnings`) where the program seeds what it draws for it."""
GIVEN = frozenset({"input", "weight", "buffer"})
UPDATED, KEPT = "updated", "kept"
SUFFIXES = {"gradient": ".grad", UPDATED: ".updated", KEPT: ".updated"}
"""What the name of a declared output adds to that of its weight or buffer, by its kind."""

Shape = tuple[int, ...]


class Value(NamedTuple):
    """What is known of one value: a dense array; how it lay in memory is not part of it."""

    shape: Shape
    dtype: str


class Step(NamedTuple):
    """One operator. inputs, outputs: numbers of values. keep: it matters even if nothing reads what it makes."""

    op: str
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    attrs: tuple[tuple[str, Hashable], ...]
    name: str
    keep: bool = False


class Bound(NamedTuple):
    """A value with a name in the model. kind: input, weight or buffer; loss, gradient, output, or, of what a weight or
    buffer holds at the end, updated or kept.

    shape: of the single-device tensor.
    """

    kind: str
    name: str
    value: int
    shape: Shape
    region: tuple[tuple[int, int], ...]
    part: tuple[int, int] = (0, 1)


class Choice(NamedTuple):
    """What data chose. value: behind it; source: before it. op: what chose, or of an input its name.

    rows: for each row of what is chosen, the numbers that it was chosen by; none of an input. chosen: the integers, in
    row-major order. place: as nodes are called.
    """

    value: int
    source: int
    op: str
    rows: tuple[tuple[float, ...], ...]
    chosen: tuple[int, ...]
    place: str


@dataclass(frozen=True, slots=True)
class Trace:
    """The recording of one rank. mesh: names and sizes of the device mesh that the program made, if it did.

    notes: (name, text) of what is assumed. doubts: why nothing can be said of the program, as clauses.
    meetings: groups, barriers and communication in their order. beginnings: (name, word) of weights and buffers, for
    how what they hold before the step was made. ranges: of inputs and buffers, what they lie between.
    sources: (file, line, text) of the lines of the program that names cite. choices: those that data makes.
    heard: where Python read what ranks communicated, which only a run of all of them knows, as clauses.
    """

    rank: int
    world: int
    values: tuple[Value, ...]
    steps: tuple[Step, ...]
    bound: tuple[Bound, ...]
    mesh: tuple[tuple[str, int], ...] = ()
    seconds: float = 0.0
    notes: tuple[tuple[str, str], ...] = ()
    doubts: tuple[str, ...] = ()
    meetings: tuple[Meeting, ...] = ()
    beginnings: tuple[tuple[str, str], ...] = ()
    ranges: tuple[tuple[str, int, int | None], ...] = ()
    sources: tuple[tuple[str, int, str], ...] = ()
    choices: tuple[Choice, ...] = ()
    heard: tuple[str, ...] = ()


def decides(trace: Trace) -> bool:
    """Whether something in a recording was chosen by data, or decided what its program does."""
    return bool(trace.choices) or any(step.op == DECISION for step in trace.steps)


class Tape:
    """A trace while it is made. `constant` holds the values that depend on no input, `decided` those that depend on
    nothing but choices, on all ranks, `communicated` those that depend on what ranks communicated, `python` those
    constants that Python went on with. `makers` says which step makes a value, `stated` what was chosen or has decided.
    """

    def __init__(self) -> None:
        self.values: list[Value] = []
        self.steps: list[Step] = []
        self.makers: dict[int, int] = {}
        self.stated: dict[int, tuple[int, ...]] = {}
        self.constant: set[int] = set()
        self.decided: set[int] = set()
        self.communicated: set[int] = set()
        self.python: set[int] = set()
        self.choices: list[Choice] = []

    def emit(
        self,
        op: str,
        inputs: Iterable[int],
        outputs: Iterable[Value | None],
        attrs: Mapping[str, Hashable],
        name: str,
        keep: bool = False,
    ) -> tuple[int, ...]:
        """Record one operator; the numbers of its outputs. None stands for an output that it does not make."""
        inputs, outputs = tuple(inputs), tuple(outputs)
        made = tuple(ABSENT if value is None else self.value(value) for value in outputs)
        pairs = tuple(sorted(attrs.items(), key=lambda pair: pair[0]))
        self.makers.update((value, len(self.steps)) for value in made if value != ABSENT)
        self.steps.append(Step(op, inputs, made, pairs, name, keep))
        if op == DECISION:
            self.stated[inputs[0]] = dict(pairs)["values"]  # type: ignore[assignment]
        reads = () if op in SHAPE_ALONE else inputs
        if op not in COMMUNICATION and op not in UNKNOWN and self.constant.issuperset(reads):
            self.constant.update(made)
        if op == CHOICE or self._is_decided(op, reads, outputs):
            self.decided.update(made)
        if op in COMMUNICATION or not self.communicated.isdisjoint(inputs):
            self.communicated.update(value for value in made if value != ABSENT)
        return made

    def _is_decided(self, op: str, inputs: tuple[int, ...], outputs: Iterable[Value | None]) -> bool:
        """Whether what a step makes follows from choices, as far as this rank tells: of what others alone send, where
        they are no real numbers.
        """
        if op in UNKNOWN or not self.decided.issuperset(inputs):
            return False
        real = any(value is not None and value.dtype.startswith(("float", "bfloat", "complex")) for value in outputs)
        return op not in COMMUNICATION or bool(inputs) or not real

    def known(self, values: Iterable[int]) -> bool:
        """Whether all these values depend on no input; if so, Python may go on with them."""
        values = set(values)
        if not values <= self.constant:
            return False
        self.python |= values
        return True

    def choose(self, choice: Choice) -> None:
        """What data chose is recorded."""
        self.choices.append(choice)
        self.stated.setdefault(choice.value, choice.chosen)

    def begin(self, numbers: Iterable[int]) -> None:
        """Steps of communication go on beside what follows them."""
        for number in numbers:
            step = self.steps[number]
            pairs = {**dict(step.attrs), ASYNCHRONOUS: True}
            self.steps[number] = step._replace(attrs=tuple(sorted(pairs.items(), key=lambda pair: pair[0])))

    def value(self, value: Value) -> int:
        """A new value that no operator makes: an input."""
        self.values.append(value)
        return len(self.values) - 1


def living(trace: Trace) -> Trace:
    """`trace` without what neither its outputs nor its communication need; values keep their numbers."""
    needed = {bound.value for bound in trace.bound if bound.kind not in GIVEN}
    kept: list[Step] = []
    for step in reversed(trace.steps):
        if not step.keep and step.op not in COMMUNICATION and needed.isdisjoint(step.outputs):
            continue
        needed.update(step.inputs)
        kept.append(step)
    steps = (_without_unused(step, needed) for step in reversed(kept))
    return replace(trace, steps=tuple(steps))


def shared(trace: Trace) -> Trace:
    """`trace` in which what depends on no input is made once: the same operator on the same constants is one step.

    Layers that compute a table (rotary angles, a mask) each for itself so have one table.
    """
    named = {bound.value for bound in trace.bound}
    same: dict[int, int] = {}
    constant: set[int] = set()
    made: dict[tuple[object, ...], tuple[int, ...]] = {}
    steps: list[Step] = []
    for step in trace.steps:
        found = step._replace(inputs=tuple(same.get(value, value) for value in step.inputs))
        alone = not step.keep and step.op not in COMMUNICATION and step.op not in UNKNOWN
        if alone and constant.issuperset(found.inputs) and named.isdisjoint(step.outputs):
            constant.update(step.outputs)
            shapes = tuple(trace.values[value] if value != ABSENT else None for value in step.outputs)
            first = made.setdefault((step.op, found.inputs, step.attrs, shapes), step.outputs)
            if first != step.outputs:
                same.update(zip(step.outputs, first, strict=True))
                continue
        steps.append(found)
    return replace(trace, steps=tuple(steps))


def _without_unused(step: Step, needed: set[int]) -> Step:
    if step.op in COMMUNICATION or step.op == CHOICE:
        return step
    return step._replace(outputs=tuple(value if value in needed else ABSENT for value in step.outputs))


def to_plain(trace: Trace) -> dict[str, Any]:
    """`trace` as JSON can hold it."""
    return {name: getattr(trace, name) for name in Trace.__slots__}


def from_plain(data: Mapping[str, Any]) -> Trace:
    """What `to_plain` was made of."""
    rows = {name: _tuples(data[name]) for name in Trace.__slots__}
    return Trace(
        **rows
        | {
            "values": tuple(Value(*row) for row in rows["values"]),
            "steps": tuple(Step(*row) for row in rows["steps"]),
            "bound": tuple(Bound(*row) for row in rows["bound"]),
            "meetings": tuple(Meeting(*row) for row in rows["meetings"]),
            "choices": tuple(Choice(*row) for row in rows["choices"]),
        }
    )


def computed(plain: Mapping[str, Any]) -> dict[str, Any]:
    """Of what `to_plain` made, or was read of it, what says what the program computes: not where the lines stand of
    which it comes, in files whose names are drawn perhaps, nor how long it took.
    """
    steps = [[op, inputs, outputs, attrs, keep] for op, inputs, outputs, attrs, _, keep in plain.get("steps", ())]
    choices = [choice[:-1] for choice in plain.get("choices", ())]
    return {**plain, "seconds": 0, "sources": (), "steps": steps, "choices": choices}


def _tuples(data: Any) -> Any:
    return tuple(_tuples(item) for item in data) if isinstance(data, list | tuple) else data
