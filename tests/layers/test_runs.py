"""Runs: which stretches of a program repeat one sequence of nodes."""

import numpy as np
import pytest

from verdict.layers import runs
from verdict.layers.runs import LEAST, Run, runs_of

LAYER = [*range(10, 40), 3, 3, 4]
RING = [50, 51, 52, 53, 54, 55, 56, 57]


def tokens(*parts):
    return np.array([token for part in parts for token in part], dtype=np.int64)


def test_equal_layers_are_windows_of_one_run():
    assert runs_of(tokens([1, 2], LAYER * 20, [5, 6])) == [Run(2, len(LAYER), 20, 0)]


def test_forward_and_backward_are_two_runs():
    found = runs_of(tokens([1], LAYER * 20, [5, 6], [*LAYER[::-1], 7] * 20, [8]))
    assert [(run.period, run.windows) for run in found] == [(len(LAYER), 20), (len(LAYER) + 1, 20)]


def test_what_goes_on_after_the_last_window_is_the_rest():
    assert runs_of(tokens(LAYER * 20, LAYER[:5], [99])) == [Run(0, len(LAYER), 20, 5)]


def test_what_is_repeated_within_a_layer_is_no_layer():
    layer = LAYER + RING * 15 + [60, 61]
    assert runs_of(tokens([1], layer * 14)) == [Run(1, len(layer), 14, 0)]


def test_short_windows_that_come_often_are_a_run():
    assert runs_of(tokens([1, 2], [7, 8, 9] * 40, [5])) == [Run(2, 3, 40, 0)]


def test_equal_numbers_of_other_sequences_are_no_run(monkeypatch):
    """Numbers tell sequences apart but by chance; what they find is looked at."""
    monkeypatch.setattr(runs, "_mixed", np.zeros_like)
    assert runs_of(np.arange(400) % 37) == []
    assert runs_of(np.zeros(400, dtype=np.int64)) == [Run(0, 1, 400, 0)]


FEW_LOOKS = ([0, 1, 2, 1, 2, 1, 2, 1], [1, 2, 2, 1, 1, 2], [0, 0, 0, 1], [3, 1, 1, 3, 1, 1, 3, 2])


@pytest.mark.parametrize("layer", FEW_LOOKS)
def test_sequences_of_few_looks_are_told_apart(layer):
    assert runs_of(tokens([9], layer * 24, [8])) == [Run(1, len(layer), 24, 0)]


@pytest.mark.parametrize("count", [1, LEAST - 1])
def test_few_windows_are_no_run(count):
    assert runs_of(tokens(LAYER * count)) == []


def test_one_other_node_ends_a_run():
    other = [*LAYER]
    other[4] = 98
    found = runs_of(tokens(LAYER * 20, other, LAYER * 20))
    assert [run.windows for run in found] == [20, 20]
    assert found[0].size + found[1].size < 41 * len(LAYER)
