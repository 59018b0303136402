"""Recordings that go on with what data chose, and state choices as outputs: of a pair of programs, or of one alone."""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from verdict.backends.torch.certain import settled
from verdict.backends.torch.corresponding import Match, chosen_of, corresponding, rows_in
from verdict.backends.torch.deciding import Deciding
from verdict.backends.torch.known import computed, constants
from verdict.backends.torch.narrow import narrowed
from verdict.backends.torch.trace import (
    CHOICE,
    COMMUNICATION,
    DECISION,
    KEPT,
    SHAPE_ALONE,
    UPDATED,
    Bound,
    Choice,
    Step,
    Trace,
    Value,
    living,
)
from verdict.graph import ABSENT, Region, whole
from verdict.words import ranks_text

ASSUMED = "recorded-choices"
"""The assumption that data chooses as it did."""
MOST_SHOWN = 48
"""The most integers of a choice that its assumption lists."""
_EQUALS = "aten.eq.Scalar"
_SELECTS = frozenset({"aten.topk", "aten.sort", "aten.sort.stable"})
"""Operators whose first output is, along a dimension, what they read at the places that their second one is."""


class _Claim(NamedTuple):
    """An output that both plans state. rows: of the single-device program's choice; or the integers themselves; or the
    value that decides there, or whether it is these.
    """

    name: str
    shape: tuple[int, ...]
    dtype: str
    choice: int = -1
    rows: tuple[int, ...] = ()
    values: tuple[int, ...] = ()
    value: int = ABSENT


def paired(single: Trace, parallel: Sequence[Trace]) -> tuple[Trace, tuple[Trace, ...]]:
    """The recordings of both programs, each behind its choices, which are claimed to be one."""
    single, parallel = settled(single, parallel)
    found = corresponding(single, parallel)
    claims: dict[_Claim, str] = {}
    ranks = []
    for rank, recorded in enumerate(parallel):
        matches = {at: match for (other, at), match in found.parallel.items() if other == rank}
        told = {value: whole for (other, value), whole in found.told.items() if other == rank}
        trace, held = _held(recorded, told)
        loose = {value for other, value in found.loose if other == rank}
        stated = _stated(trace, single, matches, found.covered, told, held, loose, claims)
        notes = tuple(_told(rank, trace.choices[at], match, single) for at, match in matches.items())
        doubts = (*trace.doubts, *(found.doubts if rank == 0 else ()))
        one = _pinned(replace(trace, doubts=doubts, notes=(*trace.notes, *notes)), set(matches))
        ranks.append(living(replace(one, bound=(*one.bound, *stated))))
    assumed = tuple((ASSUMED, _premise(single.choices[at])) for at in sorted(found.single))
    copied = {bound.name for trace in parallel for bound in trace.bound if bound.kind == UPDATED}
    alone = _pinned(replace(single, notes=(*single.notes, *assumed)), found.single, copied)
    return living(_with_claims(alone, single, claims)), tuple(ranks)


def alone(traces: Sequence[Trace]) -> tuple[Trace, ...]:
    """The recordings of a program that is held against no other one."""
    found, doubts = Deciding(traces).all()
    pins = [{at for other, at in found if other == rank} for rank in range(len(traces))]
    if len(traces) > 1 and found:
        doubts.append("its choices were held against no single-device program's: record both together")
    return tuple(
        living(
            _pinned(
                replace(
                    trace,
                    doubts=(*trace.doubts, *(doubts if rank == 0 else ())),
                    notes=(*trace.notes, *((ASSUMED, _premise(trace.choices[at])) for at in sorted(pins[rank]))),
                ),
                pins[rank],
            )
        )
        for rank, trace in enumerate(traces)
    )


def _pinned(trace: Trace, pins: "set[int] | frozenset[int]", copied: Collection[str] = ()) -> Trace:
    """The recording that goes on with what was chosen in these choices; other choices and decisions are not there."""
    behind = {choice.value: at for at, choice in enumerate(trace.choices)}
    makers = {made: at for at, step in enumerate(trace.steps) for made in step.outputs if made != ABSENT}
    same = {c.value: c.source for at, c in enumerate(trace.choices) if at not in pins}
    steps, values, kept = list[Step](), list(trace.values), dict[int, Step]()
    for at, step in enumerate(trace.steps):
        if step.op == CHOICE and behind[step.outputs[0]] in pins:
            choice = trace.choices[behind[step.outputs[0]]]
            steps += constants(values, choice.value, choice.chosen, f"chosen by {choice.place}")
            chose = makers.get(choice.source, -1)
            if chose >= 0 and _selects(trace, trace.steps[chose], choice):
                selected, index = trace.steps[chose].outputs
                source = (same.get(trace.steps[chose].inputs[0], trace.steps[chose].inputs[0]), choice.value)
                attrs = (("dim", dict(trace.steps[chose].attrs).get("dim", -1)),)
                steps.append(Step("aten.gather", source, (selected,), attrs, trace.steps[chose].name))
                kept[chose] = trace.steps[chose]._replace(outputs=(ABSENT, index))
        elif step.op not in (CHOICE, DECISION):
            kept[at] = step
            steps.append(step)
    changed = {id(trace.steps[at]): step for at, step in kept.items()}
    steps = [changed.get(id(step), step) for step in steps]
    steps = [step._replace(inputs=tuple(_through(value, same) for value in step.inputs)) for step in steps]
    steps = list(computed(values, steps, {trace.choices[at].value for at in pins}))
    read = {trace.choices[at].source: trace.choices[at].value for at in pins if not trace.choices[at].rows}
    bound = tuple(_bound(each, same, read, copied) for each in trace.bound)
    return narrowed(replace(trace, values=tuple(values), steps=tuple(steps), bound=bound, choices=()))


