"""What data decides in a program, and from which choices of its ranks that follows."""

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Sequence, Set
from typing import Any

from verdict.backends.torch.trace import COMMUNICATION, DECISION, GIVEN, SHAPE_ALONE, UNKNOWN, Step, Trace
from verdict.graph import ABSENT

At = tuple[int, int]
"""A rank, and the number of a choice of it, or a value."""
_COPIES = frozenset({"aten._to_copy", "aten.alias", "aten.clone", "aten.detach", "aten.view"})
"""Operators whose elements are those of what they read."""
_SETTLES = {"max": 0, "min": 1}
"""How flags of ranks are reduced -> the result that says of each of them that it is this, too."""


class Deciding:
    """What decides in the program with these recordings, of all its ranks."""

    def __init__(self, traces: Sequence[Trace]) -> None:
        self._traces = traces
        self._makers = [{made: step for step in trace.steps for made in step.outputs} for trace in traces]
        self._chosen = [{choice.value: at for at, choice in enumerate(trace.choices)} for trace in traces]
        self._given = [{bound.value: bound.name for bound in trace.bound if bound.kind in GIVEN} for trace in traces]
        self._meetings = meetings_of(traces)

    def all(self) -> tuple[set[At], list[str]]:
        """The choices from which follows what decides; and what follows from none, as clauses."""
        decisions = ((rank, step) for rank, trace in enumerate(self._traces) for step in trace.steps)
        return self._followed((rank, step.inputs[0], step.name) for rank, step in decisions if step.op == DECISION)

    def behind(self, value: At) -> set[At]:
        """The choices from which a value of a rank follows."""
        return self._followed([(*value, "")])[0]

    def implied(self, rank: int, decision: Step) -> set[At]:
        """Truth values chosen of which a decision says what they are: that no rank has seen an overflow, that this one
        has not. Of other integers the greatest says less.
        """
        made = self._copied(rank, decision.inputs[0])
        step = self._makers[rank].get(made)
        if step is None or step.op not in COMMUNICATION:
            return set()
        attrs = dict(step.attrs)
        told = {_SETTLES.get(str(attrs.get("reduce")))}
        was: Any = dict(decision.attrs)["values"]
        if set(was) != told:
            return set()
        sent = [(other, self._copied(other, value)) for other, value in self._meetings[rank, made]]
        found = {(other, at) for other, value in sent if (at := self._chosen[other].get(value)) is not None}
        return {(other, at) for other, at in found if self._is_settled(self._traces[other], at, told)}

    @staticmethod
    def _is_settled(trace: Trace, at: int, told: Set[int | None]) -> bool:
        choice = trace.choices[at]
        return trace.values[choice.value].dtype == "bool" and set(choice.chosen) == told

    def _copied(self, rank: int, value: int) -> int:
        """The value whose elements a value's are."""
        while value not in self._chosen[rank] and (step := self._makers[rank].get(value)) and step.op in _COPIES:
            value = step.inputs[0]
        return value

    def _followed(self, starts: Iterable[tuple[int, int, str]]) -> tuple[set[At], list[str]]:
        """starts: (rank, value, what it is called)."""
        waiting, found, doubts, seen = list(starts), set[At](), list[str](), set[At]()
        while waiting:
            rank, value, name = waiting.pop()
            if value == ABSENT or (rank, value) in seen:
                continue
            seen.add((rank, value))
            step = self._makers[rank].get(value)
            if value in self._chosen[rank]:
                found.add((rank, self._chosen[rank][value]))
            elif value in self._given[rank]:
                what = self._given[rank][value]
                doubts.append(f"{what} decides what the program does, in a way that is not followed ({name})")
            elif step is None or step.op in UNKNOWN:
                doubts.append(f"what is not modelled decides what the program does ({name})")
            elif step.op not in SHAPE_ALONE:
                waiting += [(rank, source, name) for source in step.inputs]
                waiting += [(*sent, name) for sent in self._meetings.get((rank, value), ())]
        return found, doubts


def meetings_of(traces: Sequence[Trace]) -> dict[tuple[int, int], list[tuple[int, int]]]:
    """(rank, value) -> (rank, value) of all that members put into the communication that made it, by their order."""
    put: dict[Hashable, list[tuple[int, int]]] = defaultdict(list)
    got: dict[tuple[int, int], Hashable] = {}
    for rank, trace in enumerate(traces):
        number: Counter[Hashable] = Counter()
        for step in trace.steps:
            if step.op not in COMMUNICATION:
                continue
            attrs = dict(step.attrs)
            pair = {"send": (rank, attrs.get("peer")), "recv": (attrs.get("peer"), rank)}.get(step.op)
            where: Hashable = ("message", pair, step.op) if pair else ("group", attrs["ranks"])
            key = (*where[:2], number[where])  # type: ignore[index]
            number[where] += 1
            put[key] += [(rank, value) for value in step.inputs]
            got |= {(rank, value): key for value in step.outputs}
    return {each: put[key] for each, key in got.items()}
