"""Real numbers that Python reads: they go on being values of the recording, as numbers of 64 bits of their own.

What is computed with such a number is computed on tensors of one element, which is what Python does with floats; where
two are compared, a choice decides where all ranks are recorded together. What follows from one that becomes a float of
Python's all the same is not proved. So a number that is kept, added up, printed or written to a log decides nothing.
"""

import json
import operator
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch._subclasses.fake_tensor import FakeTensor
from torch.distributed.tensor import DTensor
from torch.utils._python_dispatch import _disable_current_modes, _get_current_dispatch_mode
from torch.utils._pytree import tree_map

from verdict.backends.torch.outside import given
from verdict.backends.torch.recorder import Recorder

PRINTED = "printed-numbers"
"""The assumption that what is made a text of decides nothing."""
FLOAT = "a real number becomes a float of Python's"
FACTORS = {"add": "alpha", "sub": "alpha", "addcmul": "value", "addcdiv": "value"}
"""What multiplies the second argument of these functions, and takes numbers alone."""
READ = "a number is read out of a text of a number of the data"


class Number:
    """A real number of the data, which `isinstance` takes for a float. held: a tensor of one element in 64 bits."""

    __class__ = property(lambda self: float)

    def __init__(self, held: Any, recorder: Recorder) -> None:
        self._held = held
        self._recorder = recorder

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """What torch makes of numbers beside tensors; of floats where it takes numbers alone."""
        args, kwargs = _multiplied(func, args, kwargs or {})
        try:
            return func(*tree_map(_held, args), **tree_map(_held, kwargs))
        except TypeError:
            return func(*tree_map(_alone, args), **tree_map(_alone, kwargs))

    def __float__(self) -> float:
        if not self._recorder.live:
            return float(self._read())
        self._recorder.doubt(FLOAT)
        return self._real()

    def __int__(self) -> int:
        return int(self._held.long())

    def __bool__(self) -> bool:
        return bool(self._held != 0)

    def __hash__(self) -> int:
        return hash(float(self))

    def __reduce_ex__(self, protocol: Any) -> Any:
        self._recorder.doubt("a real number of the data is sent or kept as an object of Python's")
        return type(self._real()), (self._real(),)

    def __format__(self, how: str) -> str:
        return Text(format(self._told(), how), self._recorder)

    def __str__(self) -> str:
        return Text(self._told(), self._recorder)

    __repr__ = __str__

    def __neg__(self) -> "Number":
        return _number(-self._held, self._recorder)

    def __abs__(self) -> "Number":
        return _number(abs(self._held), self._recorder)

    def __round__(self, digits: int | None = None) -> Any:
        return round(float(self), digits)

    def _read(self) -> float:
        """The number, as torch reads it of a tensor: the recording says what cannot be said of it. The operator is
        called, as a mode for functions looks up `Tensor.item` anew, and finds what makes such numbers.
        """
        return torch.ops.aten._local_scalar_dense.default(self._held)  # type: ignore[no-any-return]

    def _real(self) -> float:
        if isinstance(self._held, FakeTensor):
            return self._read()
        with _disable_current_modes():
            return self._held.item()  # type: ignore[no-any-return]

    def _told(self) -> float:
        where = self._recorder.origin.name("text")
        self._recorder.notes[PRINTED] = f"numbers of the data that become a text decide nothing: {where}"
        return self._real()


class Text(str):
    """A text of a number of the data, out of which no number is read again that anything is known of."""

    _recorder: Recorder

    def __new__(cls, made: Any, recorder: Recorder) -> "Text":
        found = super().__new__(cls, made)
        found._recorder = recorder
        return found

    def __float__(self) -> float:
        self._recorder.doubt(READ)
        return float(str.__str__(self))

    def __int__(self) -> int:
        self._recorder.doubt(READ)
        return int(str.__str__(self))

    def __reduce_ex__(self, protocol: Any) -> Any:
        return str, (str.__str__(self),)


class Count(Number):
    """An integer of the data, which `isinstance` takes for one of Python's. held: a tensor of one element, int64."""

    __class__ = property(lambda self: int)

    def __int__(self) -> int:
        return int(self._read())

    __index__ = __int__

    def __round__(self, digits: int | None = None) -> Any:
        return round(int(self), digits)


def _is(value: Any) -> bool:
    return issubclass(type(value), Number)


def _number(held: Any, recorder: Recorder) -> Number:
    return Number(held, recorder) if held.is_floating_point() else Count(held, recorder)


def _held(value: Any) -> Any:
    return value._held if _is(value) else value


