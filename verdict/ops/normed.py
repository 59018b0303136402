"""Divisions of numbers by their own norm, in front of a loss over classes: 0 / 0 where that is zero, never infinity.

Of what is 0 / 0 all is 0 / 0 that sums and products make. The logarithm of a softmax makes it of whole rows, and a loss
that takes an element of each row, whichever, takes one of them. So where the loss is a number, no such norm is zero.
"""

from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Protocol

from verdict.graph import ABSENT, GRAD, Plan
from verdict.ops.names import name_of

Between = Mapping[Hashable, tuple[int, int | None]]
"""Of integers that are given, those between which they are."""
ALIKE = frozenset({"expand", "clone", "alias", "detach", "contiguous"})
"""Operators that hand on what they read, each element to the last dimensions as it was."""
PASSING = frozenset(
    {
        *("add", "sub", "mul", "neg", "sum", "mean", "mm", "bmm", "matmul", "t", "transpose", "permute"),
        *("view", "_unsafe_view", "unsqueeze", "squeeze", "expand", "clone", "alias", "detach", "exp", "cat", "stack"),
    }
)
"""Operators of which some of the first output is 0 / 0 where some element of some input is."""


def between_of(plan: Plan, given: Iterable[tuple[Hashable, str]]) -> Between | None:
    """The integers of a plan that are given, each value with its name, which are between two numbers; None where norms
    are not asked about: where there are tensors without elements, sums and products lose what is 0 / 0.
    """
    if any(0 in logical.shape for logical in plan.logicals):
        return None
    ranges = {name: (low, high) for name, low, high in plan.ranges}
    return {value: ranges[name] for value, name in given if name in ranges}


class Call(Protocol):
    """A node, as `granted` has it."""

    @property
    def op(self) -> str:
        """The operator."""

    @property
    def attrs(self) -> Mapping[str, Any]:
        """Its attributes."""

    @property
    def inputs(self) -> Sequence[Hashable]:
        """What tells the values apart that it reads."""

    @property
    def outputs(self) -> Sequence[Hashable]:
        """The same of what it makes."""


def norms(calls: Sequence[Call], needed: Collection[Hashable], between: Between) -> Iterator[tuple[int, Hashable]]:
    """The places of divisions by norms that are zero nowhere where all values of `needed` are finite numbers, each with
    the sum of squares whose root the norm is (the norm itself, of an operator that makes it of the numbers).
    """
    maker = {value: call for call in calls if not call.op.endswith(GRAD) for value in call.outputs[:1]}
    free = set[Hashable]()
    for place in reversed(range(len(calls))):
        call = calls[place]
        if call.op.endswith(GRAD) or not call.outputs:
            continue
        name, made = name_of(call.op), call.outputs[0]
        if name == "nll_loss_forward" and made in needed and _takes_all(call, maker, between):
            rows = maker.get(call.inputs[0])
            if rows is not None and name_of(rows.op) == "_log_softmax" and rows.attrs.get("dim") in (1, -1):
                free.add(rows.inputs[0])
        if made not in free:
            continue
        if name in PASSING and "dtype" not in call.attrs:
            free.update(value for value in call.inputs if value != ABSENT)
        if name == "div" and len(call.inputs) == 2 and "rounding_mode" not in call.attrs:
            squares = _squares(call.inputs[0], call.inputs[1], maker)
            if squares is not None:
                free.add(call.inputs[0])
                yield place, squares


def _takes_all(call: Call, maker: Mapping[Hashable, Call], between: Between) -> bool:
    """Whether a loss takes an element of each row: none of the targets is the one that is ignored, and no weight is
    given.
    """
    if len(call.inputs) != 2:
        return False
    target, ignored = _itself(call.inputs[1], maker), call.attrs.get("ignore_index")
    counted = maker.get(target)
    if counted is not None and name_of(counted.op) == "arange":
        return not counted.inputs and set(counted.attrs) <= {"end"} and isinstance(ignored, int) and ignored < 0
    low, high = between.get(target, (None, None))
    return isinstance(ignored, int) and low is not None and (ignored < low or (high is not None and ignored > high))


def _squares(numbers: Hashable, norm: Hashable, maker: Mapping[Hashable, Call]) -> Hashable | None:
    """What `norm` is the root of, where it is the norm of `numbers`, each of those that are added up with it."""
    norm = _itself(norm, maker)
    root = maker.get(norm)
    if root is None:
        return None
    if name_of(root.op) == "linalg_vector_norm":
        alike = root.attrs.get("ord", 2) == 2 and _keeps(root) and _itself(root.inputs[0], maker)
        return norm if alike == _itself(numbers, maker) else None
    if name_of(root.op) != "sqrt" and (name_of(root.op) != "pow" or root.attrs.get("exponent") != 0.5):
        return None
    total = maker.get(_itself(root.inputs[0], maker))
    if total is None or name_of(total.op) != "sum" or not _keeps(total):
        return None
    square = maker.get(_itself(total.inputs[0], maker))
    if square is None or not _is_square(square):
        return None
    return root.inputs[0] if _itself(square.inputs[0], maker) == _itself(numbers, maker) else None


def _is_square(call: Call) -> bool:
    name, inputs = name_of(call.op), call.inputs
    power = name == "pow" and call.attrs.get("exponent") == 2 and call.op.endswith("Tensor_Scalar")
    return power or name == "square" or (name == "mul" and len(inputs) == 2 and inputs[0] == inputs[1])


def _keeps(call: Call) -> bool:
    """Whether what is added up stands where the numbers stand: dimensions stay, or all numbers are added up."""
    return "dtype" not in call.attrs and (bool(call.attrs.get("keepdim")) or call.attrs.get("dim") in (None, ()))


def _itself(value: Hashable, maker: Mapping[Hashable, Call]) -> Hashable:
    """What a value is, but for copies of it."""
    while (call := maker.get(value)) is not None and name_of(call.op) in ALIKE:
        value = call.inputs[0]
    return value
