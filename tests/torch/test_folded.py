"""Numbers of constants that Python reads while a program is recorded."""

from typing import Any

import pytest

pytest.importorskip("torch")

from verdict.backends.torch.folded import NotFolded, folded
from verdict.backends.torch.trace import CHOICE, DECISION, Choice, Tape, Value

ONE = Value((), "float32")
WHOLE = Value((2,), "int64")


class Counted(list[Any]):
    """A list that counts how often an element is looked at."""

    looks = 0

    def __getitem__(self, at: Any) -> Any:
        self.looks += 1
        return super().__getitem__(at)

    def __iter__(self) -> Any:
        self.looks += len(self)
        return super().__iter__()


def counter(tape: Tape) -> int:
    """A count of steps, as an optimizer has one for each weight: 0, and 1 more."""
    (zero,) = tape.emit("aten.full", (), (ONE,), {"dtype": "float32", "fill_value": 0, "size": ()}, "zero")
    (one,) = tape.emit("aten.add.Tensor", (zero,), (ONE,), {"other": 1}, "one more")
    return one


def test_what_a_constant_costs_does_not_depend_on_what_else_was_recorded() -> None:
    looks = []
    for weights in (1, 50):
        tape = Tape()
        counters = [counter(tape) for _ in range(weights)]
        tape.steps = Counted(tape.steps)
        assert [folded(tape, value).item() for value in counters] == [1.0] * weights
        looks.append(tape.steps.looks / weights)
    assert looks[0] == looks[1]


def test_an_input_is_no_constant() -> None:
    tape = Tape()
    given = tape.value(ONE)
    tape.emit("aten.neg", (given,), (ONE,), {}, "minus")
    with pytest.raises(KeyError):
        folded(tape, given)


def test_what_others_send_is_not_known() -> None:
    tape = Tape()
    (sent,) = tape.emit("all_reduce", (counter(tape),), (ONE,), {}, "sum")
    with pytest.raises(NotFolded):
        folded(tape, sent)


def test_what_was_chosen_and_what_has_decided_is_as_it_was_recorded() -> None:
    tape = Tape()
    source = tape.value(WHOLE)
    (chosen,) = tape.emit(CHOICE, (source,), (WHOLE,), {}, "choice", keep=True)
    tape.choose(Choice(chosen, source, "topk", (), (3, 1), "choice"))
    (twice,) = tape.emit("aten.mul.Tensor", (chosen,), (WHOLE,), {"other": 2}, "twice")
    assert folded(tape, chosen).tolist() == [3, 1]
    assert folded(tape, twice).tolist() == [6, 2]
    tape.emit(DECISION, (twice,), (), {"how": "item", "values": (6, 2)}, "decision", keep=True)
    (more,) = tape.emit("aten.add.Tensor", (twice,), (WHOLE,), {"other": 1}, "one more")
    assert folded(tape, more).tolist() == [7, 3]
