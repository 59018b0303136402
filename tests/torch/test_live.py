"""All ranks recorded together: choices that data makes, the right program of each kind PROVED, wrong ones not."""

import re
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

from tests.torch.verdicts import ALL, live_answers  # noqa: E402

FILE = Path(__file__).with_name("live.py")
CHOICES = "recorded-choices"
PROGRAMS = {
    "build_if_single": ("build_if", "build_if_local", "build_if_moved", "build_if_alone"),
    "build_flag_single": ("build_flag", "build_flag_local"),
    "build_any_single": ("build_any", "build_any_of_all", "build_any_otherwise", "build_any_own", "build_any_counted"),
    "build_far_single": ("build_far", "build_far_of_all", "build_far_own", "build_far_counted"),
    "build_within_single": ("build_within", "build_within_own"),
    "build_rounded_single": ("build_rounded", "build_rounded_of_all"),
    "build_pick_single": ("build_pick", "build_pick_local"),
    "build_labels_single": ("build_labels", "build_labels_local"),
    "build_told_single": ("build_told", "build_told_own"),
    "build_none_single": ("build_none", "build_none_kept", "build_none_own"),
    "build_pipe_single": ("build_pipe", "build_pipe_last"),
    "build_read_single": ("build_read",),
    "build_clip_single": ("build_clip", "build_clip_local", "build_clip_less"),
    "build_factored_single": ("build_factored", "build_factored_alone"),
    "build_array_single": ("build_array", "build_array_written"),
    "build_kept_single": ("build_kept", "build_kept_added"),
    "build_scatter_single": ("build_scatter", "build_scatter_turned"),
    "build_found_single": ("build_found", "build_found_always"),
    "build_sent_single": ("build_sent",),
    "build_trim_single": ("build_trim", "build_trim_local"),
    "build_bounded_single": ("build_bounded", "build_bounded_local"),
    "build_alike_single": ("build_alike", "build_alike_local"),
    "build_balance_single": ("build_balance", "build_balance_local"),
    "build_table_single": ("build_table", "build_table_turned"),
}
"""single-device program -> parallel ones, the right one first."""
CHOOSING = {
    "build_if": r"lt \(live\.py:\d+:\d+ step\) chose 1",
    "build_any": r"gt \(live\.py:\d+:\d+ is_far\) chose 1",
    "build_far": r"gt \(live\.py:\d+:\d+ is_far\) chose 0",
    "build_far_own": r"gt \(live\.py:\d+:\d+ is_far\) chose 0",
    "build_flag": r"lt \(live\.py:\d+:\d+ step\) chose [01]",
    "build_pick": r"gt \(live\.py:\d+:\d+ step\) chose [01 ]+",
    "build_labels": r"labels \(.*\) chose 0 -100 2 1 3 -100 -100 1",
    "build_trim": r"labels \(.*\) chose 3 2 1 3 1 3 2 2",
    "build_alike": r"labels \(.*\) chose 2 2 2 2 2 2 2 2",
    "build_bounded": r"gt \(live\.py:\d+:\d+ step\) chose 1 1 1 1 1 1 1 1",
    "build_balance": r"argmax \(live\.py:\d+:\d+ step\) chose [0-3 ]+",
    "build_clip": r"lt \(live\.py:\d+:\d+ step\) chose 1",
    "build_factored": r"(lt|gt) \(live\.py:\d+:\d+ step\) chose [01]",
    "build_scatter": r"topk \(live\.py:\d+:\d+ step\) chose [0-3 ]+",
    "build_found": r"gt \(live\.py:\d+:\d+ step\) chose 0",
    "build_array": r"gt \(live\.py:\d+:\d+ step\) chose [01 ]+",
    "build_table": r"table \(.*\) chose 0 2 3 1",
    "build_none": r"gt \(live\.py:\d+:\d+ step\) chose 1 1 1 1 0 1 0 1",
}
REFUTED = {
    "build_if_local": "before it is summed over ranks 0, 1",
    "build_flag_local": "",
    "build_any_of_all": "takes the minimum",
    "build_within_own": r"of all of mm \(live\.py:\d+\) is due",
    "build_rounded_of_all": r"all_reduce \(live\.py:\d+\) takes the minimum over ranks 0, 1 where the greatest",
    "build_any_own": r"of all of abs \(live\.py:\d+\) is due",
    "build_any_otherwise": "aten.gt.Scalar",
    "build_far_of_all": "takes the minimum",
    "build_if_moved": r"live\.py:\d+",
    "build_pick_local": "has other=10 on ranks 0, 1; the single-device node has other=14; all_reduce",
    "build_labels_local": "",
    "build_told_own": "other=3.0 on rank 1",
    "build_none_kept": "declared gradient of expert1",
    "build_pipe_last": "mse_loss",
    "build_scatter_turned": "",
    "build_kept_added": "add",
    "build_table_turned": r"roll \(live\.py:727\)",
    "build_trim_local": r"run on other numbers, .* sum of ranks 0, 1 .* loss .* is read at \(live\.py:\d+:\d+ step\)",
    "build_alike_local": r"run on other numbers, .* is read at \(live\.py:\d+:\d+ step\)",
    "build_bounded_local": r"run on other numbers, .* loss .* is read at \(live\.py:\d+:\d+ step\)",
    "build_found_always": "run on other numbers, rank 0 holds other numbers in weight.updated",
    "build_balance_local": r"live\.py:\d+",
    "build_factored_alone": "before it is averaged over ranks 0, 1",
    "build_clip_local": "before it is summed over ranks 0, 1",
    "build_clip_less": "other=0.4 on ranks 0, 1",
}
LOOKED_AT = tuple(name for name, found in REFUTED.items() if found)
OPEN = {
    "build_any_counted": "goes on by a choice that the single-device program does not make: gt",
    "build_far_counted": "decided 1 on rank 0: claim",
    "build_within": "decided 1 on rank 0: claim",
    "build_rounded": "decided 1 on rank 0: claim",
    "build_if_alone": "no ranks use all of a choice of the single-device program: lt",
    "build_none_own": "(run together: they wait for each other|it waits for a rank that has ended)",
    "build_array_written": "memory is changed behind torch's back|not what the program does",
    "build_read": "a value is read by Python",
    "build_sent": "a real number of the data is sent or kept as an object of Python's",
}


