"""A Step: model, what parallelizes it, batch and mesh in one call; what is inferred is proved, wrong twins refuted."""

import logging
import re
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

from click.testing import CliRunner  # noqa: E402

from tests.process import verdict  # noqa: E402
from tests.torch.verdicts import ALL, answers  # noqa: E402
from verdict.backends.torch.launch import Target  # noqa: E402
from verdict.backends.torch.stated import ranks_of, step_of  # noqa: E402
from verdict.cli import cli  # noqa: E402
from verdict.errors import UsageError  # noqa: E402
from verdict.report import Verdict  # noqa: E402
from verdict.torch import Context, Step, verify  # noqa: E402

FILE = Path(__file__).resolve().parents[2] / "examples" / "torch" / "one_call.py"
STEPPED = Path(__file__).with_name("stepped.py")


def told(name, world=2):
    return answers(FILE, tuple((each, each) for each in ("ddp", "fsdp", "tp", "forgotten")), world, "real")[name]


@pytest.mark.parametrize("name", ["ddp", "fsdp", "tp"])
def test_what_is_inferred_of_a_right_step_is_proved(name):
    assert told(name).verdict == "PROVED", told(name).why


def test_a_model_whose_gradients_nobody_averages_is_refuted():
    assert told("forgotten").verdict == "REFUTED", told("forgotten").why


def test_gradients_that_are_zero_but_for_rounding_lie_amid_others_in_one_buffer():
    """Those of keys' biases: their values say nothing of which they are."""
    pairs = tuple((name, name) for name in ("BIASED", "BIASED_AND_SUMMED"))
    found = answers(STEPPED, pairs, tensors="real")
    assert found["BIASED"].verdict == "PROVED", found["BIASED"].why
    assert found["BIASED_AND_SUMMED"].verdict == "REFUTED", found["BIASED_AND_SUMMED"].why


@pytest.mark.slow
def test_two_axes_of_which_one_divides_the_batch():
    found = answers(FILE, (("fsdp_tp", "fsdp_tp"),), 4, "real")["fsdp_tp"]
    assert found.verdict == "PROVED", found.why


def test_a_fused_optimizer_of_shards_is_taken_apart():
    """A DTensor runs an operator on tensors without data first, to learn its shapes: no step is one of these."""
    pairs = tuple((name, name) for name in ("FUSED", "FUSED_AND_SUMMED"))
    found = answers(STEPPED, pairs, tensors="real")
    assert found["FUSED"].verdict == "PROVED", found["FUSED"].why
    assert found["FUSED_AND_SUMMED"].verdict == "REFUTED", found["FUSED_AND_SUMMED"].why


@pytest.mark.parametrize(("name", "status"), [("AIMED", 0), ("AIMED_AND_SUMMED", 1)])
def test_what_a_library_does_while_no_code_of_the_users_runs_is_told_where_the_model_is_parallelized(name, status):
    """Recorded by processes of their own: in those of other tests code of the tests runs, as a user's would."""
    done = verdict("torch", f"{STEPPED}:{name}", "--color", "never", OMP_WAIT_POLICY="passive")
    assert done.returncode == status, done.stdout + done.stderr
    told = re.search(r"--> stepped.py:\d+\n *\d+ [|] +def sharded_and_summed", done.stdout)
    assert bool(told) is bool(status), done.stdout


NAMED = ("OUTSIDE", "AROUND", "PIECES", "ONE_PIECE", "SUM", "SUM_AVERAGED", "SUM_TAKEN_FOR_MEAN", "FLAT", "THAWED",
         "DIVIDED_OTHERWISE")  # fmt: skip


def stated(name):
    pairs = tuple((each, each) for each in NAMED)
    return answers(STEPPED, pairs, tensors="real", causes=ALL)[name]


