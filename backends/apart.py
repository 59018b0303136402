"""Do the reading in a child process, and take over the finished plan only.

The records of a large plan are millions of objects in cycles: a child that ends drops them at once, where the
garbage collector would need seconds. It also confines what a hostile file can still do, which is to use up
memory or the C stack: the child has a limit on the former, and its death is a message, not ours.
"""

import faulthandler
import gc
import marshal
import os
import traceback
from collections.abc import Callable
from contextlib import suppress
from dataclasses import fields
from functools import partial
from typing import Any, NamedTuple

from verdict import child
from verdict.child import GONE, Child, Memory
from verdict.counting import Percent, unheard
from verdict.errors import PlanFileError
from verdict.graph import Call, Held, Logical, Node, Plan, Segment, Storage, Tensor
from verdict.outcome import Assumption, Finding, Source

_Reply = tuple[str, Any]
DONE = b"\0"
"""What stands before the reply."""


class Reading(NamedTuple):
    """A child that reads the plan file `source`."""

    source: str
    child: Child


def apart(make: Callable[[Percent], Plan], source: str, memory: int) -> Plan:
    """What `make` makes, computed in a child. See `begin` and `finish`."""
    return finish(begin(make, source, memory))


def begin(make: Callable[[Percent], Plan], source: str, memory: int) -> Reading:
    """Have a child that may grow by `memory` bytes (Linux) make a plan."""
    work = partial(_answer, make=make, source=source, memory=memory)
    return Reading(source, child.begin(work, Memory(memory), both_ways=False))


def abandon(reading: Reading) -> None:
    """End a child whose plan is not wanted any more."""
    child.kill(reading.child)


def finish(reading: Reading, told: Percent = unheard) -> Plan:
    """The plan that the child made. told: what it tells.

    Raises the PlanFileError that `make` raised, or one if the child was killed or ran out of memory;
    RuntimeError with the child's traceback for any other exception.
    """
    source, reader = reading
    try:
        with os.fdopen(reader.connection.fileno(), "rb", closefd=False) as pipe:
            while (percent := pipe.read(1)) not in (DONE, b""):
                told(percent[0])
            answer = pipe.read()
    except BaseException:
        child.kill(reader)
        raise
    reader.connection.close()
    status = child.wait(reader)
    if status != 0:
        how = f"signal {os.WTERMSIG(status)}" if os.WIFSIGNALED(status) else f"status {os.WEXITSTATUS(status)}"
        raise PlanFileError(source, f"reading it killed the reader ({how})", "is it nested beyond measure?")
    kind, content = _unpack(answer)
    if kind == "plan":
        return content  # type: ignore[no-any-return]
    if kind == "refused":
        raise PlanFileError(*content)
    raise RuntimeError(f"reading {source} failed in a child process\n{content}")


def _answer(connection: Any, make: Callable[[Percent], Plan], source: str, memory: int) -> None:
    """In the child: send how far it is, a byte each time; then the plan, or why there is none."""
    gc.disable()
    faulthandler.disable()
    with suppress(*GONE), os.fdopen(connection.fileno(), "wb", closefd=False) as pipe:

        def told(percent: int) -> None:
            pipe.write(bytes((max(1, min(percent, 100)),)))
            pipe.flush()

        reply = marshal.dumps(_reply(partial(make, told), source, memory))
        pipe.write(DONE)
        pipe.write(reply)


def _reply(make: Callable[[], Plan], source: str, memory: int) -> _Reply:
    try:
        return "plan", _pack(make())
    except PlanFileError as error:
        return "refused", (error.where, error.problem, error.help)
    except MemoryError:
        return "refused", (source, f"reading it takes more than {memory} bytes of memory", "is it a plan?")
    except Exception:  # handed on to the parent, which raises it there
        return "failed", traceback.format_exc()


def _pack(plan: Plan) -> dict[str, Any]:
    """The plan as plain tuples; equal objects that are one object stay one."""
    return {field.name: _PACK.get(field.name, _same)(getattr(plan, field.name)) for field in fields(plan)}


def _unpack(answer: bytes) -> _Reply:
    """The reply in `answer`. The garbage collector rests: there is nothing in a plan for it to find."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        kind, content = marshal.loads(answer)
        if kind == "plan":
            content = Plan(**{name: _UNPACK.get(name, _same)(value) for name, value in content.items()})
        return kind, content
    finally:
        if enabled:
            gc.enable()


def _same(value: Any) -> Any:
    return value


def _plain(rows: Any) -> Any:
    return tuple(map(tuple, rows))


def _rows(kind: Any) -> Callable[[Any], Any]:
    return lambda rows: tuple(map(kind._make, rows))


_PACK: dict[str, Callable[[Any], Any]] = {
    "logicals": _plain,
    "tensors": _plain,
    "segments": lambda rows: tuple((name, device, _plain(nodes)) for name, device, nodes in rows),
    "programs": lambda rows: tuple(map(_plain, rows)),
    "losses": _plain,
    "gradients": _plain,
    "outputs": _plain,
    "storages": _plain,
    "sources": _plain,
    "assumptions": lambda rows: tuple((row.name, row.text) for row in rows),
    "faults": lambda rows: tuple((row.code, row.title, row.where, row.help) for row in rows),
}

_UNPACK: dict[str, Callable[[Any], Any]] = {
    "logicals": _rows(Logical),
    "tensors": _rows(Tensor),
    "segments": lambda rows: tuple(
        Segment(name, device, tuple(map(Node._make, nodes))) for name, device, nodes in rows
    ),
    "programs": lambda rows: tuple(tuple(map(Call._make, calls)) for calls in rows),
    "losses": _rows(Held),
    "gradients": _rows(Held),
    "outputs": _rows(Held),
    "storages": _rows(Storage),
    "sources": _rows(Source),
    "assumptions": lambda rows: tuple(Assumption(*row) for row in rows),
    "faults": lambda rows: tuple(Finding(code, title, where, help=help) for code, title, where, help in rows),
}
