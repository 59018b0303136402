"""Changes of one attribute: by one, by a factor, to a neighbour, flipped, left out, or put where there was none."""

import random
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from verdict.backends.torch.arguments import operator

Attrs = Mapping[str, Any]
WORDS = {
    "reduction": ("none", "sum", "mean"),
    "approximate": ("none", "tanh"),
    "score_func": ("sigmoid", "softmax"),
    "rounding_mode": (None, "floor", "trunc"),
    "dtype": ("float32", "float64", "int64", "int32", "int8", "uint8", "bool"),
    "input_dtype": ("float32", "float64"),
}
ABSENT: Mapping[str, tuple[Any, ...]] = {
    "alpha": (2, 0.5, 0),
    "beta": (2, 0, 0.1),
    "keepdim": (True,),
    "dim": (0, 1, -1),
    "padding_idx": (0, 1),
    "ignore_index": (0, 1),
    "label_smoothing": (0.1,),
    "correction": (0, 2),
    "threshold": (0.1, 5, 20),
    "start": (1, 2),
    "end": (1, 2, 3),
    "stop": (1, 2),
    "step": (2,),
    "descending": (True,),
    "largest": (False,),
    "diagonal": (1, -1),
    "value": (2, 0.5),
    "scale_grad_by_freq": (True,),
    "accumulate": (True,),
    "is_causal": (True,),
    "scale": (0.5, 2),
    "min": (-0.1, 0, 1),
    "max": (0.1, 1, 2),
    "negative_slope": (0.1, 0),
    "delta": (0.1, 2),
    "offset": (1,),
    "other": (2,),
    "eps": (1e-3, 0.1),
    "count": (3,),
    "start_pos": (1, 2),
    "reflected": (True,),
    "weight_decay": (0.1,),
    "momentum": (0.5,),
    "dampening": (0.5,),
    "nesterov": (True,),
    "beta1": (0.5,),
    "beta2": (0.5,),
    "route_scale": (2, 0.5),
    "n_groups": (2, 4),
    "topk_groups": (1, 2),
    "training": (False,),
    "is_training": (False,),
    "p": (0.1,),
    "mask": (True,),
    "dropout_p": (0.1,),
    "classes": (7,),
    "norm_type": (1,),
    "ord": (1, 3, float("inf")),
    "input_scale": (2,),
    "self_is_result": (True,),
    "is_result": (True,),
    "half_to_float": (True,),
    "storage_offset": (1,),
    "min_val": (-0.1,),
    "max_val": (0.1,),
    "implicit": (True,),
    "sorted": (False,),
    **WORDS,
}
"""What an attribute may become where it is absent."""
DOMAINS: Mapping[str, Callable[[Any], bool]] = {
    **dict.fromkeys(("p", "dropout", "dropout_p"), lambda value: 0 <= value <= 1),
    "label_smoothing": lambda value: 0 <= value < 1,
    "reduction": lambda value: isinstance(value, str) or value in (0, 1, 2),
    **dict.fromkeys(("eps", "delta", "beta"), lambda value: value >= 0),
    **dict.fromkeys(("beta1", "beta2"), lambda value: 0 <= value < 1),
}
"""What an attribute can be at all; of others torch says it."""
LEAST = 1e-6
SMOOTH = 20
"""From where on the threshold of softplus changes nothing, as the assumption softplus-smooth says."""
NOT_OF_TORCH = {"aten.add.Tensor": ("dtype",), "aten.bitwise_not": ("dtype",)}
"""Attributes that the recorder adds, which say what the inputs are."""


def changed(op: str, attrs: Attrs, known: tuple[str, ...], draw: random.Random) -> tuple[str, dict[str, Any]] | None:
    """One change of one attribute, and what it is; None where there is nothing to change."""
    found = [
        (name, (value, left))
        for name, (value, left) in _changes(op, attrs, known, draw)
        if name not in NOT_OF_TORCH.get(op, ())
        and (left or (DOMAINS.get(name, _anything)(value) and not _unseen(attrs.get(name), value)))
        and not (_is_smooth(op, name) and min(attrs.get(name, SMOOTH), value or SMOOTH) >= SMOOTH)
    ]
    if not found:
        return None
    name = draw.choice(sorted({name for name, _ in found}))
    told = draw.choice([change for other, change in found if other == name])
    value, left = told
    if left:
        return f"{name} left out", {k: v for k, v in attrs.items() if k != name}
    before = attrs.get(name, "absent")
    return f"{name} {value!r} for {before!r}", {**attrs, name: value}


def _is_smooth(op: str, name: str) -> bool:
    """Whether this is the attribute from which on softplus is taken to be smooth."""
    return op.startswith("aten.softplus") and name == "threshold"


def _unseen(one: Any, other: Any) -> bool:
    """Whether a change is so small that runs in 64 bits need not show it."""
    return isinstance(one, float) and isinstance(other, float) and abs(one - other) < LEAST


def _anything(value: Any) -> bool:
    return True


def _has_default(op: str, name: str) -> bool:
    return any(argument.name == name and argument.has_default_value() for argument in operator(op)._schema.arguments)


def _changes(
    op: str, attrs: Attrs, known: tuple[str, ...], draw: random.Random
) -> Iterator[tuple[str, tuple[Any, bool]]]:
    for name, value in attrs.items():
        if name.endswith("_count") or name in ("absent", "masks", "shape") or (name == "size" and value == (-1,)):
            continue
        if not op.startswith("aten.") or _has_default(op, name):
            yield name, (None, True)
        for other in _others(name, value, draw):
            if type(other) is not type(value) or other != value:
                yield name, (other, False)
    for name in known:
        if name not in attrs:
            for value in ABSENT.get(name, ()):
                yield name, (value, False)


def _others(name: str, value: Any, draw: random.Random) -> Iterator[Any]:
    if isinstance(value, bool):
        yield not value
    elif isinstance(value, int):
        yield from (value + 1, value - 1, value * 2, value // 2, -value, 0, value + draw.randint(2, 300), value - 7)
    elif isinstance(value, float):
        yield from (value * 2, value / 2, value + 1, -value, 0.0, value * (1 + 1e-4), value + 1e-3, value * 10)
    elif isinstance(value, str):
        yield from WORDS.get(name, ())
    elif isinstance(value, tuple) and value:
        at = draw.randrange(len(value))
        for other in _others(name, value[at], draw):
            yield (*value[:at], other, *value[at + 1 :])
        if len(value) > 1:
            yield value[::-1]
            yield (*value[1:], value[0])
            yield value[:-1]
        yield (*value, value[-1])
