"""A program with more ranks than are run is recorded by several tasks, each of a block of its ranks."""

import os
from functools import partial
from pathlib import Path

import pytest

from verdict.backends.torch.confirmation import NOT_RUN
from verdict.backends.torch.kept import Manner, same
from verdict.backends.torch.launch import Recorded, Target
from verdict.batches import recording
from verdict.batches.executor import Lost, local
from verdict.batches.recording import BLOCK, blocks, record_as_tasks, record_one
from verdict.errors import UsageError
from verdict.outcome import Unknown

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "torch" / "linear_ddp.py"
WORLD = 2 * BLOCK + 8
FAKE = Manner("fake", True, "")


def program(folder, *changes):
    """The example, with a row of the batch for each rank."""
    text = EXAMPLE.read_text().replace("program(8", f"program({WORLD}")
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    (folder / "many.py").write_text(text)
    return Target(str(folder / "many.py"), "build")


def test_what_is_run_or_recorded_together_is_one_task():
    assert [len(ranks) for ranks in blocks(WORLD, FAKE)] == [BLOCK, BLOCK, 8]
    assert [rank for ranks in blocks(WORLD, FAKE) for rank in ranks] == [*range(WORLD)]
    assert blocks(2 * BLOCK, FAKE) == blocks(WORLD, FAKE._replace(tensors="live")) == [()]


def test_the_whole_is_what_one_task_records(tmp_path):
    pytest.importorskip("torch")
    side = program(tmp_path), WORLD
    (apart,) = record_as_tasks([side], FAKE, True, local(2))
    whole = record_one(recording.Asked(side, FAKE, True, dict(os.environ)))
    assert isinstance(apart, Recorded) and same(apart, whole)
    assert apart.seen == whole.seen and apart.seen
    assert apart.processes == whole.processes == WORLD
    assert apart.confirmation.how == NOT_RUN and "it has 40 ranks" in apart.confirmation.why


def test_the_first_rank_that_cannot_be_recorded_is_told(tmp_path):
    pytest.importorskip("torch")
    side = program(tmp_path, ("    mine =", "    assert ctx.rank < 20, 'too many'\n    mine =")), WORLD
    (apart,) = record_as_tasks([side], FAKE, False, here)
    assert isinstance(apart, UsageError)
    assert str(apart) == str(record_one(recording.Asked(side, FAKE, False, dict(os.environ))))
    assert "rank 20, " in str(apart)


def here(tasks, run, told, seconds, at=None):
    """An executor in this process, which loses a task."""
    for place, task in enumerate(tasks):
        told(place, Unknown("its node is gone") if place == at else run(task))


@pytest.mark.parametrize("at", [0, 2])
def test_a_lost_block_is_a_lost_program(tmp_path, monkeypatch, at):
    monkeypatch.setattr(recording, "record_one", lambda asked: Recorded((), FAKE, (), len(asked.ranks)))
    sides = [(program(tmp_path), WORLD), (program(tmp_path)._replace(function="build_sum"), 2)]
    first, second = record_as_tasks(sides, FAKE, False, partial(here, at=at))
    assert isinstance(first, Lost) and str(first) == "its node is gone"
    assert isinstance(second, Recorded)
