"""Steps of a recording that make integers and truth values which are known: constants."""

from collections.abc import Collection, Iterator, Sequence
from typing import Any

from verdict.backends.torch.choices import is_discrete, numbers_in
from verdict.backends.torch.replay import apply, typed
from verdict.backends.torch.trace import COMMUNICATION, UNKNOWN, Step, Value
from verdict.graph import ABSENT
from verdict.ops.domain import BITS


def constants(values: list[Value], value: int, numbers: Sequence[int], name: str) -> Iterator[Step]:
    """The steps that make `value` of these numbers: integers of few bits are cast to their type."""
    shape, dtype = values[value]
    held = tuple(map(bool, numbers)) if dtype == "bool" else tuple(numbers)
    attrs = (("shape", shape), ("values", held))
    if dtype not in BITS:
        yield Step("constant", (), (value,), attrs, name)
        return
    values.append(Value(shape, "int64"))
    yield Step("constant", (), (len(values) - 1,), attrs, name)
    yield Step("aten._to_copy", (len(values) - 1,), (value,), (("dtype", dtype),), name)


def computed(values: list[Value], steps: Sequence[Step], chosen: Collection[int]) -> Iterator[Step]:
    """The steps, of which those that make integers of what was chosen, and of constants, are constants.

    chosen: values that were chosen.
    """
    known: dict[int, Any] = {ABSENT: None}
    follows = set(chosen)
    for step in steps:
        fixed = step.op not in COMMUNICATION and step.op not in UNKNOWN and all(each in known for each in step.inputs)
        discrete = all(value == ABSENT or is_discrete(values[value]) for value in step.outputs)
        if not fixed or not discrete or not step.outputs or step.keep:
            yield step
            continue
        found = apply(step.op, [known[value] for value in step.inputs], dict(step.attrs))
        made = {value: each for value, each in zip(step.outputs, found, strict=True) if value != ABSENT}
        known |= {value: typed(each, values[value].dtype) for value, each in made.items()}
        if step.op == "constant" or follows.isdisjoint(step.inputs):
            yield step
            continue
        follows |= made.keys()
        for value in made:
            yield from constants(values, value, numbers_in(known[value]), step.name)
