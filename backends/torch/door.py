"""What a user's `build` and `step` return, held against what a Program says of itself."""

from collections.abc import Callable, Mapping
from types import NoneType
from typing import Any

import torch

from verdict.backends.torch.program import Program, Share
from verdict.errors import UsageError

_TENSORS = (torch.Tensor, "tensors")
_FIELDS: tuple[tuple[str, tuple[Any, str]], ...] = (
    ("inputs", _TENSORS),
    ("params", _TENSORS),
    ("specs", (Share, "shares, such as shard(0, ctx.rank, ctx.world)")),
    ("ranges", ((tuple, list), "pairs of the least and the greatest integer")),
    ("names", (str, "names in the single-device program")),
)
"""The fields that are mappings from names, and what these name."""


def require_program(made: Any) -> Program:
    """What `build` returned, a Program whose fields are what they should be. Raises UsageError."""
    if not isinstance(made, Program):
        raise UsageError("build", f"it returned a {type(made).__name__}", "return a Program")
    for name, (kind, words) in _FIELDS:
        value = getattr(made, name)
        if not (name == "params" and isinstance(value, torch.nn.Module)):
            require_named(f"Program.{name}", value, kind, words)
    for name, pair in made.ranges.items():
        if len(pair) != 2 or type(pair[0]) is not int or type(pair[1]) not in (int, NoneType):
            raise UsageError(f"Program.ranges[{name!r}]", f"it is {pair!r}", "give the least and the greatest integer")
    if not callable(made.step):
        raise UsageError("Program.step", f"it is a {type(made.step).__name__}", "give a function without arguments")
    if made.outputs is not None and not callable(made.outputs):
        raise UsageError("Program.outputs", f"it is a {type(made.outputs).__name__}", "give a function, or None")
    if not isinstance(made.loss, Share):
        raise UsageError("Program.loss", f"it is a {type(made.loss).__name__}", "give a share, such as REPLICATE")
    return made


def require_loss(loss: Any) -> None:
    """What `step` returns is a tensor or nothing. Raises UsageError."""
    if loss is not None and not isinstance(loss, torch.Tensor):
        raise UsageError(
            "Program.step", f"it returned a {type(loss).__name__}", "return the loss, a tensor, or None where none is"
        )


def require_outputs(outputs: Callable[[], Any]) -> dict[str, Any]:
    """What `outputs` returns: tensors by name. Raises UsageError."""
    found = outputs()
    require_named("Program.outputs", found, *_TENSORS)
    return dict(found)


def require_named(where: str, value: Any, kind: Any, words: str) -> None:
    """A mapping from names to values of one kind. Raises UsageError."""
    if not isinstance(value, Mapping):
        raise UsageError(where, f"it is a {type(value).__name__}", f"give a dictionary from names to {words}")
    for name, item in value.items():
        if not isinstance(name, str):
            raise UsageError(where, f"{name!r} is no name", f"give a dictionary from names to {words}")
        if not isinstance(item, kind):
            raise UsageError(f"{where}[{name!r}]", f"it is a {type(item).__name__}", f"give {words}")
