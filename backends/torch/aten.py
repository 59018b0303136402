"""ATen's operators as nodes: pure ones as they are, in-place ones by their pure twin, views by place in memory."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import torch
from torch._decomp import decomposition_table
from torch._subclasses.fake_tensor import DataDependentOutputException, DynamicOutputShapeException
from torch.utils._python_dispatch import _disable_current_modes

from verdict.backends.torch import choices, fused, grouped, paired, scaling
from verdict.backends.torch.arguments import Call, called, encode, functional_of, plain, tensors_in
from verdict.backends.torch.collectives import Unknown
from verdict.backends.torch.decomposed import taken_apart
from verdict.backends.torch.draws import is_random, record_draw
from verdict.backends.torch.folded import folded
from verdict.backends.torch.foreach import elements
from verdict.backends.torch.memory import value_of
from verdict.backends.torch.moved import copied_as_held
from verdict.backends.torch.overlaps import entangled, unordered
from verdict.backends.torch.ranges import beyond
from verdict.backends.torch.scalars import of_numbers
from verdict.backends.torch.trace import BY_PYTHON, Value
from verdict.backends.torch.views import retyped, selected, sliced, view_of
from verdict.backends.torch.widths import modulo
from verdict.errors import UsageError

if TYPE_CHECKING:
    from verdict.backends.torch.recorder import Recorder

_UNSET = frozenset({"empty", "new_empty", "empty_like", "empty_strided", "new_empty_strided", "empty_permuted"})
_ESCAPES = frozenset({"_local_scalar_dense", "equal", "is_nonzero", "nonzero", "_assert_async"})
_NO_CHANGE = frozenset({"detach_", "set_", "record_stream", "_linalg_check_errors"})
"""Operators that change no number: one raises where a matrix has no factors, of which rules make no number there."""
_LIFTS = frozenset({"lift", "lift_fresh", "lift_fresh_copy"})
_UNSAID = frozenset({"native_batch_norm", "native_batch_norm_backward"})
"""Operators that write to arguments without saying so, and what belongs to them: taken apart into others."""
_ADDED_TO = frozenset({"addmm", "addmv", "addbmm", "baddbmm", "addr"})
"""Operators that add a product to beta times what they are given first."""


def record_aten(recorder: "Recorder", call: Call) -> Any:
    """Run a call of an ATen operator and record it; what it returns."""
    if call.name in _NO_CHANGE:
        return call.run()
    if call.name in _LIFTS:
        value = recorder.read(call.args[0])
        output = call.run()
        if not recorder.memory.knows(output):
            recorder.memory.write(output, value)
        recorder.watch.same(output, call.args[0])
        return output
    if choices.knows(call) and (recorder.live or choices.is_constant(recorder, call)):
        return choices.record_choice(recorder, call)
    if call.name in _ESCAPES:
        return _escape(recorder, call)
    if call.name in _UNSAID:
        return _apart(recorder, call)
    if any(known.is_known(call.name, call.given) for known in (fused, grouped, scaling)):
        return _taken(recorder, call)
    if is_random(call):
        return record_draw(recorder, call)
    if call.name.startswith("_foreach_"):
        return _foreach(recorder, call)
    others = of_numbers(call) or paired.taken_apart(call, recorder.memory) or taken_apart(call)
    if others is not None:
        return _by_others(recorder, call, others)
    if call.written:
        return _change(recorder, call)
    if _is_view(call.func):
        return _viewed(recorder, call)
    return _pure(recorder, call)


def _viewed(recorder: "Recorder", call: Call) -> Any:
    """A view. Seen as another type, nothing of it is read: what reads it asks for what is in its memory."""
    if retyped(call.name, call.overload):
        if not recorder.memory.knows(call.args[0]):
            recorder.read(call.args[0])
        return call.run()
    output = call.run()
    _view(recorder, call, output)
    return output


def _apart(recorder: "Recorder", call: Call) -> Any:
    """A call that is taken apart into others. What it reads as a variance is noted, if nothing of it is negative."""
    variance = call.given["running_var"] if call.given.get("training") is False else None
    if variance is not None and beyond(variance, 0, None) is None:
        recorder.variances.add(recorder.read(variance))
    with recorder:
        return decomposition_table[call.func](*call.args, **call.kwargs)


def _by_others(recorder: "Recorder", call: Call, others: Callable[..., Any]) -> Any:
    """A call that is recorded as other operators, which compute what it returns or writes."""
    with recorder:
        made = others(*call.args, **_unwritten(call))
        if made is NotImplemented:
            raise Unknown(f"{called(call.func)} has no rule for what it is given")
        return call.written[0].copy_(made) if call.written else made


def _unwritten(call: Call) -> dict[str, Any]:
    """The arguments by name, but for those that are only written."""
    outside = {argument.name for argument in call.func._schema.arguments if argument.is_write and argument.kwarg_only}
    return {name: value for name, value in call.kwargs.items() if name not in outside}


def _taken(recorder: "Recorder", call: Call) -> Any:
    """What an optimizer or a scaler does, taken apart, or a call that is as its offsets say, which decide that."""
    for known in (fused, scaling):
        if known.is_known(call.name, call.given):
            with recorder:
                return known.take(call.name, call.given)
    ends = grouped.offsets(call.name, call.given)
    if ends is not None and not choices.decide(recorder, ends, called(call.func)):
        return recorder.instead(call, f"data decides which rows belong together: {called(call.func)}")
    with recorder:
        return grouped.take(call.name, call.given, () if ends is None else choices.numbers_in(ends))


def _is_view(func: Any) -> bool:
    """Whether the schema says that what is returned shares memory with an argument, and nothing is written."""
    return any(made.alias_info is not None and not made.alias_info.is_write for made in func._schema.returns)


def _pure(recorder: "Recorder", call: Call) -> Any:
    read = _reader(recorder, call)
    inputs, attrs = ((), {}) if call.name in _UNSET else encode(call.func, call.args, call.kwargs, read)
    output = call.run()
    made = list(output) if isinstance(output, list | tuple) else [output]
    for tensor in tensors_in(made):
        kind, other = _of_no_memory(tensor)
        if kind:
            problem = f"{called(call.func)} makes a {kind} tensor, of which no recording has the memory"
            raise recorder.refuse(UsageError(recorder.origin.name(call.name), problem, f"use {other}"))
    if any(recorder.memory.knows(tensor) for tensor in tensors_in(made)):
        _view(recorder, call, output)
        return output
    if call.name in _UNSET:
        value = value_of(output)
        (number,) = recorder.emit("aten.empty.memory_format", (), (value,), {"size": value.shape})
        recorder.memory.blank(output, number, len(recorder.tape.steps) - 1)
        return output
    if not any(isinstance(tensor, torch.Tensor) for tensor in made):
        return output
    attrs = modulo(attrs, [*call.args, *call.kwargs.values()], made)
    values = recorder.emit(called(call.func), inputs, [None if t is None else value_of(t) for t in made], attrs)
    values = choices.chosen(recorder, call, made, values)
    for tensor, number in zip(made, values, strict=True):
        if tensor is not None:
            recorder.memory.write(tensor, number)
    return output


def _of_no_memory(tensor: Any) -> tuple[str, str]:
    """Of which kind a tensor is that does not lie in memory as one array, and what to use instead; "" of others."""
    if tensor.is_nested:
        return "nested", "padded ones, or the layout torch.jagged"
    return ("sparse", "dense ones (sparse=False)") if tensor.layout is not torch.strided else ("", "")


def _reader(recorder: "Recorder", call: Call) -> Callable[[Any], int]:
    """The number of the value that a tensor is read as. What is multiplied by a beta of 0 is not read: it counts as 0,
    whatever it holds, also nothing.
    """
    if call.given.get("beta") != 0 or call.name not in _ADDED_TO:
        return recorder.read
    unread = call.given["self"]

    def read(tensor: Any) -> int:
        if tensor is not unread:
            return recorder.read(tensor)
        value = value_of(tensor)
        return recorder.emit("aten.zeros", (), (value,), {"size": value.shape})[0]

    return read


def _view(recorder: "Recorder", call: Call, output: Any) -> None:
    """What is returned shares memory with the first tensor: one view, or consecutive pieces along a dimension."""
    base = call.tensors[0]
    if not recorder.memory.knows(base):
        recorder.read(base)
    shape = tuple(base.shape)
    if isinstance(output, torch.Tensor):
        view = view_of(call.name, call.overload, call.given, shape, tuple(output.shape))
        recorder.memory.alias(output, base, view, recorder.origin.name(view.op if view else "aten.as_strided"))
        return
    if "dim" not in call.given:
        raise Unknown(f"which views {called(call.func)} returns is not known")
    start, dim = 0, call.given["dim"] % len(shape)
    for index, tensor in enumerate(output):
        if call.name == "unbind":
            view = selected(dim, index, shape)
        else:
            view = sliced(dim, start, start + tensor.shape[dim], 1, shape)
            start += tensor.shape[dim]
        recorder.memory.alias(tensor, base, view, recorder.origin.name(view.op))


def _change(recorder: "Recorder", call: Call) -> Any:
    """An operator that writes to its arguments: what it writes is computed by its pure twin."""
    if unordered(call):
        raise Unknown(f"where {called(call.func)} writes it reads something else")
    if call.name in ("copy_", "zero_", "fill_"):
        target, source = call.given["self"], call.given.get("src", call.given.get("value", 0))
        if call.name == "copy_":
            target, source = copied_as_held(target, source, recorder.memory)
        value = _copied(recorder, target, source) if call.name == "copy_" else _filled(recorder, target, source)
        output = call.run()
        recorder.write(target, value)
        return output
    if recorder.live and choices.fills(call) and recorder.memory.is_blank(call.args[0]):
        _begun(recorder, call)
    pure, changed = functional_of(call.func), call.written
    if pure is None or len(pure._schema.returns) != len(changed):
        raise Unknown(f"what {called(call.func)} writes is not known")
    kept = _unwritten(call)
    inputs, attrs = encode(pure, call.args, kept, recorder.read)
    output = call.run()
    attrs = modulo(attrs, [*call.args, *kept.values()], changed)
    values = recorder.emit(called(pure), inputs, [value_of(tensor) for tensor in changed], attrs)
    for tensor, made in zip(changed, values, strict=True):
        recorder.write(tensor, made)
    return output


def _begun(recorder: "Recorder", call: Call) -> None:
    """Memory that nothing was written to, all of which is written by indices that are decided, may hold zeros."""
    indices = (index for index in call.given["indices"] if index is not None)
    if all(choices.decide(recorder, index, called(call.func)) for index in indices):
        recorder.write(call.args[0], _filled(recorder, call.args[0], 0))


def _copied(recorder: "Recorder", target: Any, source: Any) -> int:
    """The value of `source` in the shape and dtype of `target`."""
    made, value, found = value_of(target), recorder.read(source), value_of(source)
    if found.dtype != made.dtype:
        found = Value(found.shape, made.dtype)
        (value,) = recorder.emit("aten._to_copy", (value,), (found,), {"dtype": made.dtype})
    if found.shape != made.shape:
        (value,) = recorder.emit("aten.expand", (value,), (made,), {"size": made.shape})
    return recorder.emit("aten.clone", (value,), (made,), {})[0]


def _filled(recorder: "Recorder", target: Any, fill: Any) -> int:
    if isinstance(fill, torch.Tensor):
        return _copied(recorder, target, fill)
    made = value_of(target)
    attrs = {"size": made.shape, "fill_value": plain(fill), "dtype": made.dtype}
    return recorder.emit("aten.full", (), (made,), attrs)[0]


def _foreach(recorder: "Recorder", call: Call) -> Any:
    """One node for each element of the lists; all are read before any is written."""
    if entangled(call):
        raise Unknown(f"what {called(call.func)} writes stands in its lists again")
    if call.name == "_foreach_copy_":
        values = [_copied(recorder, target, source) for target, source in zip(*call.args[:2], strict=True)]
        return _end_foreach(recorder, call.run(), call.written, values)
    if call.name == "_foreach_zero_":
        return _end_foreach(recorder, call.run(), call.written, [_filled(recorder, t, 0) for t in call.args[0]])
    calls = elements(call.func, call.args, call.kwargs)
    if not calls:
        raise Unknown(f"what {called(call.func)} computes is not known")
    encoded = [(pure, *encode(pure, args, kwargs, recorder.read)) for pure, args, kwargs in calls]
    output = call.run()
    made = call.written or output
    values = [
        recorder.emit(called(pure), inputs, (value_of(tensor),), attrs)[0]
        for (pure, inputs, attrs), tensor in zip(encoded, made, strict=True)
    ]
    return _end_foreach(recorder, output, made, values)


def _end_foreach(recorder: "Recorder", output: Any, made: Sequence[Any], values: Sequence[int]) -> Any:
    for tensor, value in zip(made, values, strict=True):
        recorder.write(tensor, value)
    return output


def _escape(recorder: "Recorder", call: Call) -> Any:
    """A value becomes a number of Python's. Of constants that is exact; anything else may decide what runs."""
    values = [recorder.read(tensor) for tensor in call.tensors]
    if not recorder.live and not recorder.tape.communicated.isdisjoint(values):
        why = "what ranks communicate is read by Python, as if each had sent its own"
        recorder.heard[recorder.origin.name(why)] = None
    if call.name != "nonzero" and recorder.tape.known(values):
        with _disable_current_modes():
            return call.func(*(folded(recorder.tape, value) for value in values))
    if recorder.live and all(choices.decide(recorder, tensor, called(call.func)) for tensor in call.tensors):
        return call.run()
    try:
        return recorder.instead(call, f"{BY_PYTHON}: {called(call.func)}")
    except (DataDependentOutputException, DynamicOutputShapeException):
        problem = f"a value that depends on the inputs decides what the program does ({called(call.func)})"
        remedy = "keep it a tensor; or record with --tensors real, where what it decides is said not to be modelled"
        raise recorder.refuse(UsageError(recorder.origin.name(call.name), problem, remedy)) from None
