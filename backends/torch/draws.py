"""What a step draws at random, as nodes `random_draw`: from which state of a generator, what, in which shape.

Tensors without data draw nothing, so that the generator would stay as it is: then the same is drawn once more on real
memory. A draw of which that is not known, or which is too large, puts the generator into a state of its own, made of
the one before; what is drawn from there on is not modelled until somebody seeds it.
"""

import hashlib
import math
from collections import Counter
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import torch
from torch._subclasses.fake_tensor import FakeTensor
from torch.utils._python_dispatch import TorchDispatchMode, _disable_current_modes
from torch.utils._pytree import tree_map

from verdict.backends.torch.arguments import Call, called, is_composite, is_plain
from verdict.backends.torch.beginnings import FIRST_SEED, NO_SEED
from verdict.backends.torch.memory import value_of
from verdict.graph.draws import BERNOULLI, DRAW, EXPONENTIAL, INTEGERS, NORMAL, UNIFORM

if TYPE_CHECKING:
    from verdict.backends.torch.recorder import Recorder

MOST_DRAWN = 2**20
"""Of tensors without data, the most elements that are drawn on real memory."""
_NAME_IT = "; what the step reads that is made of it is named in Program.params"
_LOST = 0x7E5D << 48
"""Seeds of generators whose state is not known begin like this."""


class Kind(NamedTuple):
    """What is drawn: its kind and its parameters."""

    name: str
    parameters: tuple[float, ...]

    @property
    def constant(self) -> bool | None:
        """What is drawn for certain, where it is."""
        return bool(self.parameters[0]) if self.name == BERNOULLI and self.parameters[0] in (0, 1) else None


def _of(name: str, *parameters: str, **fixed: float) -> Callable[[Mapping[str, Any]], Kind]:
    return lambda given: Kind(name, (*(float(given[each]) for each in parameters), *map(float, fixed.values())))


def _integers(given: Mapping[str, Any]) -> Kind:
    low, high = (given.get("low", given.get("from", 0)) or 0), given.get("high", given.get("to"))
    return Kind(INTEGERS, (int(low), int(high)))


_KINDS: Mapping[tuple[str, str], Callable[[Mapping[str, Any]], Kind]] = {
    ("bernoulli_", "float"): _of(BERNOULLI, "p"),
    ("bernoulli", "p"): _of(BERNOULLI, "p"),
    ("uniform_", ""): _of(UNIFORM, "from", "to"),
    ("normal_", ""): _of(NORMAL, "mean", "std"),
    ("exponential_", ""): _of(EXPONENTIAL, "lambd"),
    **{(name, over): _of(UNIFORM, low=0, high=1) for name in ("rand", "rand_like") for over in ("", "generator")},
    **{(name, over): _of(NORMAL, mean=0, std=1) for name in ("randn", "randn_like") for over in ("", "generator")},
    **{("randint", over): _integers for over in ("", "generator", "low", "low_generator")},
    **{("randint_like", over): _integers for over in ("", "low_dtype")},
    **{("random_", over): _integers for over in ("from", "to")},
}
"""Operators whose draws are of numbers alone, by name and overload: elements that are independent and alike."""
_FILLS = frozenset({("random_", ""), ("geometric_", ""), ("cauchy_", ""), ("log_normal_", "")})
"""Others that draw by numbers alone. A loader's iterator draws a seed by the first of them."""


def is_random(call: Call) -> bool:
    """Whether a call draws random numbers."""
    tagged = torch.Tag.nondeterministic_seeded in call.func.tags
    return bool(tagged and call.given.get("dropout_p") != 0.0)


def kind_of(call: Call) -> Kind | None:
    """What a call draws; None where that depends on tensors, or is not known here."""
    found = _KINDS.get((call.name, call.overload))
    return found(call.given) if found else None


def layout(tensor: Any) -> tuple[int, ...]:
    """The strides of a tensor that is not dense from the last dimension on, on which depends what is drawn where."""
    return () if tensor.is_contiguous() else tuple(int(step) for step in tensor.stride())


def generator_of(call: Call) -> Any:
    """The generator that a call draws from."""
    generator = call.given.get("generator")
    return torch.default_generator if generator is None else generator


def state_of(generator: Any) -> str:
    """A word for all of a generator's state."""
    with _disable_current_modes():
        return hashlib.blake2b(generator.get_state().numpy().tobytes(), digest_size=8).hexdigest()


