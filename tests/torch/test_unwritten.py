"""Memory that is read before it is written: PROVED where nothing is made of it, and never where something is."""

from functools import partial
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

from tests.torch.verdicts import live_answers  # noqa: E402
from verdict.backends.torch.one import function_in  # noqa: E402
from verdict.backends.torch.record import record  # noqa: E402
from verdict.torch import capture  # noqa: E402

FILE = Path(__file__).with_name("unwritten.py")
NEVER = "memory is read that was never written"
PROVED = ("build", "build_where")
REFUTED = ("build_others", "build_too_many")
OPEN = ("build_multiplied", "build_not_emptied", "build_short", "build_by_values")
REACHES_NOTHING = ("masked", "gathered", "left_out", "padded")
REACHES = (
    "cut", "summed", "summed_down", "masked_late", "masked_otherwise", "masked_by_data", "no_times",
    "no_times_by_index", "zero_times", "read", "listed", "sorted",
)  # fmt: skip


def answered(name):
    return live_answers(FILE, "build_single", (*PROVED, *REFUTED, *OPEN))[name]


@pytest.mark.parametrize("name", PROVED)
def test_rows_that_no_expert_of_a_rank_writes_and_a_mask_empties(name):
    found = answered(name)
    assert found.verdict == "PROVED", found.why


@pytest.mark.parametrize("name", REFUTED)
def test_rows_of_the_wrong_experts_are_refuted(name):
    found = answered(name)
    assert found.verdict == "REFUTED", found.why


@pytest.mark.parametrize("name", OPEN)
def test_rows_that_nobody_empties_are_no_proof(name):
    found = answered(name)
    assert found.verdict == "UNKNOWN"
    assert NEVER in found.why


def unmodelled(name, tensors):
    trace = record(partial(function_in, str(FILE), f"build_{name}"), 0, 1, tensors)
    return [dict(step.attrs)["reason"] for step in trace.steps if step.op == "unmodelled"]


@pytest.mark.parametrize("tensors", ["fake", "real"])
@pytest.mark.parametrize("name", REACHES_NOTHING)
def test_what_was_never_written_and_reaches_nothing_may_hold_anything(name, tensors):
    assert unmodelled(name, tensors) == []


@pytest.mark.parametrize("name", [*REACHES, "in_rows"])
def test_what_was_never_written_and_reaches_something_is_said(name):
    """Also what is cut off behind a product: the gradient of the weight is made of it, times zero."""
    assert any(NEVER in reason for reason in unmodelled(name, "real"))


@pytest.mark.parametrize(("name", "said"), [("upright", False), ("turned", True)])
def test_what_is_received_where_nothing_can_be_is_said_as_such(name, said):
    plan = capture(f"{FILE}:build_{name}", 2, cores=1, confirm=False)
    nodes = [node for segment in plan.segments for node in segment.nodes if node.op == "unmodelled"]
    reasons = {str(dict(node.attrs)["reason"]) for node in nodes}
    refused = "recv_ of a tensor that is not contiguous"
    assert any(reason.startswith(refused) for reason in reasons) == said
    assert all(refused in reason for reason in reasons)
