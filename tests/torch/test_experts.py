"""Grouped products and counts of a mixture of experts: as torch computes them, and proved and refuted in programs."""

from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

from tests.torch.verdicts import live_answers  # noqa: E402
from verdict.backends.torch import grouped  # noqa: E402

FILE = Path(__file__).with_name("experts.py")
RIGHT = ("build", "build_inverse", "build_copied")
WRONG = ("build_scaled", "build_not_back", "build_turned", "build_copied_turned")
ENDS = torch.tensor([4, 4, 12], dtype=torch.int32)
PRODUCTS = {
    "rows": ((12, 8), (3, 8, 4), ENDS),
    "sums": ((4, 12), (12, 8), ENDS),
    "columns": ((3, 4, 8), (8, 12), ENDS),
    "all": ((3, 4, 8), (3, 8, 4), None),
}


@pytest.mark.parametrize("kind", PRODUCTS)
def test_grouped_products_are_what_torch_computes(kind):
    one, other, ends = PRODUCTS[kind]
    given = {"self": torch.randn(one), "mat2": torch.randn(other), "bias": None, "out_dtype": None}
    assert grouped.is_known("_grouped_mm", given)
    made = grouped.take("_grouped_mm", given, () if ends is None else ends.tolist())
    due = torch._grouped_mm(given["self"], given["mat2"], offs=ends)
    assert made.shape == due.shape and torch.allclose(made, due, atol=1e-6)
    if ends is not None:
        assert not torch.allclose(grouped.take("_grouped_mm", given, [4, 8, 12]), due, atol=1e-6)


@pytest.mark.parametrize(("bins", "low", "high"), [(4, 0, 3), (5, -1, 1), (1, 0, 2), (3, 1, 7)])
def test_counts_are_what_torch_computes(bins, low, high):
    numbers = torch.cat([torch.arange(-2.0, 9.0), torch.randn(50), torch.tensor([float(low), float(high)])])
    made = grouped.take("histc", {"self": numbers, "bins": bins, "min": low, "max": high}, ())
    assert torch.equal(made, torch.histc(numbers, bins, low, high))


def test_bounds_that_are_taken_from_the_data_are_not_known():
    assert not grouped.is_known("histc", {"self": torch.randn(3), "bins": 4, "min": 0, "max": 0})


@pytest.mark.parametrize("name", RIGHT)
def test_rows_that_are_sorted_by_expert_on_each_rank_are_proved(name):
    found = live_answers(FILE, "build_single", (*RIGHT, *WRONG))[name]
    assert found.verdict == "PROVED", found.why


@pytest.mark.parametrize("name", WRONG)
def test_rows_at_the_wrong_expert_or_place_are_refuted(name):
    found = live_answers(FILE, "build_single", (*RIGHT, *WRONG))[name]
    assert found.verdict == "REFUTED", found.why
