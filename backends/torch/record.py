"""Record one rank: build the program, run its step under the recorder, and read what it holds at the end."""

import os
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, nullcontext
from dataclasses import replace
from functools import partial
from typing import Any

import torch
from torch.utils._python_dispatch import _disable_current_modes

from verdict.backends.torch.beginnings import FIRST_SEED, ways
from verdict.backends.torch.choices import given
from verdict.backends.torch.composites import kept_whole
from verdict.backends.torch.converted import conversions
from verdict.backends.torch.delivered import delivered
from verdict.backends.torch.door import require_loss, require_program
from verdict.backends.torch.ends import End, called, ends_of, named
from verdict.backends.torch.folded import NotFolded, folded
from verdict.backends.torch.host import World, waits, world
from verdict.backends.torch.live import Live, join, objects, take
from verdict.backends.torch.memory import followed, value_of
from verdict.backends.torch.origin import Origin
from verdict.backends.torch.outside import outside
from verdict.backends.torch.overwritten import overwritten
from verdict.backends.torch.program import Context, Load, Program
from verdict.backends.torch.ranges import ranges_of, with_variances
from verdict.backends.torch.reals import numbers
from verdict.backends.torch.recorder import NAME_IT, Recorder
from verdict.backends.torch.saved import files
from verdict.backends.torch.shares import local, share_of
from verdict.backends.torch.trace import (
    CHOICE,
    COMMUNICATION,
    DECISION,
    GIVEN,
    KEPT,
    SHAPE_ALONE,
    UNMODELLED,
    UPDATED,
    Bound,
    Step,
    Trace,
    Value,
    living,
    shared,
)
from verdict.backends.torch.unseen import Shapes
from verdict.backends.torch.unwritten import NEVER_WRITTEN, reaching
from verdict.backends.torch.validated import unvalidated
from verdict.errors import UsageError
from verdict.graph import ABSENT

_FILL = {"aten.new_ones": 1, "aten.new_zeros": 0, "aten.ones_like": 1, "aten.zeros_like": 0}
"""What operators fill with that read a shape alone, where they do not say it."""
_AS_THEY_ARE = dict.fromkeys(("deterministic", "allow_tf32", "fp32_precision"))
"""Flags of the library of kernels without which programs are recorded: in it a layer is one operator with memory of its
own, where ATen's operators compute the same.
"""
INFERRED = "inferred-shares"
"""The assumption that says what nobody stated of the program's tensors, and what was inferred instead."""


def record(
    load: Load, rank: int, ranks: int, tensors: str = "fake",
    together: Mapping[str, Any] | None = None,
) -> Trace:  # fmt: skip
    """The trace of one rank, of the program that the function that `load` imports builds.

    tensors: "fake" for tensors without data, "real" for real ones. together: where all ranks are recorded together, on
    real tensors, how: what a `Live` holds.

    Raises UsageError where the program cannot be recorded.
    """
    begun = time.perf_counter()
    with ExitStack() as stack:
        live = Live(**together) if together else None
        made = stack.enter_context(world(rank, ranks, partial(join, live, rank, ranks) if live else None))
        torch.manual_seed(FIRST_SEED)
        build = load()
        shapes = Shapes(allow_non_fake_inputs=True) if tensors == "fake" else None
        stack.enter_context(shapes or nullcontext())
        origin = stack.enter_context(Origin())
        recorder = Recorder(rank, origin, made.meetings, live is not None)
        pending = recorder.pending
        if shapes:
            shapes.unseen = recorder.watch.unseen
            stack.enter_context(conversions())
        within, future = (pending.alone, recorder.apart, pending.later), partial(made.hooks.future, pending.written)
        stack.enter_context(waits(partial(_waited, recorder), pending.asked, within, future))
        stack.enter_context(outside(recorder))
        stack.enter_context(torch.backends.mkldnn.flags(enabled=False, **_AS_THEY_ARE))
        if tensors != "fake":
            stack.enter_context(files(recorder, rank, str(live.store) if live else str(os.getpid())))
        if live:
            stack.enter_context(objects(recorder))
        stack.enter_context(numbers(recorder))
        stack.enter_context(kept_whole())
        stack.enter_context(unvalidated(recorder))
        stack.enter_context(recorder)
        try:
            program = require_program(build(Context(rank, ranks)))
            if live:
                take(program, live, recorder)
            trace = _step(program, recorder, rank, ranks, made, begun)
            return trace if live else delivered((trace,))[0]
        finally:
            if recorder.refused:
                raise recorder.refused[0]