def _multiplied(func: Any, args: Any, kwargs: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    """The arguments of a call, what is added multiplied first where a number of the data says how often it counts."""
    factor = FACTORS.get(getattr(func, "__name__", "").removesuffix("_"), "")
    if not _is(kwargs.get(factor)) or len(args) < 2:
        return args, kwargs
    rest = {name: value for name, value in kwargs.items() if name != factor}
    return (args[0], args[1] * kwargs[factor], *args[2:]), rest


def _alone(value: Any) -> Any:
    """A float for a number, of which nothing is known then: what torch refused may have run in part."""
    if not _is(value):
        return value
    value._recorder.doubt(FLOAT)
    return value._real()


def _computing(compute: Callable[[Any, Any], Any], turned: bool) -> Callable[[Number, Any], Any]:
    def run(self: Number, other: Any) -> Any:
        if not isinstance(other, torch.Tensor | int | float):
            return NotImplemented
        mine, theirs = self._held, _held(other)
        if not isinstance(other, torch.Tensor) and (compute is operator.truediv or isinstance(other, float)):
            mine = mine.double()  # as Python divides, and multiplies by floats
        pair = (theirs, mine) if turned else (mine, theirs)
        if compute is operator.truediv and not isinstance(other, torch.Tensor) and not pair[1] != 0:
            raise ZeroDivisionError("float division by zero")
        made = compute(*pair)
        return made if isinstance(other, torch.Tensor) else _number(made, self._recorder)

    return run


def _comparing(compare: Callable[[Any, Any], Any]) -> Callable[[Number, Any], Any]:
    def run(self: Number, other: Any) -> Any:
        if not isinstance(other, torch.Tensor | int | float):
            return NotImplemented
        made = compare(self._held, _held(other))
        return made if isinstance(other, torch.Tensor) else bool(made)

    return run


def _as_float(compute: Callable[[Any, Any], Any], turned: bool) -> Callable[[Number, Any], Any]:
    def run(self: Number, other: Any) -> Any:
        number = int(self) if type(self) is Count else float(self)
        return compute(other, number) if turned else compute(number, other)

    return run


def _tensor(before: Callable[..., Any]) -> Callable[..., Any]:
    """`torch.tensor`, of a number or a list of numbers, too."""

    def tensor(data: Any, *args: Any, **kwargs: Any) -> Any:
        listed = data if isinstance(data, list | tuple) else (data,)
        if not any(map(_is, listed)):
            return before(data, *args, **kwargs)
        whole = all(isinstance(each, int) for each in listed)
        kind = torch.int64 if whole else torch.float64
        made = [(_held(each) if _is(each) else before(each)).to(kind) for each in listed]
        found = torch.stack(made) if listed is data else made[0].clone()
        dtype = kwargs.get("dtype") or (torch.int64 if whole else torch.get_default_dtype())
        return found.to(dtype).requires_grad_(bool(kwargs.get("requires_grad")))

    return tensor


def _written(before: Callable[..., Any]) -> Callable[..., Any]:
    """What JSON makes of values that it does not know: of a number the text."""

    def default(self: Any, value: Any) -> Any:
        return value._told() if _is(value) else before(self, value)

    return default


for _name in ("add", "sub", "mul", "truediv", "pow"):
    setattr(Number, f"__{_name}__", _computing(getattr(operator, _name), turned=False))
    setattr(Number, f"__r{_name}__", _computing(getattr(operator, _name), turned=True))
for _name in ("floordiv", "mod"):
    setattr(Number, f"__{_name}__", _as_float(getattr(operator, _name), turned=False))
    setattr(Number, f"__r{_name}__", _as_float(getattr(operator, _name), turned=True))
for _name in ("lt", "le", "gt", "ge", "eq", "ne"):
    setattr(Number, f"__{_name}__", _comparing(getattr(operator, _name)))


@contextmanager
def numbers(recorder: Recorder) -> Iterator[None]:
    """`item` of real numbers that depend on the data returns a `Number`, of integers a `Count`: these in steps that are
    recorded rank by rank.
    """
    before = torch.Tensor.item

    def item(self: Any) -> Any:
        counts = recorder.draws.within and not recorder.live
        whole = counts and not (self.is_floating_point() or self.is_complex() or self.dtype == torch.bool)
        is_number = (self.is_floating_point() or whole) and self.numel() == 1
        if not is_number or _get_current_dispatch_mode() is not recorder:
            return before(self)
        held = self.detach().full_tensor() if isinstance(self, DTensor) else self.detach()
        if recorder.tape.known([recorder.read(held)]):
            return before(self)
        return _number(held.reshape(()).to(torch.int64 if whole else torch.float64, copy=True), recorder)

    asked = torch.Tensor.__bool__

    def truth(self: Any) -> bool:
        """Whether a real number is not zero: a comparison like any other, where all ranks are recorded together."""
        real = self.is_floating_point() and self.numel() == 1 and not isinstance(self, DTensor)
        compared = real and recorder.live and _get_current_dispatch_mode() is recorder
        return bool(asked(self != 0 if compared else self))

    tensor = _tensor(torch.tensor)
    with (
        _scripted(tensor, torch.tensor),
        given(torch.Tensor, "item", item),
        given(torch.Tensor, "__bool__", truth),
        given(torch, "tensor", tensor),
        given(json.JSONEncoder, "default", _written(json.JSONEncoder.default)),
    ):
        yield


@contextmanager
def _scripted(function: Callable[..., Any], before: Callable[..., Any]) -> Iterator[None]:
    """What torch compiles as a script meanwhile reads `function` as the operator that it reads `before` as."""
    known = torch.jit._builtins._get_builtin_table()
    known[id(function)] = known[id(before)]
    try:
        yield
    finally:
        del known[id(function)]