class Draws:
    """What has been drawn so far. within: whether the step has begun. number: of draws of known kinds in the step."""

    def __init__(self) -> None:
        self._count: Counter[int] = Counter()
        self._first: dict[int, int] = {}
        self.within = False
        self.number = 0

    def next(self, generator: Any) -> str:
        """The seed of a generator, and the number of the draw."""
        seed = generator.initial_seed()
        seed = self._first.get(seed, seed)
        self._count[seed] += 1
        own = seed == FIRST_SEED and generator is torch.default_generator
        return f"{NO_SEED if own else f'seed {seed}'}, draw {self._count[seed]}"

    def lost(self, generator: Any) -> bool:
        """Whether the state of a generator is not the one that it has in a run."""
        return generator.initial_seed() in self._first

    def advance(self, call: Call, target: Any, before: str) -> None:
        """Put the generator, whose state was `before`, into the one that it has in a run after this call."""
        generator = generator_of(call)
        if not isinstance(target, FakeTensor) or target.device.type == "meta" or state_of(generator) != before:
            return
        with _disable_current_modes():
            if kind_of(call) is not None and math.prod(target.shape) <= MOST_DRAWN:
                args, kwargs = tree_map(_on_memory, (tuple(call.args), dict(call.kwargs)))
                call.func(*args, **kwargs)
                return
            seed = generator.initial_seed()
            word = hashlib.blake2b(f"{before} {call.func}".encode(), digest_size=6).hexdigest()
            generator.manual_seed(_LOST | int(word, 16))
            self._first[generator.initial_seed()] = self._first.get(seed, seed)


def record_draw(recorder: "Recorder", call: Call) -> Any:
    """Run a call that draws random numbers, and record it; what it returns."""
    draws, generator, kind = recorder.draws, generator_of(call), kind_of(call)
    if generator.device.type != "cpu":
        return recorder.instead(call, f"random numbers: {called(call.func)} on {generator.device.type}", keep=False)
    before, lost = state_of(generator), draws.lost(generator)
    draws.number += draws.within and kind is not None
    if kind is None or lost or not draws.within:
        advice = "; record with --tensors real" * lost if draws.within else _NAME_IT
        reason = f"random numbers: {called(call.func)} ({draws.next(generator)}{advice})"
        # what is drawn by numbers alone does not depend on what was there
        fills = kind is not None or (call.name, call.overload) in _FILLS
        output = recorder.instead(call, reason, keep=False, read=() if fills else None)
        made = output[0] if isinstance(output, tuple | list) else output
        draws.advance(call, made, before)
        return output
    output = call.run()
    draws.advance(call, output, before)
    value = _drawn(recorder, kind, before, output)
    if call.written:
        recorder.write(output, value)
    else:
        recorder.memory.write(output, value)
    return output


def _drawn(recorder: "Recorder", kind: Kind, state: str, target: Any) -> int:
    """The value that a tensor holds of which a draw was written."""
    made = value_of(target)
    if kind.constant is not None:
        attrs: dict[str, Any] = {"dtype": made.dtype, "fill_value": float(kind.constant), "size": made.shape}
        return recorder.emit("aten.full", (), (made,), attrs)[0]
    drawn = made._replace(dtype="bool") if kind.name == BERNOULLI else made
    attrs = {
        "state": state,
        "kind": kind.name,
        "parameters": kind.parameters,
        "dtype": made.dtype,
        "layout": layout(target),
        "number": recorder.draws.number,
        "module": recorder.origin.module,
        "again": bool(torch._C._current_autograd_node()),
    }
    (value,) = recorder.emit(DRAW, (), (drawn,), attrs)
    return value if drawn == made else recorder.emit("aten._to_copy", (value,), (made,), {"dtype": made.dtype})[0]


class Kept(TorchDispatchMode):  # type: ignore[misc]
    """Keeps what a run draws under it, in order: the states, and clones of what was drawn."""

    def __init__(self) -> None:
        super().__init__()
        self.drawn: list[tuple[str, Any]] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Run `func`, and keep what it draws."""
        kwargs = kwargs or {}
        if not all(map(is_plain, types)):
            return NotImplemented
        if func.namespace != "aten":
            return func(*args, **kwargs)
        if is_composite(func):
            with self:
                return func.decompose(*args, **kwargs)
        call = Call.of(func, args, kwargs)
        if not is_random(call) or kind_of(call) is None:
            return call.run()
        state = state_of(generator_of(call))
        output = call.run()
        if not isinstance(output, FakeTensor):  # a DTensor learns of these which shape an operator makes
            self.drawn.append((state, output.detach().clone()))
        return output


def _on_memory(value: Any) -> Any:
    if not isinstance(value, torch.Tensor):
        return value
    return torch.empty_strided(tuple(value.shape), tuple(value.stride()), dtype=value.dtype)