def answered(name):
    single = next(single for single, names in PROGRAMS.items() if name in names)
    return live_answers(FILE, single, PROGRAMS[single], causes=LOOKED_AT)[name]


@pytest.mark.parametrize("name", [*CHOOSING, "build_told", "build_pipe", "build_kept"])
def test_a_right_program_is_proved(name):
    found = answered(name)
    assert found.verdict == "PROVED", found.why
    assumed = [each.text for each in found.report.assumptions if each.name == CHOICES]
    assert bool(assumed) is (name in CHOOSING)
    assert re.search(CHOOSING.get(name, ""), " ".join(assumed))


@pytest.mark.parametrize("name", REFUTED)
def test_a_wrong_program_is_refuted(name):
    found = answered(name)
    assert found.verdict == "REFUTED", found.why
    assert re.search(REFUTED[name], found.why), found.why


@pytest.mark.parametrize("name", OPEN)
def test_what_cannot_be_followed_is_no_proof(name):
    found = answered(name)
    assert found.verdict in ("UNKNOWN", "not put")
    assert re.search(OPEN[name], found.why), found.why


EXAMPLES = Path(__file__).resolve().parents[2] / "examples" / "torch"
DISPATCH = EXAMPLES / "moe_dispatch.py"
TOKENS = {
    2: {
        "build": "",
        "build_wrong_order": r"mm \(moe_dispatch\.py:\d+\) makes what the single-device plan has nowhere, and loss",
        "build_not_unpermuted": r"mul \(moe_dispatch\.py:\d+\) makes what the single-device plan has nowhere, and loss",
        "build_local_balance": r"div \(moe_dispatch\.py:\d+\) .* before it is averaged over ranks 0, 1",
    },
    4: {"build": "", "build_experts_not_reduced": "the declared gradient of down uses it before it is summed"},
}
"""ranks -> builders of the mixture of experts, and what is found."""


@pytest.mark.parametrize(("world", "name"), [(world, name) for world, names in TOKENS.items() for name in names])
def test_tokens_that_travel_by_data(world, name):
    found = live_answers(DISPATCH, "build_single", tuple(TOKENS[world]), world, causes=ALL)[name]
    assert found.verdict == ("REFUTED" if TOKENS[world][name] else "PROVED"), found.why
    assert re.search(TOKENS[world][name], found.why), found.why


def test_a_library_that_makes_sure_of_shapes_by_itself():
    """DistributedDataParallel compares the shapes of parameters where it is made; no program of the user's decides."""
    found = live_answers(EXAMPLES / "ddp.py", "build_single", ("build", "build_loss_scale"))
    assert found["build"].verdict == "PROVED", found["build"].why
    assert CHOICES not in {assumption.name for assumption in found["build"].report.assumptions}
    assert found["build_loss_scale"].verdict == "REFUTED", found["build_loss_scale"].why
