"""What exchanges and reductions mean: of ranks without rows, of memory of other shapes, of truth values."""

from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

from tests.torch.verdicts import answers  # noqa: E402

FILE = Path(__file__).with_name("exchanged.py")


def test_a_rank_without_rows_takes_part_in_an_uneven_exchange():
    found = answers(FILE, (("build", "build_single"), ("build_own", "build_single")), world=3)
    assert found["build"].verdict == "PROVED", found["build"].why
    assert found["build_own"].verdict == "REFUTED", found["build_own"].why


def test_an_exchange_into_memory_of_another_shape_goes_by_what_lies_there():
    right, wrong = ("build_stacked", "build_stacked_flat"), "build_stacked_turned"
    found = answers(FILE, tuple((name, "build_stacked_single") for name in (*right, wrong)))
    assert [found[name].verdict for name in right] == ["PROVED", "PROVED"], [found[name].why for name in right]
    assert found[wrong].verdict == "REFUTED", found[wrong].why


@pytest.mark.parametrize("name", ["build_truths_summed", "build_truths_scattered"])
def test_a_sum_of_truth_values_is_true_where_one_of_them_is(name):
    pairs = ((name, "build_whole"), ("build_halves_summed", "build_halves"))
    found = answers(FILE, pairs, confirm=0.0)
    assert [each.verdict for each in found.values()] == ["PROVED", "PROVED"], [each.why for each in found.values()]
    assert answers(FILE, ((name, "build_halves"),))[name].verdict == "REFUTED"


def test_a_mean_of_whole_numbers_is_not_known():
    found = answers(FILE, (("build_total_averaged", "build_total"),), confirm=0.0)["build_total_averaged"]
    assert found.verdict == "UNKNOWN" and "a mean of int64" in found.why


def test_ends_of_communication_may_see_its_memory_in_unlike_shapes():
    right, wrong = (
        ("build_received_flat", "build_reduced_flat", "build_told_flat"),
        ("build_received_turned", "build_reduced_turned"),
    )
    found = answers(FILE, tuple((name, "build_averaged_single") for name in (*right, *wrong)))
    assert {found[name].verdict for name in right} == {"PROVED"}, [found[name].why for name in right]
    assert {found[name].verdict for name in wrong} == {"REFUTED"}, [found[name].why for name in wrong]
