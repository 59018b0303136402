"""Composite operators that look at numbers themselves, kept whole: a recording sees the call, and not what they ask.

`one_hot` asks whether its classes are in range, and raises where one is not. torch runs such an operator as the others
that it is made of before a dispatch mode sees it, unless the CPU has a kernel of its own. Of tensors without data they
ask nothing.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import Any

import torch
from torch.library import Library


@contextmanager
def kept_whole() -> Iterator[None]:
    """The operators of TAKEN_APART are seen as calls, for a while."""
    library = Library("aten", "IMPL")
    for name in TAKEN_APART:
        composite = getattr(torch.ops.aten, name).default
        library.impl(name, partial(_composed, composite), "CPU")
    try:
        yield
    finally:
        library._destroy()


def _composed(composite: Any, *args: Any, **kwargs: Any) -> Any:
    """What the operator is made of, as torch runs it."""
    return composite.decompose(*args, **kwargs)


def _one_hot(classes: Any, num_classes: int = -1) -> Any:
    """[classes = k] for each k below num_classes. Looked up in a list of these, a class beyond them has no value.

    Without a number the greatest class decides about the shape.
    """
    if num_classes < 1:
        return torch.ops.aten.one_hot.default.decompose(classes, num_classes)
    each = torch.arange(num_classes, device=classes.device)
    return (each.index_select(0, classes.reshape(-1)).reshape(*classes.shape, 1) == each).to(torch.int64)


TAKEN_APART: Mapping[str, Callable[..., Any]] = {"one_hot": _one_hot}
"""By the names of operators: what computes the same, and asks nothing."""
