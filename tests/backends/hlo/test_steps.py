"""Steps by hand on four devices, as jax 0.10.2 on the CPU lowers them, each beside one with a fault.

That the right ones compute what their step for one device computes, and the others do not, was seen by running them.
"""

from pathlib import Path

import pytest

from verdict.backends.hlo.pair import parallel_of, single_of
from verdict.backends.hlo.text import read_module
from verdict.options import Options
from verdict.pipeline import verify
from verdict.report import Verdict

TEXTS = Path(__file__).parent / "steps"
STEPS = {
    "table": {"ids": (0, 7)},
    "entropy": {"y": (0, 7)},
    "masked_mean": {"y": (0, 3)},
    "hashed": {"ids": (0, 15)},
    "partly": {},
    "routed": {},
    "sorted": {},
    "ring": {},
    "normed": {},
    "pooled": {},
    "taken": {},
    "summed": {"src": (0, 7), "dst": (0, 7)},
    "causal": {"parameter 6": (0, 1000)},
    "vocabulary": {"parameter 3": (0, 3999), "parameter 4": (0, 3999)},
}
"""What their arguments of integers lie between: rows of a table that is split, with its gradient; cross entropy over
logits that are split; a mean over what a mask keeps; rows of a table by
remainders; data parallel by hand in a tensor parallel program; experts chosen by topk; rows in order; causal ring
attention with rotary positions and a running softmax, two positions a device, with all gradients; a batch norm whose
variance is the mean of squares without the mean's square, clamped to what is not negative; a convolution and the
greatest of overlapping windows, with their gradients; rows taken in the order of others; a sum over the neighbours of
a graph whose edges are split; causal attention of 300 rotary positions and 1,001 words by tensor parallelism, and a
table and logits of 4,000 words that are split, both of two devices and at reduced shapes.
"""


def _report(name, which, old="", new=""):
    ranges = STEPS[name]
    texts = ((TEXTS / f"{name}.{each}.hlo").read_text() for each in ("before", which))
    before, after = (read_module(text.replace(old, new) if old else text, name) for text in texts)
    return verify(single_of(before, after, ranges), parallel_of(before, after, (), ranges), Options())


@pytest.mark.parametrize("name", STEPS)
def test_a_step_by_hand_is_proved(name):
    assert _report(name, "after").verdict is Verdict.PROVED


@pytest.mark.parametrize("name", STEPS)
def test_a_fault_in_it_is_refuted(name):
    """The offset of a shard is off by one; a mean of means; another divisor; a sum for a mean; weights of the experts
    that do not add up to one; rows in the opposite order; what was mixed is not scaled to the new maximum; squares have
    the gradient of a device's own alone; the gradient of a kernel is not summed; the opposite order; a weight's
    gradient is of a device's own edges; the second device's mask begins a position later; each shard of the table
    begins a row later.
    """
    assert _report(name, "wrong").verdict is Verdict.REFUTED


def test_a_scatter_that_adds_to_something_is_no_cause():
    """That it does not add up over shares of its rows is true of the right step, too: the sum that lacks is told."""
    (finding,) = _report("summed", "wrong").findings
    assert finding.code == "missing-reduction"
    assert "dot_general" in finding.where


def test_every_other_element_is_met_by_where_it_begins():
    """Of fewer rows, those from the second on (rotary positions in pairs) are none of those from the first on."""
    report = _report("ring", "wrong")
    assert all(finding.code != "wrong-constant" for finding in report.findings)


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        ("direction=GE", "direction=GT", "the first greatest"),
        ("select=%region", "select=%none", "the first greatest"),
        ("stride=1x2x1}, select", "stride=1x1x1}, select", "its window makes"),
    ],
)
def test_the_gradient_of_another_choice_among_a_window_is_not_known(old, new, why):
    report = _report("pooled", "after", old, new)
    assert report.verdict is Verdict.UNKNOWN
    assert any(why in f"{each.where} {each.reason}" for each in report.open)
