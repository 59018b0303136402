"""Choices that data makes, where all ranks are recorded together on real numbers.

Where an operator makes integers or truth values of real numbers (topk, a comparison) it chooses. What it chose on these
numbers stands in the recording behind a step `choice`, which hands on what it is given. Where Python reads integers or
truth values, or the shape of a result follows from them, a step `decision` says what they were. Which choices decide
what the program does is found when all ranks are known (`corresponding.py`).
"""

from collections.abc import Mapping, Sequence
from math import prod
from typing import TYPE_CHECKING, Any

import torch
from torch._subclasses.fake_tensor import FakeTensor
from torch.utils._python_dispatch import _disable_current_modes
from torch.utils._pytree import tree_map

from verdict.backends.torch.arguments import Call, called, plain
from verdict.backends.torch.folded import folded
from verdict.backends.torch.memory import value_of
from verdict.backends.torch.trace import BY_SHAPE, CHOICE, DECISION, UNMODELLED, Choice, Value

if TYPE_CHECKING:
    from verdict.backends.torch.recorder import Recorder

MOST_CHOSEN = 4096
"""The most elements of one choice, and of one decision."""
MOST_COMPARED = 1 << 16
"""The most numbers that one choice is made of."""
_MASKED = frozenset({"masked_select", "masked_scatter", "masked_scatter_backward"})
"""Operators that take elements out by a mask, or put them in."""
_ROWS = frozenset({"topk", "sort", "argsort", "argmax", "argmin", "max", "min", "kthvalue", "mode"})
"""Operators that choose along one dimension, for each row by itself."""
_EACH = frozenset({"gt", "ge", "lt", "le", "eq", "ne", "isnan", "isinf", "isfinite", "_to_copy", "signbit"})
"""Operators that choose for each element by itself."""


def is_discrete(value: Value) -> bool:
    """Whether a value is of integers or truth values."""
    return value.dtype == "bool" or value.dtype.startswith(("int", "uint"))


def chosen(recorder: "Recorder", call: Call, made: Sequence[Any], numbers: Sequence[int]) -> tuple[int, ...]:
    """The numbers of the values that a call makes, behind the choices among them. made: tensors, None for absent."""
    return tuple(
        number if tensor is None else _behind(recorder, call, tensor, number)
        for tensor, number in zip(made, numbers, strict=True)
    )


def given(recorder: "Recorder", tensor: Any, number: int, name: str) -> int:
    """The value of an input behind the choice that it is: integers and truth values of the data may decide, too."""
    if not is_discrete(recorder.tape.values[number]) or tensor.numel() > MOST_CHOSEN:
        return number
    return _emit(recorder, tensor, number, name, ())


def _behind(recorder: "Recorder", call: Call, tensor: Any, number: int) -> int:
    tape = recorder.tape
    fits = tensor.numel() <= MOST_CHOSEN and is_discrete(tape.values[number])
    if not fits or number in tape.decided or not recorder.live:
        return number
    rows = _rows(call, tensor)
    return number if rows is None else _emit(recorder, tensor, number, called(call.func), rows)


def _emit(recorder: "Recorder", tensor: Any, number: int, op: str, rows: tuple[tuple[float, ...], ...]) -> int:
    """The value behind the choice. rows: for each row of what is chosen the numbers that it is chosen by."""
    tape = recorder.tape
    (behind,) = recorder.emit(CHOICE, (number,), (tape.values[number],), {}, keep=True)
    tape.choose(Choice(behind, number, op, rows, numbers_in(tensor), recorder.origin.name(op)))
    return behind


def _rows(call: Call, made: Any) -> tuple[tuple[float, ...], ...] | None:
    real = [tensor for tensor in call.tensors if tensor.is_floating_point()]
    if not real or sum(tensor.numel() for tensor in real) > MOST_COMPARED:
        return None
    with _disable_current_modes(), torch.no_grad():
        if call.name in _EACH:
            rows = torch.stack([tensor.double().expand(made.shape).reshape(-1) for tensor in real], 1)
        elif call.name in _ROWS and _is_last(call, real[0]) and made.numel():
            rows = real[0].double().reshape(prod(real[0].shape[:-1]), -1)
        else:
            rows = torch.cat([tensor.double().reshape(-1) for tensor in real]).reshape(1, -1)
        return tuple(map(tuple, rows.tolist()))


def _is_last(call: Call, tensor: Any) -> bool:
    dim = call.given.get("dim")
    return dim is not None and dim % max(tensor.dim(), 1) == tensor.dim() - 1


def numbers_in(tensor: Any) -> tuple[int, ...]:
    """The integers in a tensor, in row-major order; truth values as 0 and 1."""
    with _disable_current_modes():
        found: Any = plain(tensor.detach().reshape(-1).long().tolist())
    return found  # type: ignore[no-any-return]


def decide(recorder: "Recorder", tensor: Any, how: str) -> bool:
    """Record that the program goes on by what `tensor` holds; False where that is not followed.

    how: what reads it, in words.
    """
    value = recorder.read(tensor)
    if recorder.tape.known([value]):
        return True
    if not recorder.live or not is_discrete(value_of(tensor)) or tensor.numel() > MOST_CHOSEN:
        return False
    recorder.emit(DECISION, (value,), (), {"how": how, "values": numbers_in(tensor)}, keep=True)
    return True


