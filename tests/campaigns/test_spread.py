"""Questions of campaigns as tasks: lines and failures are those of one process, whoever asks; a lost task is told."""

import csv
import time
from pathlib import Path

import pytest

pytest.importorskip("torch")

from scripts.campaigns import spread
from scripts.campaigns.apart import Asker
from scripts.campaigns.lines import Answer, Campaign, Line
from scripts.campaigns.makers import SECONDS, maker
from scripts.campaigns.spread import Some, ask_all
from verdict.batches.executor import local
from verdict.outcome import Unknown

FIRST = Some("", 8, (), ("mlp tp4",), (), float("inf"))


def told(lines: list[Line]) -> list[Line]:
    """Lines but for times, in the order of their numbers."""
    return sorted(line._replace(seconds=0.0) for line in lines)


def here(count: int, out: Path) -> list[Line]:
    """The lines of the first questions that have an answer, asked by one process."""
    asker = Asker("plans", maker("plans", FIRST.seed, FIRST.families, FIRST.kinds), FIRST.seed, out, SECONDS["plans"])
    try:
        answers = (asker.ask(number) for number in range(10 * count))
        return [line for line in answers if line is not None][:count]
    finally:
        asker.close()


@pytest.mark.slow
def test_questions_that_are_spread_have_the_same_answers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spread, "MOST", 2)
    found = ask_all(local(2), FIRST, tmp_path / "spread", {"plans": 5})
    assert told(found) == told(here(5, tmp_path / "here"))
    with (tmp_path / "spread" / "lines.csv").open(newline="") as file:
        assert len(list(csv.DictReader(file))) == 5
    again = ask_all(local(2), FIRST, tmp_path / "spread", {"plans": 5})
    assert told(again) == told(found), "a campaign that is over asks nothing"


def crashing(number: int) -> Answer | None:
    if number % 2:
        return None
    return Answer("some", "kind", "crash" if number == 2 else "killed", "", "", files=lambda: {"pair.txt": "the pair"})


def test_what_failed_comes_back_and_questions_without_an_answer_are_made_up_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spread, "maker", lambda *_: lambda: Campaign("plans", crashing))
    found = ask_all(local(1), FIRST, tmp_path, {"plans": 3})
    assert [(line.number, line.outcome) for line in found] == [(0, "killed"), (2, "crash"), (4, "killed")]
    (folder,) = (tmp_path / "failures").iterdir()
    assert (folder / "pair.txt").read_text() == "the pair"


def test_a_lost_task_is_told_and_no_time_left_asks_nothing(tmp_path: Path) -> None:
    def loses(tasks, run, told, seconds):
        for place in range(len(tasks)):
            told(place, Unknown("its worker was lost, 2 times"))

    found = ask_all(loses, FIRST, tmp_path / "lost", {"plans": 2, "attributes": 1})
    assert [(line.campaign, line.number) for line in found] == [("plans", 0), ("plans", 1), ("attributes", 0)]
    assert {(line.outcome, line.description or line.reasons) for line in found} == {
        ("unchecked", "its worker was lost, 2 times")
    }
    assert ask_all(loses, FIRST._replace(until=time.time() - 1), tmp_path / "late", {"plans": 2}) == []
