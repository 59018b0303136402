"""What ranks write to files, as messages to the ranks that read it.

A rank that writes says so by a `send` without a peer, one that reads by a `recv`, both with a number. When all ranks
are known, each such `recv` has a `send` of its own, behind the writing, and so that the messages between any two ranks
are sent in the order in which they are received.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace

from verdict.backends.torch.trace import UNMODELLED, Step, Trace

SAVED = "saved"
"""The attribute with the number of what a rank wrote."""
UNTOLD = "a file is read that was written before the step"
CROSSED = "files are read and messages received in another order than they were written and sent"

Sends = dict[int, list[Step]]
"""Steps to be recorded, by the number of the step in whose place or behind which."""


def delivered(traces: Sequence[Trace]) -> tuple[Trace, ...]:
    """The traces of these ranks, with messages for what is read from files."""
    if not any(_number(step) is not None for trace in traces for step in trace.steps):
        return tuple(traces)
    made: dict[int, Sends] = {trace.rank: defaultdict(list) for trace in traces}
    unsent = [_received(trace, traces, made) for trace in traces]
    return tuple(_settled(trace, made[trace.rank], each) for trace, each in zip(traces, unsent, strict=True))


def _received(trace: Trace, traces: Sequence[Trace], made: dict[int, Sends]) -> dict[int, str]:
    """Put what a rank reads among what others send; by number of the step, why what it reads is not known."""
    unsent: dict[int, str] = {}
    for peer in traces:
        reads = [at for at, step in enumerate(trace.steps) if step.op == "recv" and _peer(step) == peer.rank]
        behind = _behind(trace, peer, [at for at in reads if _is_known(peer, trace.steps[at])])
        for at in reads:
            number = _number(trace.steps[at])
            written = None if number is None else _written(peer, number)
            if number is not None and (behind is None or written is None):
                unsent[at] = UNTOLD if written is None else CROSSED
            elif behind is not None and written is not None:
                sent = Step("send", peer.steps[written].inputs, (), (("peer", trace.rank),), trace.steps[at].name)
                made[peer.rank][behind[at]].append(sent)
    for at, step in enumerate(trace.steps):
        if step.op == "recv" and _number(step) is not None and _peer(step) not in {peer.rank for peer in traces}:
            unsent[at] = UNTOLD
    return unsent


def _behind(trace: Trace, peer: Trace, reads: Sequence[int]) -> dict[int, int] | None:
    """Behind which step of its peer each of these reads is sent; None where messages of the program's own were sent
    before what is read earlier was written.
    """
    own = (at for at, step in enumerate(peer.steps) if step.op == "send" and _peer(step) == trace.rank)
    last, found = 0, dict[int, int]()
    for at in reads:
        number = _number(trace.steps[at])
        sent = next(own, last) if number is None else _written(peer, number)
        assert sent is not None, "what nobody wrote is not among them"
        if number is None and sent < last:
            return None
        last = found[at] = max(last, sent)
    return found


def _is_known(peer: Trace, step: Step) -> bool:
    number = _number(step)
    return number is None or _written(peer, number) is not None


def _peer(step: Step) -> object:
    return dict(step.attrs).get("peer")


def _number(step: Step) -> int | None:
    found = dict(step.attrs).get(SAVED)
    return None if found is None else int(str(found))


def _written(trace: Trace, number: int) -> int | None:
    """The step that writes what has this number."""
    writes = (at for at, step in enumerate(trace.steps) if step.op == "send" and _number(step) == number)
    return next(writes, None)


def _settled(trace: Trace, sends: Sends, unsent: dict[int, str]) -> Trace:
    steps: list[Step] = []
    for place, step in enumerate(trace.steps):
        if place in unsent:
            why = unsent[place]
            steps.append(step._replace(op=UNMODELLED, attrs=(("reason", why),), name=f"{why}: {step.name}"))
        elif _number(step) is None:
            steps.append(step)
        elif step.op == "recv":
            steps.append(step._replace(attrs=tuple(pair for pair in step.attrs if pair[0] != SAVED)))
        steps += sends.get(place, [])
    return replace(trace, steps=tuple(steps))
