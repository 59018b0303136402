"""Random numbers that a step draws: what is proved of them, what is refuted, and that runs draw the same."""

from functools import cache

import pytest

torch = pytest.importorskip("torch")

from tests.process import verdict  # noqa: E402
from tests.torch.test_recorded import ROOT  # noqa: E402
from tests.torch.verdicts import ALL, answers  # noqa: E402
from verdict.backends.text import read, write  # noqa: E402
from verdict.backends.torch.assemble import plan_of  # noqa: E402
from verdict.backends.torch.launch import Target, record_all  # noqa: E402
from verdict.graph.draws import draws_of  # noqa: E402
from verdict.options import Options  # noqa: E402
from verdict.pipeline import verify  # noqa: E402
from verdict.report import Verdict  # noqa: E402

RANDOMNESS = ROOT / "tests" / "torch" / "randomness.py"
EXAMPLES = ROOT / "examples" / "torch" / "dropout_seeds.py"
EXACT = ("build_tp", "build_tp_checkpointed", "build_parts_of_one", "build_dtensor")
BY_LAW = ("build_tracked", "build_dp", "build_dp_checkpointed", "build_accumulated")
OPEN = "build_parts_of_own"
WRONG = {
    "build_tp_seeds": "random-state-differs",
    "build_tp_unseeded": "random-state-differs",
    "build_tp_checkpointed_otherwise": "random-state-differs",
    "build_dp_checkpointed_otherwise": "random-state-differs",
    "build_dp_same": "same-random-state",
    "build_tracked_alike": "same-random-state",
    "build_accumulated_same": "same-random-state",
    "build_dtensor_shards": "same-random-state",
    "build_dp_unreduced": "missing-reduction",
    "build_unscaled": "wrong-scale",
}


def single(builder):
    return "build_single_inner" if "tracked" in builder else "build_single"


def found(builder):
    pairs = tuple((name, single(name)) for name in (*EXACT, *BY_LAW, *WRONG, OPEN))
    return answers(RANDOMNESS, pairs, causes=ALL)[builder]


@cache
def recorded():
    """Plans by builder, written and read again."""
    wanted = {"build_single": 1, "build_single_inner": 1, "build_tp": 2, "build_dp": 2}
    found = record_all([(Target(str(RANDOMNESS), name), world) for name, world in wanted.items()], cores=2)
    return {
        name: read(write(plan_of(each.traces, "plan")).encode(), "plan")
        for name, each in zip(wanted, found, strict=True)
    }


def names(report):
    return {assumption.name for assumption in report.assumptions}


@pytest.mark.parametrize("builder", EXACT)
def test_equal_draws_are_proved_without_an_assumption(builder):
    answer = found(builder)
    assert answer.verdict == "PROVED", answer.why
    assert not {"masks-by-law", "recording-not-confirmed"} & names(answer.report)


@pytest.mark.parametrize("builder", BY_LAW)
def test_draws_of_one_law_are_proved_under_an_assumption(builder):
    answer = found(builder)
    assert answer.verdict == "PROVED", answer.why
    assert "masks-by-law" in names(answer.report)
    assert "recording-not-confirmed" not in names(answer.report)


def test_masks_of_which_each_rank_uses_another_part_are_no_wrong_copies():
    answer = found(OPEN)
    assert answer.verdict == "UNKNOWN"
    assert "random numbers: ranks 0 and 1 draw other random numbers" in answer.why


@pytest.mark.parametrize("builder", WRONG)
def test_wrong_states_are_refuted(builder):
    answer = found(builder)
    assert answer.verdict == "REFUTED", answer.why
    assert [finding.code for finding in answer.report.findings][:1] == [WRONG[builder]]


@pytest.mark.parametrize(
    ("tensors", "codes"),
    [
        ("fake", {"fsdp": "", "tensor_parallel": "", "tracked": "", "tracked_alike": "same-random-state",
                  "tensor_parallel_seeds": "random-state-differs"}),
        ("real", {"ddp": "", "ddp_same_seed": "same-random-state", "ddp_not_restored": "random-state-differs"}),
    ],
)  # fmt: skip
def test_examples(tensors, codes):
    told(answers(EXAMPLES, tuple((name, name) for name in codes), 2, tensors, causes=ALL), codes)


def test_examples_on_a_mesh():
    codes = {"fsdp_tracked": "", "fsdp_by_rank": "random-state-differs"}
    told(answers(EXAMPLES, tuple((name, name) for name in codes), 4, causes=ALL), codes)


def told(found, codes):
    for name, answer in found.items():
        assert answer.verdict == ("REFUTED" if codes[name] else "PROVED"), (name, answer.why)
        assert [finding.code for finding in answer.report.findings] == [codes[name]] * bool(codes[name])
        assert "recording-not-confirmed" not in names(answer.report)


@pytest.mark.parametrize("tensors", ["fake", "real"])
def test_one_device(tensors):
    pairs = (("build_checkpointed", "build_single"), ("build_checkpointed_otherwise", "build_single"))
    right, wrong = answers(RANDOMNESS, pairs, 1, tensors, causes=ALL).values()
    assert right.verdict == "PROVED", right.why
    assert "masks-by-law" not in names(right.report)
    assert (wrong.verdict, wrong.report.findings[0].code) == ("REFUTED", "random-state-differs")


def test_states_that_are_restored_and_truth_values():
    names_of = ("build_restored", "build_squared", "build_not_restored")
    restored, squared, wrong = answers(RANDOMNESS, tuple((name, "build_single") for name in names_of), 1).values()
    assert (restored.verdict, squared.verdict) == ("PROVED", "PROVED"), (restored.why, squared.why)
    assert not {"masks-by-law"} & (names(restored.report) | names(squared.report))
    assert wrong.verdict != "PROVED"


def test_the_law_can_be_denied():
    plans = [recorded()[name] for name in ("build_single", "build_dp")]
    assert verify(*plans, Options()).verdict is Verdict.PROVED
    denied = verify(*plans, Options(denied=frozenset({"masks-by-law"})))
    assert [finding.code for finding in denied.findings] == ["assumption-denied"]


@pytest.mark.parametrize(("form", "status"), [("{}", 0), ('parameters=("x",)', 3)])
def test_plans_with_draws_are_run_and_verified(tmp_path, form, status):
    """A draw of which the plan does not say what it is has no rule."""
    for name, plan in (("single", "build_single"), ("parallel", "build_dp")):
        text = write(recorded()[plan])
        text = text if form == "{}" else text.replace("parameters=(0.75,)", form)
        (tmp_path / f"{name}.plan").write_text(text)
    files = ["--sm", f"{tmp_path}/single.plan", "--pm", f"{tmp_path}/parallel.plan"]
    for command in ([], ["run"]):
        ended = verdict(*command, *files)
        assert ended.returncode == status, ended.stdout


def test_a_draw_says_from_which_state():
    """Those of one seed are alike, and the second is from another state than the first."""
    alone, ranks = draws_of(recorded()["build_single_inner"]), draws_of(recorded()["build_tp"])
    assert [draw.module for draw in alone] == ["inner", "drop"]
    assert alone[0].state == ranks[0].state == ranks[1].state != alone[1].state
