"""Programs that a recording alone would take for others: the wrong one is never PROVED, and its right twin is.

Each cause is seen by the recording itself. What no list of causes names is seen by the runs.
"""

import re
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

from tests.sampled import sampled  # noqa: E402
from tests.torch.fooling import SINGLES  # noqa: E402
from tests.torch.verdicts import answers  # noqa: E402

FILE = Path(__file__).with_name("fooling.py")
WRONG = {
    "build_thread": "a thread of the program runs aten.mul_",
    "build_process": "the program begins a process",
    "build_swallowed": "decides what the program does",
    "build_given_away": "the recording does not have",
    "build_handed": "the recording does not have",
    "build_handed_last": "the recording does not have",
    "build_handed_filled": "lies in the memory of another",
    "build_handed_read": "the recording does not have",
    "build_addressed": "the recording does not have",
    "build_numpy_view": "memory is changed behind torch's back",
    "build_numpy_written": "nobody names",
    "build_unseen": "weight is written to where nothing is recorded",
    "build_numpy_random": "other is 2.0|nobody seeds it",
    "build_python_random": "other is|nobody seeds it",
    "build_generated": "other|nobody seeds it",
    "build_numpy_generator": "other|nobody seeds it",
    "build_own_generator": "other|nobody seeds it",
    "build_secret": "other|nobody seeds it",
    "build_variables": "other=2.0 on rank 1",
    "build_seeds": "come about differently|begin with different values of weight",
    "build_set_order": "",
    "build_hash_order": "",
    "build_id_order": "",
    "build_trainable": "requires a gradient is read, and nobody names it",
    "build_state": "that was there before it, and that nobody names",
    "build_average": "average",
    "build_count": "",
    "build_flight_input": "written to before communication",
    "build_flight_two": "without a wait",
    "build_groups_exchanged": "where rank 1 is at",
    "build_group_of_members": "new_group waits for all",
    "build_group_order": "new_group waits for all",
    "build_barrier": "barrier",
    "build_barrier_early": "barrier",
    "build_tags": "with tag 1 .* with tag 2",
}
"""builder -> a pattern that stands in the answer."""
LOOKED_AT = tuple(name for name, found in WRONG.items() if found)
HANDED = {
    "build_handed": "lies in the memory of another",
    "build_handed_last": "lies in the memory of another",
    "build_handed_filled": "torch writes to memory that something else reads, too",
    "build_handed_read": "lies in the memory of another",
    "build_addressed": "the memory of a storage is given away: data_ptr",
}
"""What is said of some of them where the recording is of real tensors, and has the memory."""
RARE = ("build_rare", "build_generated_name")
RUNS_ALONE = ("build_type", "build_backend")
RIGHT = (
    "build_thread_right", "build_process_right", "build_swallowed_right", "build_given_away_right",
    "build_overlapping_right",
    "build_numpy_view_right", "build_numpy_written_right", "build_unseen_right", "build_numpy_random_right",
    "build_python_random_right", "build_variables_right", "build_seeds_right", "build_set_order_right",
    "build_trainable_right", "build_state_right", "build_average_right", "build_count_right",
    "build_flight_input_right", "build_flight_two_right", "build_groups_exchanged_right",
    "build_group_of_members_right", "build_barrier_right", "build_tags_right",
    "build_numpy_generator_right", "build_own_generator_right", "build_secret_right",
)  # fmt: skip


def single(name):
    return next((value for start, value in SINGLES.items() if name.startswith(start)), "build_single")


RECORDED = (*WRONG, *RUNS_ALONE, *sampled(RIGHT, 4))
"""What is judged by its recording alone: all that this must see."""
RUN = (*sampled(WRONG, 6), *RUNS_ALONE, *RIGHT, *RARE)
"""What is run besides: all that runs must agree with, or see alone."""


def told(run):
    pairs = tuple((name, single(name)) for name in (RUN if run else RECORDED))
    return answers(FILE, pairs, confirm=60.0 if run else 0.0, causes=LOOKED_AT)


def ways(names):
    """Each of the names as it is judged, with runs and without."""
    found = [(name, run) for name in names for run in (False, True) if name in (RUN if run else RECORDED)]
    return pytest.mark.parametrize(("name", "run"), found, ids=[f"{n}-{'run' if r else 'recorded'}" for n, r in found])


@ways(WRONG)
def test_a_program_that_fools_a_recording_is_not_proved(name, run):
    found = told(run)[name]
    assert found.verdict != "PROVED"
    assert re.search(WRONG[name], found.why), found.why


@pytest.mark.parametrize("name", [*HANDED, "build_overlapping_right"])
def test_memory_under_two_names_is_seen_where_it_lies(name):
    pairs = tuple((each, "build_single") for each in (*HANDED, "build_overlapping_right"))
    found = answers(FILE, pairs, tensors="real", confirm=0.0)[name]
    assert found.verdict == ("UNKNOWN" if name in HANDED else "PROVED"), found.why
    assert HANDED.get(name, "") in found.why


@pytest.mark.parametrize("name", RUNS_ALONE)
def test_runs_see_what_the_recording_does_not(name):
    assert told(False)[name].verdict == "PROVED"
    found = told(True)[name]
    assert found.verdict == "not put"
    assert re.search("not what the program does when it is run: rank 0 holds other numbers", found.why)


@ways(RIGHT)
def test_its_right_twin_is_proved(name, run):
    found = told(run)[name]
    assert found.verdict == "PROVED", found.why
    assumed = {assumption.name for assumption in found.report.assumptions}
    assert ("recording-not-confirmed" in assumed) is not run
    assert "unseeded-draws" not in assumed


@pytest.mark.parametrize("name", RARE)
def test_what_is_drawn_and_seems_to_decide_nothing_is_an_assumption(name):
    found = told(True)[name]
    assert found.verdict == "PROVED", found.why
    assert "unseeded-draws" in {assumption.name for assumption in found.report.assumptions}
