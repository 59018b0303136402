"""Forms that libraries use: each is recorded as what it is, and its wrong twin is never proved."""

from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

from tests.torch.verdicts import answers  # noqa: E402
from verdict.torch import cuda_as_cpu  # noqa: E402

FILE = Path(__file__).with_name("forms.py")
FORMS = ("unread", "group", "gpu", "divided", "narrow", "fused", "before", "coalesced", "viewed", "layered", "ignoring")


def told(name):
    pairs = ((f"build_{form}{end}", f"build_{form}_single") for form in FORMS for end in ("", "_right"))
    return answers(FILE, tuple(pairs), tensors="real")[name]


@pytest.mark.parametrize("form", FORMS)
def test_the_right_form_is_proved(form):
    assert told(f"build_{form}_right").verdict == "PROVED", told(f"build_{form}_right").why


def test_a_product_on_memory_that_holds_anything_is_not_proved():
    assert told("build_unread").verdict in ("REFUTED", "UNKNOWN")


@pytest.mark.parametrize("form", ["layered", "ignoring"])
def test_a_gradient_that_is_not_averaged_and_another_ignored_class_are_refuted(form):
    assert told(f"build_{form}").verdict == "REFUTED", told(f"build_{form}").why


def test_means_that_are_added_are_refuted():
    assert told("build_divided").verdict == "REFUTED", told("build_divided").why


def test_another_table_than_the_one_on_the_gpu_is_refuted():
    assert told("build_gpu").verdict == "REFUTED", told("build_gpu").why


def test_without_a_context_a_gpu_is_asked_for_in_vain():
    with cuda_as_cpu():
        assert torch.zeros(1, device="cuda").device.type == "cpu"
    assert "current_device" in vars(torch.cuda)
    with pytest.raises((AssertionError, RuntimeError)):
        torch.zeros(1, device="cuda")


def test_streams_of_a_gpu_are_one():
    with cuda_as_cpu():
        other = torch.cuda.Stream()
        other.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(other):
            assert torch.cuda.current_stream() == other == torch.cuda.default_stream()
        event = torch.cuda.Event()
        event.record()
        other.wait_event(event)
        assert event.query() and other.record_event().query()
    with pytest.raises((AssertionError, RuntimeError)):
        torch.cuda.Stream()


def test_a_group_of_each_rank_alone_is_refuted():
    assert told("build_group").verdict == "REFUTED", told("build_group").why


def test_narrow_gradients_that_are_added_are_refuted():
    assert told("build_narrow").verdict == "REFUTED", told("build_narrow").why


def test_a_fused_optimizer_with_another_beta_is_refuted():
    assert told("build_fused").verdict == "REFUTED", told("build_fused").why


def test_another_state_before_the_step_is_refuted():
    assert told("build_before").verdict == "REFUTED", told("build_before").why


def test_scattered_gradients_that_are_no_sums_are_refuted():
    assert told("build_coalesced").verdict == "REFUTED", told("build_coalesced").why


def test_a_view_of_what_was_multiplied_by_another_number_is_refuted():
    assert told("build_viewed").verdict == "REFUTED", told("build_viewed").why
