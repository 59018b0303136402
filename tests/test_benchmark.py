"""The benchmark's table: of several runs the fastest counts, and what gave no answer is said beside what did."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from scripts import processes
from scripts.benchmark import ROOT, ratio, work_table
from scripts.benchmark_rows import ROWS, Part, Place, Row, Took, where_there
from scripts.run_torch_examples import EXAMPLES
from verdict.cli import cli

HERE, OLDER = Place(ROOT, ROOT, 300), Place(Path("older"), ROOT, 300)
ENDED = Took("ended at 300 s", None, 9, 300)


def row(runs, *parts):
    """A row whose n-th run at a place takes what `runs` says of it."""
    left = {place: iter(taken) for place, taken in runs.items()}
    return Row("work", parts, {"it": lambda place: iter(next(left[place]))})


def cells(*wanted, repeat=1):
    _, _, *lines = work_table(wanted, [HERE, OLDER], repeat)
    return [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines]


def test_the_fastest_run_counts_on_each_side():
    runs = {HERE: [[Took("PROVED", 4, 7)], [Took("PROVED", 2, 8)]], OLDER: [[Took("PROVED", 6, 5)], [ENDED]]}
    assert cells(row(runs, Part("", 8)), repeat=2) == [
        ["work", "8 s", "2.0", "8", "PROVED", "6.0", "5", "PROVED", "3.00"]
    ]


def test_what_was_ended_is_not_begun_again_and_bounds_the_ratio():
    runs = {HERE: [[Took("PROVED", 4, 7)]] * 2, OLDER: [[ENDED]]}
    (line,) = cells(row(runs, Part()), repeat=2)
    assert line[5:] == ["", "9", "ended at 300 s", "> 75.00"]


def test_a_part_that_is_not_reached_has_a_line():
    first, second = cells(row({HERE: [[ENDED]], OLDER: [[ENDED]]}, Part("recording"), Part("proof")))
    assert first[0] == "work: recording" and second[4] == "not reached"


def test_of_several_works_the_slowest_is_shown_and_those_beyond_the_target_are_counted():
    works = {name: lambda place, took=took: iter([took]) for name, took in {"a": Took("PROVED", 3), "b": ENDED}.items()}
    (line,) = cells(Row("work", (Part("", 5),), works))
    assert line[4] == "1 PROVED, 1 ended at 300 s; slowest b; 1 of 2 beyond the target"


@pytest.mark.parametrize(
    ("here", "before", "said"), [(ENDED, Took("", 30), "< 0.10"), (ENDED, ENDED, ""), (Took("x"), Took("", 1), "")]
)
def test_ratios(here, before, said):
    assert ratio(here, before) == said


def test_work_on_a_library_that_is_absent_says_so():
    (took,) = where_there("no_such_library", ROWS[0].works["build"])(HERE)
    assert took == Took("not measured: no_such_library is not installed")


def test_a_process_that_takes_longer_is_ended():
    done = processes.run(module="this", timeout=0)
    assert done.status is None and done.verdict == "time out"


def test_every_example_is_recorded_as_the_command_knows_it():
    runner = CliRunner()
    for options in {example.options for example in EXAMPLES}:
        asked = runner.invoke(cli, ["torch", "nowhere.py", "--world", "2", *options])
        assert "there is no such file" in str(asked.exception), options