def _bound(bound: Bound, same: Mapping[int, int], read: Mapping[int, int], copied: Collection[str]) -> Bound:
    """What is declared, behind the choices. read: integers of the inputs that decide -> what they are then. copied:
    buffers that ranks copy to each other, so that they hold that: it is declared of those that are as they were, too.
    """
    if bound.kind == KEPT and bound.name in copied and bound.value in read:
        return bound._replace(kind=UPDATED, value=read[bound.value])
    return bound._replace(value=_through(bound.value, same))


def _through(value: int, same: Mapping[int, int]) -> int:
    while value in same:
        value = same[value]
    return value


def _selects(trace: Trace, step: Step, choice: Choice) -> bool:
    """Whether a step's first output is what it reads at the places that were chosen."""
    return step.op in _SELECTS and step.outputs[0] != ABSENT and step.outputs[1] == choice.source


def _stated(
    trace: Trace, single: Trace, matches: Mapping[int, Match], covered: Collection[int], told: Mapping[int, int],
    held: Mapping[int, int], loose: Collection[int], claims: dict[_Claim, str],
) -> Iterator[Bound]:  # fmt: skip
    """What a rank states of its choices and decisions, as outputs; `claims` holds them all. covered: choices of the
    single-device program's that ranks make together. told: decisions of its own -> the single-device program's. held:
    those of them that are compared with what they were -> whether they are that. loose: those that are left open.
    """
    behind = {choice.value: at for at, choice in enumerate(trace.choices)}
    same = {c.value: c.source for at, c in enumerate(trace.choices) if at not in matches}
    number: Counter[_Claim] = Counter()

    def named(claim: _Claim, value: int, region: Region | None = None) -> Bound:
        number[claim] += 1
        own = claim._replace(name=f"{claim.name}.{number[claim]}")
        name = claims.setdefault(own, f"{claim.name} {len(claims) + 1}")
        return Bound("output", name, _through(value, same), claim.shape, region or whole(claim.shape))

    for at, match in matches.items():
        choice, value = trace.choices[at], trace.values[trace.choices[at].value]
        if not choice.rows:
            continue
        whole_value = single.values[single.choices[match.choice].value]
        region = _region(value.shape, whole_value.shape, match.rows, rows_in(single.choices[match.choice]))
        if region is not None and match.choice in covered:
            every = tuple(range(rows_in(single.choices[match.choice])))
            yield named(_Claim("choice", *whole_value, match.choice, every), choice.source, region)
        else:
            yield named(_Claim("choice", *value, match.choice, match.rows), choice.source)
        if match.ordered:
            values = chosen_of(single.choices[match.choice], match.rows)
            yield named(_Claim("chosen", *value, values=values), choice.value)
    seen = set(loose)
    for step in trace.steps:
        if step.op == DECISION and step.inputs[0] not in behind and step.inputs[0] not in seen:
            seen.add(step.inputs[0])
            was: Any = dict(step.attrs)["values"]
            claim = _Claim("decided", *trace.values[step.inputs[0]], values=was)
            if step.inputs[0] in told:
                claim = claim._replace(value=told[step.inputs[0]])
                claim = claim._replace(dtype="bool") if step.inputs[0] in held else claim._replace(values=())
            yield named(claim, held.get(step.inputs[0], step.inputs[0]))


def _held(trace: Trace, told: Mapping[int, int]) -> tuple[Trace, dict[int, int]]:
    """The recording that compares decisions that are one integer, and come from sums over ranks, with what they were,
    and these: how many ranks have seen an overflow is no number of the single-device program's, that none has is.
    """
    values, steps, held = list(trace.values), list(trace.steps), dict[int, int]()
    makers = {made: step for step in trace.steps for made in step.outputs if made != ABSENT}
    for step in trace.steps:
        value = step.inputs[0] if step.op == DECISION else ABSENT
        was: Any = dict(step.attrs)["values"] if value in told else ()
        if len(was) == 1 and value not in held and _is_summed(makers, value):
            held[value] = len(values)
            values.append(Value(trace.values[value].shape, "bool"))
            steps.append(Step(_EQUALS, (value,), (held[value],), (("other", was[0]),), step.name))
    return replace(trace, values=tuple(values), steps=tuple(steps)), held


