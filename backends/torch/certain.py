"""Choices that come out alike for all real numbers: a norm is never below zero, and no real number is infinite.

Libraries look whether a gradient has overflowed. The proofs are about real numbers, of which none has. So where the
single-device program asks nothing of that kind, such a test is no choice, but an assumption, which is named. A sign
that follows from the operators is none.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from math import inf, isinf
from typing import Any

from verdict.backends.torch.choices import is_discrete
from verdict.backends.torch.deciding import At, Deciding, meetings_of
from verdict.backends.torch.known import computed, constants
from verdict.backends.torch.trace import CHOICE, COMMUNICATION, DECISION, Step, Trace, Value
from verdict.graph import ABSENT

FINITE = "finite-numbers"
"""The assumption that what is tested for infinity is a number."""
_DEEP = 40
"""How many steps a sign is followed back."""
_NEVER_BELOW = frozenset({"aten.abs", "aten.exp", "aten.linalg_vector_norm", "aten.relu", "aten.sigmoid", "aten.sqrt"})
"""Operators whose result is not below zero, whatever they read."""
_KEEP = COMMUNICATION | {
    "aten._to_copy", "aten.add.Tensor", "aten.cat", "aten.clone", "aten.div.Tensor", "aten.expand", "aten.mean",
    "aten.mean.dim", "aten.mul.Tensor", "aten.select.int", "aten.slice.Tensor", "aten.squeeze", "aten.stack",
    "aten.sum", "aten.sum.dim_IntList", "aten.unsqueeze", "aten.view",
}  # fmt: skip
"""Operators whose result is not below zero where nothing is that they read."""
_TAMES = frozenset({"aten._scaled_dot_product_flash_attention_for_cpu", "aten._softmax", "aten.sigmoid", "aten.tanh"})
"""Operators whose results are numbers where what they read is minus infinity."""
_FILLS = frozenset({"aten.masked_fill.Scalar", "aten.masked_fill.Tensor"})
_CONDITION = {"aten.where.self": 0, **dict.fromkeys(_FILLS, 1)}
"""Operators that pick by a condition, and which of their inputs that is."""
_OF_REALS = {"aten.isnan": False, "aten.isinf": False, "aten.isfinite": True}
_OF_ITSELF = {"aten.eq.Tensor": True, "aten.ne.Tensor": False}
_OF_INFINITY = {
    "aten.eq.Scalar": (False, False), "aten.ne.Scalar": (True, True), "aten.lt.Scalar": (False, True),
    "aten.le.Scalar": (False, True), "aten.gt.Scalar": (True, False), "aten.ge.Scalar": (True, False),
}  # fmt: skip
"""How a real number compares with minus infinity, and with infinity: `isnan` asks whether something is at most that."""
_OF_SIGNS = {
    "aten.lt.Scalar": (False, True), "aten.ge.Scalar": (True, True), "aten.gt.Scalar": (True, False),
    "aten.le.Scalar": (False, False), "aten.eq.Scalar": (False, False), "aten.ne.Scalar": (True, False),
}  # fmt: skip
"""How what is not below zero compares with a number below zero; and whether with zero itself, too."""


def settled(single: Trace, parallel: Sequence[Trace]) -> tuple[Trace, tuple[Trace, ...]]:
    """The recordings of both programs, in which choices that come out alike for all real numbers are constants."""
    asks = any(_of_reals(_maker(single, at)) is not None for _, at in Deciding([single]).all()[0])
    return _settled([single], False)[0], tuple(_settled(parallel, not asks))


def _settled(traces: Sequence[Trace], finite: bool) -> list[Trace]:
    """finite: whether tests for infinity are settled, too."""
    found = list(traces)
    while True:
        signs, tests = _Signs(found), _Origins(found).finite_tests() if finite else frozenset()
        pins = [{at for at in range(len(trace.choices)) if _is_certain(trace, at, signs, tests)} for trace in found]
        if not any(pins):
            return found
        found = [_without(trace, own) for trace, own in zip(found, pins, strict=True)]


def _is_certain(trace: Trace, at: int, signs: "_Signs", tests: Collection[At]) -> bool:
    step, source = _maker(trace, at), trace.choices[at].source
    outcome = _of_reals(step) if (trace.rank, source) in tests else signs.compared(trace.rank, step)
    return outcome is not None and set(trace.choices[at].chosen) == {int(outcome)}


class _Origins:
    """What values of all ranks are made of."""

    def __init__(self, traces: Sequence[Trace]) -> None:
        self._traces = traces
        self._makers = _makers(traces)
        self._put = meetings_of(traces)
        self._values = {trace.rank: trace.values for trace in traces}

    def finite_tests(self) -> frozenset[At]:
        """Tests for infinity from which follows what decides, of what no operator makes infinite."""
        ends = [(trace.rank, step.inputs[0]) for trace in self._traces for step in trace.steps if step.op == DECISION]
        tests = [at for at in self._behind(ends, lambda at: False) if _of_reals(self._makers.get(at)) is not None]
        return frozenset(at for at in tests if not self._is_infinite(at))

    def _is_infinite(self, test: At) -> bool:
        """Whether what is tested may be infinite, since a mask for instance makes it so."""
        tested = [(test[0], source) for source in self._makers[test].inputs]
        return self._names(inf, tested, self._is_whole) or self._names(-inf, tested, self._is_tame)

    def _names(self, infinity: float, values: list[At], ends: Callable[[At], bool]) -> bool:
        """Whether what makes these values, or what they are made of, names this number."""
        behind = (at for at in self._behind(list(values), ends) if not self._is_whole(at))
        return any(infinity in _numbers(self._makers[at]) for at in behind)

    def _is_whole(self, at: At) -> bool:
        return is_discrete(self._values[at[0]][at[1]])

    def _is_tame(self, at: At) -> bool:
        return self._is_whole(at) or self._makers[at].op in _TAMES

    def _behind(self, waiting: list[At], ends: Callable[[At], bool]) -> set[At]:
        """What these values are made of, themselves too, but for what is given. ends: where it does not go on."""
        seen = set[At]()
        while waiting:
            at = waiting.pop()
            step = self._makers.get(at)
            if at in seen or step is None:
                continue
            seen.add(at)
            if not ends(at):
                waiting += [(at[0], source) for source in step.inputs] + self._put.get(at, [])
        return seen


def _numbers(step: Step) -> Iterator[Any]:
    for _, value in step.attrs:
        yield from value if isinstance(value, tuple) else (value,)


def _makers(traces: Sequence[Trace]) -> dict[At, Step]:
    """(rank, value) -> the step that makes it."""
    return {(t.rank, made): step for t in traces for step in t.steps for made in step.outputs if made != ABSENT}


def _maker(trace: Trace, at: int) -> Step | None:
    source = trace.choices[at].source
    return next((step for step in trace.steps if source in step.outputs), None)


def _of_reals(step: Step | None) -> bool | None:
    """What a test for infinity, or for what is no number, says of a real number; None where a step is none."""
    if step is None:
        return None
    if step.op in _OF_ITSELF and step.inputs[0] == step.inputs[1]:
        return _OF_ITSELF[step.op]
    if step.op in _OF_INFINITY and isinf(_number(step)):
        return _OF_INFINITY[step.op][_number(step) > 0]
    return _OF_REALS.get(step.op)


def _number(step: Step) -> float:
    other: Any = dict(step.attrs).get("other", 0.0)
    return float(other)


def _without(trace: Trace, pins: set[int]) -> Trace:
    """The recording, in which these choices are constants, and so is what follows from them."""
    behind = {trace.choices[at].value: at for at in pins}
    steps, values = list[Step](), list(trace.values)
    for step in trace.steps:
        if step.op == CHOICE and step.outputs[0] in behind:
            choice = trace.choices[behind[step.outputs[0]]]
            steps += constants(values, choice.value, choice.chosen, f"chosen by {choice.place}")
        else:
            steps.append(step)
    choices = tuple(choice for at, choice in enumerate(trace.choices) if at not in pins)
    tested = [trace.choices[at].place for at in sorted(pins) if _of_reals(_maker(trace, at)) is not None]
    notes = tuple((FINITE, f"what is tested for infinity, or for being a number, is a number: {at}") for at in tested)
    made = tuple(_picked(values, list(computed(values, steps, behind))))
    return replace(
        trace, values=tuple(values), steps=made, choices=choices, notes=tuple(dict.fromkeys((*trace.notes, *notes)))
    )


def _picked(values: Sequence[Value], steps: Sequence[Step]) -> Iterator[Step]:
    """The steps, of which those that pick by a condition that is known everywhere alike hand on what they pick."""
    known = {step.outputs[0]: _truth(step) for step in steps if step.op == "constant"}
    for step in steps:
        truth = known.get(step.inputs[_CONDITION[step.op]]) if step.op in _CONDITION else None
        source = None if truth is None else step.inputs[2 if step.op == "aten.where.self" and not truth else 1]
        if step.op in _FILLS and truth is False:
            source = step.inputs[0]
        elif step.op in _FILLS:
            source = None
        if source is not None and values[source] == values[step.outputs[0]]:
            yield step._replace(op="aten.clone", inputs=(source,), attrs=())
        else:
            yield step


def _truth(step: Step) -> bool | None:
    """What a constant is everywhere; None where it is not of truth values, or of both."""
    held: Any = set(dict(step.attrs)["values"])  # type: ignore[call-overload]
    return bool(held == {True}) if held in ({True}, {False}) else None


class _Signs:
    """Which values of these recordings are never below zero."""

    def __init__(self, traces: Sequence[Trace]) -> None:
        self._makers = _makers(traces)
        self._put = meetings_of(traces)

    def compared(self, rank: int, step: Step | None) -> bool | None:
        """How a comparison of what is never below zero comes out; None where that is not known."""
        if step is None or step.op not in _OF_SIGNS:
            return None
        outcome, zero = _OF_SIGNS[step.op]
        number = _number(step)
        below = number < 0 or (zero and number == 0)
        return outcome if below and self._is_above((rank, step.inputs[0])) else None

    def _is_above(self, value: At, depth: int = 0) -> bool:
        step, rank = self._makers.get(value), value[0]
        if depth == _DEEP or step is None:
            return False
        attrs: Mapping[str, Any] = dict(step.attrs)
        inputs = [(rank, source) for source in step.inputs]
        if step.op == "constant":
            return all(number >= 0 for number in attrs["values"])
        if step.op == "aten.pow.Tensor_Scalar":
            return bool(attrs["exponent"] % 2 != 1) or self._is_above(inputs[0], depth + 1)
        if step.op == "aten.mul.Tensor" and inputs in ([each, each] for each in inputs):
            return True
        if step.op not in _KEEP or any(attrs.get(name, 1) < 0 for name in ("alpha", "other")):
            return step.op in _NEVER_BELOW
        sources = self._put.get(value, []) if step.op in COMMUNICATION else inputs
        return bool(sources) and all(self._is_above(each, depth + 1) for each in sources)