@pytest.mark.parametrize("name", ["OUTSIDE", "AROUND", "PIECES", "SUM"])
def test_wrappers_and_summed_losses_are_proved(name):
    assert stated(name).verdict == "PROVED", stated(name).why


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("ONE_PIECE", "submodule: mm"),
        ("SUM_AVERAGED", "averages over ranks 0, 1 where the sum"),
        ("SUM_TAKEN_FOR_MEAN", "div (loss is a mean over 2 ranks) has other=2"),
        ("DIVIDED_OTHERWISE", "call it with another reduce"),
    ],
)
def test_wrong_twins_are_refuted_at_their_cause(name, why):
    assert stated(name).verdict == "REFUTED" and why in stated(name).why, stated(name).why


@pytest.mark.parametrize(
    ("name", "why"), [("FLAT", "the first FSDP keeps parts of flat parameters"), ("THAWED", "not trained there")]
)
def test_what_says_nothing_of_weights_is_an_error_that_teaches(name, why):
    assert stated(name).verdict == "not put" and why in stated(name).why, stated(name).why


@pytest.mark.slow
def test_one_call(assert_parallel, caplog, capfd):
    from tests.torch import stepped  # noqa: PLC0415  (its functions stand at the top of that file)

    caplog.set_level(logging.INFO, logger="verdict")
    more = {"batch": stepped.batch, "mesh": 2, "loss": stepped.loss, "optimizer": stepped.sgd}
    report = verify(stepped.model, stepped.wrapped, **more)
    assert report.verdict is Verdict.PROVED
    assert ["rows of input are divided among 2" in one.text for one in report.assumptions].count(True) == 1
    with pytest.raises(AssertionError, match="REFUTED"):
        assert_parallel(stepped.model, stepped.wrapped_and_halved, **more)
    assert any("recorded on real tensors" in message for message in caplog.messages)
    assert "sweep" in caplog.messages and capfd.readouterr().err == ""


def test_the_file_says_how_many_ranks_there_are():
    assert [ranks_of(step_of(Target(str(FILE), name))) for name in ("ddp", "fsdp_tp")] == [2, 4]
    assert step_of(Target(str(FILE), "batch")) is None
    ran = CliRunner().invoke(cli, ["torch", f"{FILE}:batch"])
    assert isinstance(ran.exception, UsageError) and "--world" in str(ran.exception)


MADE = """
def make(parallel, mesh, clip=None):
    return Step(Network, parallel, batch, mesh=mesh, clip=clip)

def of_four(parallel, mesh={"dp": 4}):
    def loss(output):
        return output.mean()
    return verdict.torch.Step(Network, parallel, batch, mesh, loss)

def other(n):
    return other(n)

ddp = make(wrapped, {"dp": 2, "tp": 3})
named = make(mesh=2, parallel=wrapped)
default = of_four(wrapped)
same: Step = ddp
clipped = dataclasses.replace(same, clip=1.0)
moved = replace(named, mesh={"dp": 8})
unknown = make(wrapped, SIZES)
itself = other(1)
around = around
number = 3
"""


def test_a_step_that_a_function_makes_is_seen(tmp_path):
    file = tmp_path / "made.py"
    file.write_text(MADE)
    ranks = {"ddp": 6, "named": 2, "default": 4, "same": 6, "clipped": 6, "moved": 8, "unknown": None}
    steps = {name: step_of(Target(str(file), name)) for name in ranks}
    assert {name: ranks_of(found) for name, found in steps.items()} == ranks
    assert not any(step_of(Target(str(file), name)) for name in ("itself", "around", "number", "make", "missing"))


def step(**more):
    given = {"model": lambda: torch.nn.Linear(2, 2), "parallel": None, "batch": {"x": torch.ones(3, 2)}, "mesh": 2}
    return Step(**{**given, **more})


@pytest.mark.parametrize(
    ("made", "ctx", "problem"),
    [
        (step(), Context(0, 4), "its mesh has 2 ranks, there are 4"),
        (step(batch={"x": torch.ones(())}), Context(0, 1), "its shape is []"),
    ],
)
def test_what_does_not_fit_is_refused(made, ctx, problem):
    with pytest.raises(UsageError) as refused:
        made(ctx)
    assert problem in str(refused.value)


def test_a_loss_of_many_elements_is_refused():
    with pytest.raises(UsageError, match="no tensor of one element"):
        step(batch={"input": torch.ones(3, 2)})(Context(0, 1)).step()