def knows(call: Call) -> bool:
    """Whether a call asks data for the shape of its result, or for a truth of Python's, in a way that is followed."""
    if call.name in ("index", "index_put", "index_put_", "_index_put_impl_"):
        alike = call.name != "index" and call.given["values"].numel() == 1
        return not alike and any(_is_mask(item) for item in call.given["indices"])
    if call.name in _MASKED or call.name in ("equal", "nonzero"):
        return True
    return torch.Tag.dynamic_output_shape in call.func.tags and not any(_is_real(each) for each in call.tensors)


def is_constant(recorder: "Recorder", call: Call) -> bool:
    """Whether what decides about such a call are constants of the recording: masks, repeats, places."""
    given = call.given
    masks = [item for item in given["indices"] if _is_mask(item)] if "indices" in given else call.tensors
    asked = [given["mask"]] if call.name in _MASKED else masks
    return call.name != "equal" and recorder.tape.known([recorder.read(tensor) for tensor in asked])


def fills(call: Call) -> bool:
    """Whether a call puts something at indices that are, in this run, all places of a tensor, each once. Dimensions
    behind those that have indices are whole.
    """
    if call.name not in ("index_put_", "_index_put_impl_") or call.given["accumulate"]:
        return False
    indices = [index for index in call.given["indices"] if index is not None]
    first, shape = call.given["indices"][: len(indices)], tuple(call.given["self"].shape)[: len(indices)]
    if not indices or any(index is None or _is_mask(index) for index in first):
        return False
    with _disable_current_modes():
        spread = torch.broadcast_tensors(*indices)
        places = torch.stack([index.reshape(-1) % size for index, size in zip(spread, shape, strict=True)], 1)
        return bool(len(places.unique(dim=0)) == len(places) == prod(shape))


def record_choice(recorder: "Recorder", call: Call) -> Any:
    """Run such a call, and record it by what it asks; what it returns."""
    given = call.given
    with recorder:
        if call.name == "equal":
            one, other = given["self"], given["other"]
            return one.shape == other.shape and bool(torch.eq(one, other).all())
        if call.name in _MASKED:
            return _masked(call.name, given)
        if call.name == "nonzero" and _is_real(given["self"]):
            return torch.ops.aten.nonzero(given["self"] != 0)
        if "indices" in given:
            return call.func(call.args[0], _places(given["indices"]), *call.args[2:], **call.kwargs)
    return _by_shape(recorder, call)


def _masked(name: str, given: Mapping[str, Any]) -> Any:
    """What is taken out by a mask or put in, in row-major order, by the places where the mask is true."""
    held = given["grad_output" if name == "masked_scatter_backward" else "self"]
    held, mask = torch.broadcast_tensors(held, given["mask"])
    places = _places([mask])
    if name == "masked_scatter":
        return torch.ops.aten.index_put(held, places, given["source"].reshape(-1)[: len(places[0])])
    found = torch.ops.aten.index.Tensor(held, places)
    if name == "masked_select":
        return found
    return torch.cat([found, found.new_zeros(prod(given["sizes"]) - len(found))]).reshape(given["sizes"])


def _is_real(tensor: Any) -> bool:
    return bool(tensor.is_floating_point() or tensor.is_complex())


def _is_mask(item: Any) -> bool:
    return item is not None and item.dtype in (torch.bool, torch.uint8)


def _places(indices: Sequence[Any]) -> list[Any]:
    """Indices, truth values among them by the places of those that are true."""
    found: list[Any] = []
    for item in indices:
        found += torch.ops.aten.nonzero(item).unbind(1) if _is_mask(item) else [item]
    return found


def _by_shape(recorder: "Recorder", call: Call) -> Any:
    """An operator of integers and truth values, which decide the shape of its result: constants, once they did."""
    for tensor in call.tensors:
        if not decide(recorder, tensor, called(call.func)):
            return recorder.instead(call, f"{BY_SHAPE}: {called(call.func)}")
    found = call.run() if recorder.live else _of_constants(recorder, call)
    outputs = found if isinstance(found, tuple | list) else [found]
    if any(tensor.numel() > MOST_CHOSEN for tensor in outputs):
        recorder.emit(UNMODELLED, (), (), {"reason": f"{called(call.func)} makes too many constants"}, keep=True)
    made = [_as_held(call, tensor) for tensor in outputs]
    for tensor, numbers in zip(made, map(numbers_in, outputs), strict=True):
        recorder.memory.write(tensor, recorder.numbers(value_of(tensor), numbers))
    return type(found)(made) if isinstance(found, tuple | list) else made[0]


def _of_constants(recorder: "Recorder", call: Call) -> Any:
    """What an operator makes of constants of the recording, whose tensors need not hold them."""

    def held(item: Any) -> Any:
        return folded(recorder.tape, recorder.read(item)) if isinstance(item, torch.Tensor) else item

    args, kwargs = tree_map(held, (tuple(call.args), dict(call.kwargs)))
    with _disable_current_modes():
        return call.func(*args, **kwargs)


def _as_held(call: Call, tensor: Any) -> Any:
    """A tensor without data where the call's are such."""
    fake = next((each for each in call.tensors if isinstance(each, FakeTensor)), None)
    return tensor if fake is None else fake.fake_mode.from_tensor(tensor)
