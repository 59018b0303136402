"""Communication hooks of DistributedDataParallel are recorded: torch's own and a program's."""

from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

from tests.torch.verdicts import answers  # noqa: E402
from verdict.backends.torch.host import world  # noqa: E402
from verdict.errors import UsageError  # noqa: E402

FILE = Path(__file__).with_name("hooked.py")
RIGHT = ("all_reduce", "compressed", "wrapped", "power", "divided", "divided_before", "waited")
WRONG = ("summed", "early", "kept", "by_rank_0")


def told(name):
    pairs = tuple((f"build_{each}", "build_single") for each in (*RIGHT, *WRONG, "no_future"))
    return answers(FILE, pairs, tensors="real", causes=("build_early",))[f"build_{name}"]


@pytest.mark.parametrize("name", RIGHT)
def test_gradients_that_a_hook_averages_are_those_of_the_batch(name):
    found = told(name)
    assert found.verdict == "PROVED", found.why
    assumed = {each.name for each in found.report.assumptions}
    assert "ddp-hook" in assumed and "ddp-averages" not in assumed


@pytest.mark.parametrize("name", WRONG)
def test_a_hook_that_does_not_is_told(name):
    assert told(name).verdict == "REFUTED", told(name).why


def test_what_is_read_before_it_has_arrived_is_told():
    assert told("early").report.findings[0].code == "read-before-wait"


def test_a_hook_returns_a_future():
    found = told("no_future")
    assert found.verdict == "not put"
    assert "a communication hook returns Tensor, no future (return the future of what it has begun)" in found.why


def wrapped():
    return torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(2, 2))


def test_a_model_has_one_hook():
    with world(0, 2):
        model = wrapped()
        model.register_comm_hook(None, lambda state, bucket: None)
        with pytest.raises(RuntimeError, match="can only be called once"):
            model.register_comm_hook(None, lambda state, bucket: None)


def test_ranks_that_have_ended_count_in_what_is_divided_by():
    with world(0, 2):
        model = wrapped()
        assert model.join_hook(divide_by_initial_world_size=True)
        with pytest.raises(UsageError, match="the ranks that have not joined yet is not recorded"):
            model.join_hook(divide_by_initial_world_size=False)