def _step(program: Program, recorder: Recorder, rank: int, ranks: int, around: World, begun: float) -> Trace:
    recorder.origin.of(program)
    params = named(program)
    ranges = ranges_of(program, params)
    ends = _Ends(program, recorder)
    memory, there = recorder.memory, {name: local(tensor) for name, tensor in params.items()}
    held = {name: memory.read(tensor) for name, tensor in there.items() if memory.knows(tensor)}
    how = ways(recorder.tape, rank)
    built, recorder.draws.within = len(recorder.tape.steps), True
    for name, tensor in program.inputs.items():
        ends.begin("input", name, tensor)
    for name, tensor in params.items():
        ends.begin("weight" if tensor.requires_grad else "buffer", name, tensor)
    listed = {name: local(tensor) for name, tensor in {**program.inputs, **params}.items()}
    recorder.memory.carry(listed.values())
    recorder.watch.begin(listed)
    loss = program.step()
    require_loss(loss)
    recorder.pending.finish()
    declared = list(ends_of(program, params, ends.shapes, loss))
    for end in declared:
        ends.end(end)
    ends.require_listed([*listed.values(), *(local(end.tensor) for end in declared)])
    recorder.watch.finish()
    told = (bound.value for bound in ends.bound if bound.kind not in GIVEN)
    allocated = reaching(recorder.tape, recorder.memory.unwritten, told)
    tape, inferred = recorder.tape, [(INFERRED, program.inferred)] if program.inferred else []
    trace = Trace(
        rank,
        ranks,
        tuple(tape.values),
        tuple(tape.steps),
        tuple(ends.bound),
        _mesh(around.meshes, ranks),
        notes=(*around.notes, *around.hooks.waiting(), *ends.notes, *recorder.notes.items(), *inferred),
        doubts=tuple(recorder.doubts),
        heard=tuple(recorder.heard),
        meetings=tuple(recorder.meetings),
        beginnings=tuple((called(program, name), how[value]) for name, value in held.items() if value in how),
        ranges=with_variances(ranges, ends.bound, recorder.variances),
        choices=tuple(tape.choices),
        sources=tuple((file, line, text) for (file, line), text in sorted(recorder.origin.lines.items())),
    )
    steps = tuple(_settled(step, at < built, at in allocated, tape.values) for at, step in enumerate(trace.steps))
    return replace(shared(living(overwritten(replace(trace, steps=steps)))), seconds=time.perf_counter() - begun)


_FROM_BUILD = (
    "the step reads what was made of weights while the program was built, which is not followed "
    "(an average of weights or a copy of the model is named in Program.params)"
)


def _waited(recorder: Recorder, work: Any) -> Callable[[], None]:
    """A work is waited for; what is called when that has ended."""
    return partial(recorder.watch.unseen.arrive, recorder.pending.waited(work))


def _settled(step: Step, before: bool, leaked: bool, values: list[Value]) -> Step:
    """What is left of a step when the whole recording is known.

    What is made like a tensor before the step, a state of an optimizer for instance, has its shape and none of its
    values. Uninitialised memory all of which is written before it is read may hold anything: zeros. What was
    communicated before the step began matters only if its value does, and then it is not modelled.
    """
    if step.op == "aten.empty.memory_format":
        if leaked:
            return _unmodelled(step, _FROM_BUILD if before else NEVER_WRITTEN)
        made = values[step.outputs[0]]
        return step._replace(op="aten.full", attrs=(("dtype", made.dtype), ("fill_value", 0), ("size", made.shape)))
    if before and step.op in SHAPE_ALONE:
        made, attrs = values[step.outputs[0]], dict(step.attrs)
        fill = attrs.get("fill_value", _FILL.get(step.op))
        filled = (("dtype", made.dtype), ("fill_value", fill), ("size", made.shape))
        return step._replace(op="aten.full", inputs=(), attrs=filled)
    if before and step.op in COMMUNICATION and step.outputs:
        return _unmodelled(step, f"{step.op} while the program was built")
    if before and step.op not in (CHOICE, DECISION) and (step.keep or step.op in COMMUNICATION):
        return _unmodelled(step._replace(outputs=()), "before the step")
    return step


def _unmodelled(step: Step, reason: str) -> Step:
    return step._replace(op=UNMODELLED, attrs=(("reason", reason),), name=f"{reason}: {step.name}", keep=False)


