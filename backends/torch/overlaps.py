"""Calls whose result depends on which element is computed first: they write where they read something else.

torch refuses such a call only where it can tell cheaply; of a column of the same matrix, say, it cannot.
"""

from collections.abc import Callable, Iterator
from itertools import combinations
from typing import Any

import torch

from verdict.backends.torch.arguments import Call, bound, functional_of, tensors_in
from verdict.backends.torch.memory import geometry
from verdict.backends.torch.pending import Span

_EACH_BY_ITSELF = frozenset({"copy_"})
"""Operators that compute element by element, and of which torch does not say so."""


def unordered(call: Call) -> bool:
    """Whether a call writes where it reads something else, or two of the tensors that it writes lie there."""
    written, read = _apart(call)
    each = _is_pointwise(call)

    def meets(target: Any, other: Any) -> bool:
        same = each and geometry(target) == geometry(other)
        return not same and _share(target) == _share(other) and Span.of(target).meets(Span.of(other))

    return any(meets(target, other) for target in written for other in read) or any(
        meets(one, other) for one, other in combinations(written, 2)
    )


def entangled(call: Call) -> bool:
    """The same of a call on lists: whether an element writes where it reads something else, or a later one reads."""
    lists = [
        (bool(argument.is_write), value)
        for argument, value in bound(call.func, call.args, call.kwargs)
        if isinstance(value, list | tuple) and all(isinstance(item, torch.Tensor) for item in value)
    ]
    written: dict[int, list[tuple[int, Any, Span]]] = {}
    for place, target in _listed(lists, lambda writes: writes):
        written.setdefault(_share(target), []).append((place, target, Span.of(target)))
    return any(
        (first < place or (first == place and geometry(target) != geometry(tensor))) and span.meets(Span.of(tensor))
        for place, tensor in _listed(lists, lambda writes: True)
        for first, target, span in written.get(_share(tensor), ())
    )


def _listed(lists: list[tuple[bool, Any]], wanted: Callable[[bool], bool]) -> Iterator[tuple[int, Any]]:
    """Each tensor of the lists that are wanted, with its place in its list."""
    for writes, tensors in lists:
        if wanted(writes):
            yield from enumerate(tensors)


def _apart(call: Call) -> tuple[list[Any], list[Any]]:
    """The tensors that a call writes to, and those of its other arguments."""
    written: list[Any] = []
    read: list[Any] = []
    for argument, value in bound(call.func, call.args, call.kwargs):
        (written if argument.is_write else read).extend(tensors_in(value))
    return written, read


def _is_pointwise(call: Call) -> bool:
    pure = functional_of(call.func)
    found = [func for func in (call.func, pure) if func is not None and torch.Tag.pointwise in func.tags]
    return bool(found) or call.name in _EACH_BY_ITSELF


def _share(tensor: Any) -> int:
    """The memory that a tensor has a part of."""
    return int(tensor.untyped_storage()._cdata)