def _is_summed(makers: Mapping[int, Step], value: int) -> bool:
    """Whether a sum over ranks is on the way to a value."""
    waiting, seen = [value], set[int]()
    while waiting:
        step = makers.get(waiting.pop())
        if step is not None and seen.isdisjoint(step.outputs):
            if step.op in COMMUNICATION and dict(step.attrs).get("reduce") == "sum":
                return True
            seen.update(step.outputs)
            waiting += step.inputs
    return False


def _with_claims(trace: Trace, single: Trace, claims: Mapping[_Claim, str]) -> Trace:
    """The single-device recording with the outputs that ranks state of their choices and decisions."""
    values, steps, bound = list(trace.values), list(trace.steps), list(trace.bound)

    def made(op: str, inputs: tuple[int, ...], shape: tuple[int, ...], dtype: str, name: str, attrs: Any) -> int:
        values.append(Value(shape, dtype))
        pairs: Any = tuple(sorted(attrs.items()))
        steps.append(Step(op, inputs, (len(values) - 1,), pairs, name))
        return len(values) - 1

    for claim, name in claims.items():
        if claim.value != ABSENT:
            value = _chosen_anew(single, values, steps, claim.value)
            for was in claim.values:
                value = made(_EQUALS, (value,), claim.shape, claim.dtype, name, {"other": was})
        elif claim.choice < 0:
            values.append(Value(claim.shape, claim.dtype))
            value = len(values) - 1
            steps += constants(values, value, claim.values, f"{name}: what it was")
        else:
            choice = single.choices[claim.choice]
            value, count = choice.source, rows_in(choice)
            if claim.rows != tuple(range(count)) or claim.shape != trace.values[value].shape:
                width, called = len(choice.chosen) // count, f"{name}: {choice.place}"
                value = made("aten.view", (value,), (count, width), claim.dtype, called, {"size": (count, width)})
                held = {"shape": (len(claim.rows),), "values": claim.rows}
                places = made("constant", (), (len(claim.rows),), "int64", called, held)
                taken = (len(claim.rows), width)
                value = made("aten.index_select", (value, places), taken, claim.dtype, called, {"dim": 0})
                value = made("aten.view", (value,), claim.shape, claim.dtype, called, {"size": claim.shape})
        bound.append(Bound("output", name, value, claim.shape, whole(claim.shape)))
    return replace(trace, values=tuple(values), steps=tuple(steps), bound=tuple(bound))


def _chosen_anew(single: Trace, values: list[Value], steps: list[Step], wanted: int) -> int:
    """A value that follows from choices, computed once more from what chooses, not from what was chosen: `steps` gets
    what computes it.
    """
    makers = {made: step for step in single.steps for made in step.outputs if made != ABSENT}
    known = {choice.value: choice.source for choice in single.choices}

    def anew(value: int) -> int:
        step = makers.get(value)
        if value not in known and step is not None and step.op not in SHAPE_ALONE:
            inputs = tuple(each if each == ABSENT else anew(each) for each in step.inputs)
            if inputs != step.inputs:
                made = {each: len(values) + at for at, each in enumerate(step.outputs)}
                values.extend(values[value if each == ABSENT else each] for each in step.outputs)
                outputs = tuple(ABSENT if each == ABSENT else made[each] for each in step.outputs)
                steps.append(step._replace(inputs=inputs, outputs=outputs))
                known.update(made)
        return known.get(value, value)

    return anew(wanted)


def _region(own: tuple[int, ...], shape: tuple[int, ...], rows: Sequence[int], count: int) -> Region | None:
    """Which region of a tensor of `shape`, in `count` rows, these rows are; None where they are none along its first
    dimension.
    """
    if not shape or len(own) != len(shape) or own[1:] != shape[1:] or not shape[0] or count % shape[0]:
        return None
    if list(rows) != list(range(rows[0], rows[0] + len(rows))) or rows[0] % (count // shape[0]):
        return None
    start = rows[0] // (count // shape[0])
    return ((start, start + own[0]), *whole(shape)[1:])


def _premise(choice: Choice) -> str:
    return f"data chooses as it did in the recorded run: {choice.place} chose {_numbers(choice)}"


def _told(rank: int, choice: Choice, match: Match, single: Trace) -> tuple[str, str]:
    """Which choice a rank's is; that it is that one is no assumption, but proved where the plan is."""
    other = single.choices[match.choice]
    rows = ranks_text(match.rows).replace("rank", "row") if choice.rows else "elements"
    text = f"{choice.place} of rank {rank} is {rows} of {rows_in(other)} of the single-device program's {other.place}"
    return ASSUMED, f"{text}, and compared with it"


def _numbers(choice: Choice) -> str:
    shown = " ".join(map(str, choice.chosen[:MOST_SHOWN]))
    return shown + (f" and {len(choice.chosen) - MOST_SHOWN} more" if len(choice.chosen) > MOST_SHOWN else "")
