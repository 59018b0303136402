"""One step of a flow on elements of any kind: what elements lack leaves a question open, an error of ours ends all."""

from dataclasses import replace

import numpy as np
import pytest

from verdict.errors import ShapeError
from verdict.ops import RULES
from verdict.sweep import flow
from verdict.sweep.flow import CANNOT, Inapplicable, Place, Step, apply, require_fit
from verdict.sweep.moves import Token

RELU = Step("relu", (0,), (1,), {}, 0, Place(0, 0, "relu"))
TOKENS = np.array([Token(0), Token(1)], dtype=object)


def broken(inputs, attrs):
    raise TypeError("a bug")


def test_tokens_have_no_arithmetic():
    with pytest.raises(Inapplicable):
        apply(RELU, [TOKENS])
    np.testing.assert_array_equal(apply(RELU, [np.array([-1.0, 2.0])])[0], [0, 2])


def test_an_error_of_ours_on_numbers_is_no_open_question(monkeypatch):
    monkeypatch.setattr(flow, "RULES", {**RULES, "relu": replace(RULES["relu"], forward=broken)})
    with pytest.raises(TypeError, match="a bug") as raised:
        apply(RELU, [np.array([-1.0, 2.0])])
    assert not isinstance(raised.value, CANNOT)


def test_a_guessed_operator_is_asked_whether_it_takes_such_shapes():
    """A step that was changed for the sake of an explanation is not run where its operator has other shapes."""
    step = Step("sum.grad", (0, 1), (2,), {"dim": None, "keepdim": False}, 1, Place(0, 0, "guess"))
    require_fit(step, [(1,), (8, 16)])
    with pytest.raises(Inapplicable):
        require_fit(step, [(8, 16), (8, 16)])
    with pytest.raises(ShapeError):
        require_fit(step._replace(op="matmul", grads=0), [(2, 3), (4, 5)])
