"""Programs that data decides in, run on other numbers: what an optimizer makes of a rounding is no difference."""

import pytest

torch = pytest.importorskip("torch")

from verdict.backends.torch.beside import apart  # noqa: E402
from verdict.backends.torch.real import Ran  # noqa: E402

NARROW, WIDE = torch.finfo(torch.bfloat16).eps, torch.finfo(torch.float32).eps
RATE = 0.01


def ran(*grads):
    """A rank after the first step of Adam, whose steps are as long as its rate."""
    held = {"w.grad": torch.tensor(grads)}
    held["w.updated"] = -RATE * held["w.grad"].sign()
    places = dict.fromkeys(held, ((len(grads),), ((0, len(grads)),), (0, 1)))
    return Ran({}, {}, {}, held, places)


@pytest.mark.parametrize(("small", "eps"), [(1.7e-4, NARROW), (-5e-5, WIDE)])
def test_a_step_that_a_rounding_makes_is_no_difference(small, eps):
    assert apart(ran(1.0, small), [ran(1.0, 0.0)] * 2, eps) == ""


@pytest.mark.parametrize(("small", "eps"), [(0.1, NARROW), (1.7e-4, WIDE)])
def test_a_step_that_a_gradient_makes_is(small, eps):
    wrong = ran(1.0, small)
    wrong.held["w.updated"][1] = 0.0
    assert "rank 1 holds other numbers in w.updated" in apart(ran(1.0, small), [ran(1.0, small), wrong], eps)
    assert apart(ran(1.0, small), [ran(1.0, small)] * 2, eps) == ""
