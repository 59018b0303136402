"""What is proved at small shapes is run on numbers at large ones, where a rule that is not uniform shows itself."""

import numpy as np
import pytest

from tests.builders import Builder, ask
from tests.stage.test_laws import planted
from tests.tape import Tape
from verdict.ops import RULES
from verdict.report import Verdict
from verdict.stage import numbers

ROWS = 256


def plan(tp=1):
    """loss = sum(silu(x w)) of x by rows."""
    b = Builder(tp)
    for device in range(tp):
        t = Tape(b, device, range(tp))
        region = (t.cut(ROWS), (0, 6))
        x = t.input("x", (ROWS, 6), region)
        w = t.weight("w", (6,))
        y = t.op("silu", [t.op("mul", [x, w], "y", (ROWS, 6), region)], "s", (ROWS, 6), region)
        loss = t.op("sum", [y], "loss", (1,))
        loss = t.total(loss) if tp > 1 else loss
        b.loss(device, loss)
        t.declare(t.backward(loss), over=("w",) if tp > 1 else ())
    return b.plan()


def late(function):
    """The function, but for rows from the 64th on, which are doubled."""

    def changed(inputs, *more):
        return tuple(
            y * (1 + (np.arange(y.shape[0]) >= ROWS // 4)).reshape(-1, *[1] * (y.ndim - 1))
            for y in function(inputs, *more)
        )

    return changed


PLANTED = {"forward": late(RULES["silu"].forward), "gradient": late(RULES["silu"].gradient)}


def test_a_rule_that_is_not_uniform_is_found_at_full_shapes(monkeypatch):
    report = ask(plan(), plan(tp=2))
    assert report.verdict is Verdict.PROVED
    assert (report.proofs.full, report.proofs.larger) == (report.proofs.distinct + report.proofs.laws, 0)
    with planted("silu", **PLANTED):
        assert ask(plan(), plan(tp=2)).verdict is not Verdict.PROVED
        monkeypatch.setattr(numbers, "GROWTHS", {numbers.LARGER: (1,)})
        assert ask(plan(), plan(tp=2)).verdict is Verdict.PROVED, "at small shapes alone it is not seen"


@pytest.mark.parametrize(("most", "shapes"), [(10**6, (True, False)), (2_000, (False, True))])
def test_what_is_too_large_is_run_at_larger_shapes(most, shapes, monkeypatch):
    monkeypatch.setattr(numbers, "MOST_ELEMENTS", most)
    proofs = ask(plan(), plan(tp=2)).proofs
    assert (proofs.full == proofs.distinct + proofs.laws, proofs.larger > 0) == shapes