class _Ends:
    """The tensors with names: what they hold at the beginning of the step, and at its end."""

    def __init__(self, program: Program, recorder: Recorder) -> None:
        self._program = program
        self._recorder = recorder
        self._began: dict[str, int] = {}
        self._made: dict[int, Step] = {}
        self._looked_at = 0
        self.shapes: dict[str, tuple[int, ...]] = {}
        self.bound: list[Bound] = []
        self.notes: list[tuple[str, str]] = []

    def begin(self, kind: str, name: str, tensor: Any) -> None:
        """From now on, `tensor` holds the input or parameter `name`."""
        shape, region, part, divisor = share_of(name, tensor, self._program.specs.get(name))
        if divisor != 1:
            raise UsageError(name, "an input or parameter cannot be given as a mean", "correct its spec")
        held = local(tensor)
        value = self._recorder.tape.value(value_of(held))
        with followed(name):
            self._recorder.memory.write(held, value)
            if self._recorder.live:
                self._recorder.memory.write(held, given(self._recorder, held, value, called(self._program, name)))
        if kind != "input":
            self._began[name], self.shapes[name] = value, tuple(held.shape)
        self.bound.append(Bound(kind, called(self._program, name), value, shape, region, part))

    def end(self, end: End) -> None:
        """A tensor holds at the end what its name must be."""
        shape, region, part, divisor = share_of(end.name, end.tensor, end.share)
        held, kind, recorder = local(end.tensor), end.kind, self._recorder
        with followed(end.name):
            value = recorder.read(held)
        if kind == UPDATED and self._source(value) == self._began[end.name]:
            value, kind = self._began[end.name], KEPT
        if divisor != 1:
            name = f"div ({end.name} is a mean over {divisor} ranks)"
            (value,) = recorder.tape.emit("aten.div.Tensor", (value,), (value_of(held),), {"other": divisor}, name)
            text = f"the single-device {end.name} is the mean of {divisor} ranks' {end.name}"
            self.notes.append(("mean-over-ranks", text))
        self.bound.append(Bound(kind, called(self._program, end.name), value, shape, region, part))

    def require_listed(self, listed: Sequence[Any]) -> None:
        """Raise UsageError where the step changes memory that it also reads, that was there before it, and that is of
        none of `listed`: a state of training of which nothing would be said.
        """
        for where, began, now in self._recorder.memory.carried(listed):
            if not self._alike(began, now):
                problem = "the step reads and changes a tensor that was there before it, and that nobody names"
                raise self._recorder.refuse(UsageError(where, problem, f"{NAME_IT}, or in Program.outputs"))

    def _alike(self, one: int, other: int) -> bool:
        """Whether two values are copies of one, are made by the same operator of nothing, or are the same constant."""
        one, other = self._source(one), self._source(other)
        first, second = self._made.get(one), self._made.get(other)
        if one == other or first is None or second is None:
            return one == other
        if not first.inputs and not second.inputs and (first.op, first.attrs) == (second.op, second.attrs):
            return True
        tape = self._recorder.tape
        if not {one, other} <= tape.constant:
            return False
        try:
            return bool(torch.equal(folded(tape, one), folded(tape, other)))
        except NotFolded:
            return False

    def _source(self, value: int) -> int:
        """The value that `value` is a copy of, or itself."""
        for step in self._recorder.tape.steps[self._looked_at :]:
            self._made |= {made: step for made in step.outputs if made != ABSENT}
        self._looked_at = len(self._recorder.tape.steps)
        while value in self._made:
            source = _copied(self._made[value], self._made)
            if source is None:
                return value
            value = source
        return value


def _copied(step: Step, made: Mapping[int, Step]) -> int | None:
    """The value that a step hands on as it is: by a copy, or by taking out what was put in; None if by neither."""
    if step.op in ("aten.clone", "aten.alias", CHOICE):
        return step.inputs[0]
    if step.op == "aten.slice.Tensor":
        base = made.get(step.inputs[0])
        if base is not None and base.op == "aten.slice_scatter" and base.attrs == step.attrs:
            return base.inputs[1]
    return None


def _mesh(meshes: Any, ranks: int) -> tuple[tuple[str, int], ...]:
    """Names and sizes of a mesh of all ranks that has names."""
    with _disable_current_modes():
        for mesh in meshes:
            names, places = mesh.mesh_dim_names, mesh.mesh
            if names and places.flatten().tolist() == list(range(ranks)):
                return tuple(zip(names, places.shape, strict=True))
    return ()
