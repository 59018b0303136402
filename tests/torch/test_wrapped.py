"""DistributedDataParallel as it is by default: its buckets of buffers are waited for, and what is kept is compared."""

from dataclasses import replace
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

from tests.torch.verdicts import ALL, answers, live_answers, plan  # noqa: E402
from verdict.api import generate  # noqa: E402
from verdict.backends.torch.launch import Limits, Target, record_each  # noqa: E402
from verdict.graph.kept import RECORDED, with_kept  # noqa: E402
from verdict.outcome import Assumption  # noqa: E402

FILE = Path(__file__).with_name("wrapped.py")
BUILDERS = ("build_right", "build_other_right", "build_first")


def told(name):
    return answers(FILE, tuple((each, "build_single") for each in BUILDERS), tensors="real", causes=ALL)[name]


def accumulating(name):
    builders = ("build_accumulated_right", "build_twice_right", "build_accumulated")
    return answers(FILE, tuple((each, "build_accumulated_single") for each in builders), tensors="real")[name]


@pytest.mark.parametrize("name", ["build_right", "build_other_right"])
def test_buffers_that_rank_0_broadcasts_are_what_they_were(name):
    assert told(name).verdict == "PROVED", told(name).why


def test_a_buffer_that_rank_0_changes_is_told():
    found = told("build_first")
    assert found.verdict == "REFUTED"
    assert found.why.startswith("mul (wrapped.py:")
    assert "on rank 0" in found.why


def test_what_the_wrapper_sends_when_it_is_made_in_the_step_is_its_own():
    pairs = tuple((name, "build_made_single") for name in ("build_made_right", "build_made"))
    right, wrong = (answers(FILE, pairs, tensors="real")[name] for name, _ in pairs)
    assert right.verdict == "PROVED", right.why
    assert wrong.verdict == "REFUTED" and "without a wait" not in wrong.why, wrong.why


def test_one_that_is_alone_has_nobody_to_broadcast_to():
    pairs = tuple((name, "build_wrapped_single") for name in ("build_right", "build_first"))
    right, wrong = (answers(FILE, pairs, tensors="real")[name] for name, _ in pairs)
    assert (right.verdict, wrong.verdict) == ("PROVED", "REFUTED"), (right.why, wrong.why)
    (alone,) = record_each([(Target(str(FILE), "build_wrapped_single"), 1)], "real", 2, Limits(120.0))
    ops = {node.op for segment in plan(alone, "build_wrapped_single").segments for node in segment.nodes}
    assert "aten.addmm" in ops and ops.isdisjoint({"broadcast", "aten.cat", "aten.slice.Tensor"})


@pytest.mark.parametrize("name", ["build_accumulated_right", "build_twice_right"])
def test_gradients_that_are_accumulated_are_those_of_the_whole_batch(name):
    assert accumulating(name).verdict == "PROVED", accumulating(name).why


def test_the_last_microbatch_without_communication_is_told():
    found = accumulating("build_accumulated")
    assert found.verdict == "REFUTED", found.why


def test_what_a_plan_that_was_not_recorded_leaves_out_is_not_taken_to_be_kept():
    sizes = {"layers": 1, "hidden": 4, "batch": 4, "dp": 2, "tp": 1, "pp": 1, "microbatches": 1}
    single, _ = generate("mlp", **sizes)
    _, parallel = generate("mlp", **sizes, optimizer="adamw")
    assert with_kept(single, parallel) is single
    recorded = replace(single, assumptions=(Assumption(RECORDED, ""),))
    added = with_kept(recorded, parallel).outputs
    assert added and all(held.tensor == held.weight for held in added)
    assert with_kept(replace(recorded, outputs=added), parallel).outputs == added


def test_a_buffer_whose_elements_repeat_is_refused_with_its_name():
    found = answers(FILE, (("build_repeated", "build_repeated"),))["build_repeated"]
    assert found.verdict == "not put"
    assert "scale: it cannot be followed" in found.why


def test_parameters_that_a_pass_does_not_use_are_found():
    pairs = tuple((name, "build_turns_single") for name in ("build_turns_right", "build_turns"))
    found = answers(FILE, pairs, tensors="real")
    assert found["build_turns_right"].verdict == "PROVED", found["build_turns_right"].why
    assert found["build_turns"].verdict == "REFUTED"


def test_what_other_ranks_used_is_known_to_a_run_of_all_of_them():
    pairs = tuple((name, "build_halves_single") for name in ("build_halves_right", "build_halves"))
    alone = answers(FILE, pairs, tensors="real")
    assert all(each.verdict == "not put" for each in alone.values()), alone
    unconfirmed = answers(FILE, pairs, tensors="real", confirm=0.0)
    assert unconfirmed["build_halves"].verdict != "PROVED"
    together = live_answers(FILE, "build_halves_single", ("build_halves_right", "build_halves"))
    assert together["build_halves_right"].verdict == "PROVED", together["build_halves_right"].why
    assert together["build_halves"].verdict == "REFUTED"


def test_states_that_torch_divides_among_ranks():
    pairs = tuple((name, "build_sharded_single") for name in ("build_sharded_right", "build_sharded"))
    found = answers(FILE, pairs, tensors="real")
    assert found["build_sharded_right"].verdict == "PROVED", found["build_sharded_right"].why
    assert found["build_sharded"].verdict == "REFUTED"
