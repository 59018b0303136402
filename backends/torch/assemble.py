"""Traces of all ranks -> one Plan. Every rank is a plan device; there are no replicas and no microbatches."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from verdict.backends.torch.fitted import fitted
from verdict.backends.torch.meetings import disagreements
from verdict.backends.torch.trace import COMMUNICATION, KEPT, SUFFIXES, TALKS, UNMODELLED, Bound, Step, Trace, Value
from verdict.errors import UsageError
from verdict.graph import (
    ABSENT,
    ACTIVATION,
    BUFFER,
    GRADIENT,
    INPUT,
    WEIGHT,
    Attrs,
    Call,
    Held,
    Logical,
    Node,
    Plan,
    Region,
    Segment,
    Tensor,
    whole,
)
from verdict.graph.draws import DRAW
from verdict.graph.effects import has_effects
from verdict.graph.kept import RECORDED
from verdict.graph.schedule import check_schedule
from verdict.graph.sources import cited_in
from verdict.outcome import Assumption, Source

STEP = Assumption(
    RECORDED,
    "the plan is one recorded step: other control flow, other shapes, and kernels other than ATen's are not looked at",
)
_GIVEN = {"input": INPUT, "weight": WEIGHT, "buffer": BUFFER}


def plan_of(traces: Sequence[Trace], source: str) -> Plan:
    """The plan of these recordings, one of each rank. Raises UsageError where their tensors do not fit together.

    Where Python read what ranks communicate, each recording goes on as if all had sent its own: if the ranks do not
    meet then, that says nothing of the program.
    """
    plan = _plan_of(fitted(_followed(traces)), source)
    if any(trace.heard for trace in traces) and check_schedule(plan):
        return _plan_of(_unfollowed(traces, "whom it meets depends on what Python read"), source)
    return plan


def _plan_of(traces: Sequence[Trace], source: str) -> Plan:
    draft = _Draft(source)
    changed = frozenset(bound.name for trace in traces for bound in trace.bound if bound.kind == "updated")
    ranks = [_Rank(draft, trace, changed) for trace in traces]
    for rank in ranks:
        rank.put_together()
    notes = dict.fromkeys(note for trace in traces for note in trace.notes)
    ranges = sorted({stated for trace in traces for stated in trace.ranges}, key=str)
    plan = Plan(
        source=source,
        format="recorded PyTorch program",
        mesh=(("replicas", 1), *(traces[0].mesh or (("rank", len(traces)),))) if len(traces) > 1 else (),
        devices=len(traces),
        replicas=1,
        microbatches=1,
        logicals=tuple(draft.logicals),
        tensors=tuple(draft.tensors),
        segments=tuple(rank.segment for rank in ranks),
        programs=tuple((Call(number, 0),) for number in range(len(ranks))),
        losses=tuple(held for rank in ranks for held in rank.losses),
        gradients=tuple(held for rank in ranks for held in rank.gradients),
        outputs=tuple(held for rank in ranks for held in rank.outputs),
        seeds=(),
        effects=has_effects([rank.segment for rank in ranks], ()),
        ranges=tuple(ranges),
        sources=_sources(traces),
        assumptions=(STEP, *(Assumption(name, text) for name, text in notes)),
    )
    doubts = [f"{doubt} (rank {trace.rank})" for trace in traces for doubt in trace.doubts]
    return doubted(plan, [*doubts, *disagreements([trace.meetings for trace in traces])])


def _followed(traces: Sequence[Trace]) -> Sequence[Trace]:
    """The recordings; where some communication is not followed, who meets whom in the rest of it is not known."""
    meetings = [trace.meetings for trace in traces]
    apart = any(each.moved for rank in meetings for each in rank) and any(disagreements(meetings))
    steps = (step for trace in traces for step in trace.steps)
    unknown = next((step.name for step in steps if step.op == UNMODELLED and (TALKS, True) in step.attrs), "")
    if not apart and not unknown:
        return traces
    return _unfollowed(traces, "it meets communication that is not modelled" + f": {unknown}" * bool(unknown))


def _unfollowed(traces: Sequence[Trace], reason: str) -> Sequence[Trace]:
    """The recordings, of whose communication nothing is said."""
    attrs = (("reason", reason),)
    return [
        replace(trace, steps=tuple(
            step._replace(op=UNMODELLED, attrs=attrs, keep=True) if step.op in COMMUNICATION else step
            for step in trace.steps
        ))
        for trace in traces
    ]  # fmt: skip


def _sources(traces: Sequence[Trace]) -> tuple[Source, ...]:
    """The lines that the names of nodes cite first, of all ranks, each once."""
    cited = {cited_in(name) for trace in traces for name in {step.name for step in trace.steps}}
    places = {(place.file, place.line) for place in cited if place is not None}
    texts = {(file, line): text for trace in reversed(traces) for file, line, text in trace.sources if text}
    return tuple(Source(*place, text=texts[place]) for place in sorted(places & texts.keys()))


def doubted(plan: Plan, doubts: Sequence[str]) -> Plan:
    """`plan` with nodes that have no meaning and no outputs: why nothing follows from what else it says."""
    if not doubts:
        return plan
    nodes = tuple(Node(UNMODELLED, (), (), (("reason", doubt),), doubt) for doubt in dict.fromkeys(doubts))
    first = plan.segments[0]
    return replace(plan, segments=(first._replace(nodes=(*first.nodes, *nodes)), *plan.segments[1:]))


class _Draft:
    """The tables that all ranks share."""

    def __init__(self, source: str) -> None:
        self.source = source
        self.logicals: list[Logical] = []
        self.tensors: list[Tensor] = []
        self._named: dict[tuple[str, str], int] = {}
        self._made: dict[tuple[str, str, int, Value], int] = {}
        self._names: set[str] = set()
        self._attrs: dict[str, Attrs] = {}

    def named(self, name: str, kind: str, bound: Bound, dtype: str) -> int:
        """A share of the tensor that all ranks call `name`."""
        number = self._named.get((name, kind))
        if number is None:
            number = self._named[name, kind] = len(self.logicals)
            self.logicals.append(Logical(name, bound.shape, dtype, kind, name))
        known = self.logicals[number]
        if known.shape != bound.shape:
            problem = f"one rank says its shape is {list(known.shape)}, another {list(bound.shape)}"
            raise UsageError(f"{self.source}, {name}", problem, "correct its spec in Program.specs")
        return self._tensor(number, bound.region, bound.part)

    def made(self, name: str, step: Step, place: int, value: Value) -> int:
        """What a node makes: whole in itself, and what of it others hold is not said. It is one with what another
        rank's node of the same operator and source makes, at the same place among those. name: where it is the first.
        """
        key = step.op, step.name, place, value
        number = self._made.get(key)
        if number is None:
            number = self._made[key] = len(self.logicals)
            name = name if name not in self._names else f"{name}.{number}"
            self._names.add(name)
            self.logicals.append(Logical(name, value.shape, value.dtype, ACTIVATION))
        return self._tensor(number, whole(value.shape), (0, 1))

    def _tensor(self, logical: int, region: Region, part: tuple[int, int]) -> int:
        self.tensors.append(Tensor(logical, region, part))
        return len(self.tensors) - 1

    def attrs(self, pairs: Attrs) -> Attrs:
        """Equal attributes are one object; 1, 1.0 and True are not equal."""
        return self._attrs.setdefault(repr(pairs), pairs)


class _End(NamedTuple):
    bound: Bound
    kind: str
    name: str


class _Rank:
    """One rank's segment while it is made. changed: parameters that some rank changes: all say what they end with."""

    def __init__(self, draft: _Draft, trace: Trace, changed: frozenset[str]) -> None:
        self._changed = changed
        self._draft = draft
        self._trace = trace
        self._tensors: dict[int, int] = {ABSENT: ABSENT}
        self._weights: dict[str, int] = {}
        self._count = 0
        self._places: Counter[tuple[str, str]] = Counter()
        self.segment = Segment("step", trace.rank, ())
        self.losses: list[Held] = []
        self.gradients: list[Held] = []
        self.outputs: list[Held] = []

    def put_together(self) -> None:
        """Make the segment and the declared outputs."""
        trace, draft = self._trace, self._draft
        given = [bound for bound in trace.bound if bound.kind in _GIVEN]
        for bound in given:
            tensor = draft.named(bound.name, _GIVEN[bound.kind], bound, trace.values[bound.value].dtype)
            self._tensors[bound.value] = tensor
            if bound.kind != "input":
                self._weights[bound.name] = tensor
        drawn = {value for step in trace.steps if step.op == DRAW for value in step.outputs}
        ends, copies = self._ends(frozenset({bound.value for bound in given} | drawn))
        read = {value for step in trace.steps for value in step.inputs} | {end.bound.value for end in copies}
        loaded = tuple(self._tensors[b.value] for b in given if b.kind == "input" and b.value in read)
        nodes = [Node("dataloader", (), loaded, (), "the rank's share of the data")] if loaded else []
        for step in trace.steps:
            inputs = tuple(self._tensors[value] for value in step.inputs)
            outputs = tuple(self._output(step, value, ends) for value in step.outputs)
            nodes.append(Node(step.op, inputs, outputs, draft.attrs(step.attrs), step.name))
        for end in copies:
            tensor = self._declared(end)
            attrs: Attrs = ()
            nodes.append(Node("aten.alias", (self._tensors[end.bound.value],), (tensor,), attrs, f"{end.name}: alias"))
        self.segment = Segment("step", trace.rank, tuple(nodes))

    def _ends(self, given: frozenset[int]) -> tuple[dict[int, _End], list[_End]]:
        """The values that are one declared output each, and the outputs that need a node of their own."""
        ends: dict[int, _End] = {}
        copies: list[_End] = []
        for bound in self._trace.bound:
            if bound.kind in _GIVEN or (bound.kind == KEPT and bound.name not in self._changed):
                continue
            kind = GRADIENT if bound.kind == "gradient" else ACTIVATION
            end = _End(bound, kind, bound.name + SUFFIXES.get(bound.kind, ""))
            if bound.value in given or bound.value in ends:
                copies.append(end)
            else:
                ends[bound.value] = end
        return ends, copies

    def _output(self, step: Step, value: int, ends: dict[int, _End]) -> int:
        if value == ABSENT:
            return ABSENT
        self._count += 1
        self._places[step.op, step.name] += 1
        if value in ends:
            self._tensors[value] = self._declared(ends[value])
        else:
            short = step.op.split(".")[1] if "." in step.op else step.op
            name, place = f"{short}_{self._count}", self._places[step.op, step.name]
            self._tensors[value] = self._draft.made(name, step, place, self._trace.values[value])
        return self._tensors[value]

    def _declared(self, end: _End) -> int:
        bound = end.bound
        tensor = self._draft.named(end.name, end.kind, bound, self._trace.values[bound.value].dtype)
        owner = bound.name if bound.kind in SUFFIXES else ""
        held = Held(self._trace.rank, tensor, self._weights.get(owner, ABSENT))
        {"loss": self.losses, "gradient": self.gradients}.get(bound.kind, self.outputs).append(held)
        return tensor
