"""Ranks that are recorded apart are the same plan when they are put together; parts that do not fit are refused."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from verdict.cli import cli

pytest.importorskip("torch")

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = str(ROOT / "examples" / "torch" / "linear_ddp.py")


def capture(*words):
    return CliRunner().invoke(cli, ["capture", *map(str, words)])


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    """Ranks 0, and 1 to 3, of four; the plan of all four; the single-device plan."""
    folder = tmp_path_factory.mktemp("recorded")
    for ranks in ("0:1", "1:4"):
        done = capture(PROGRAM, "--world", 4, "--ranks", ranks, "-o", folder)
        assert done.exit_code == 0, done.exception
    done = capture(PROGRAM, "--single", PROGRAM, "--world", 4, "--no-confirm", "-o", folder / "whole")
    assert done.exit_code == 0, done.exception
    return folder


def test_parts_together_are_the_whole(recorded, tmp_path):
    done = capture("--part", recorded / "ranks-1-4.json", "--part", recorded / "ranks-0-1.json", "-o", tmp_path)
    assert done.exit_code == 0, done.exception
    told, whole = ((folder / "parallel.plan").read_text() for folder in (tmp_path, recorded / "whole"))
    assert "its ranks were recorded apart" in told

    def same(text):
        """The plan, without the path of its program and why it was not run."""
        return [line for line in text.splitlines() if "linear_ddp" not in line and "not held against" not in line]

    assert same(told) == same(whole)
    verified = CliRunner().invoke(cli, [str(recorded / "whole" / "single.plan"), str(tmp_path / "parallel.plan"), "-q"])
    assert verified.exit_code == 0, verified.stdout


def test_parts_that_do_not_fit_are_refused(recorded, tmp_path):
    one, three = recorded / "ranks-0-1.json", recorded / "ranks-1-4.json"

    def refused(*parts):
        return str(capture(*(word for part in parts for word in ("--part", part)), "-o", tmp_path).exception)

    assert "of 4 ranks 1, 2, 3 are missing" in refused(one)
    told = json.loads(one.read_text())
    for change, sentence in (
        ({"content": "other"}, "its content is other"),
        ({"world": 8}, "it holds no recording of ranks"),
        ({"version": 2}, "another version of Verdict"),
        ({"traces": [{}]}, "it holds no recording of ranks"),
        ({"traces": told["traces"] * 2}, "it holds rank 0, as"),
    ):
        (tmp_path / "odd.json").write_text(json.dumps({**told, **change}))
        assert sentence in refused(three, tmp_path / "odd.json")
    (tmp_path / "odd.json").write_text("[]")
    assert "it holds no recording of ranks" in refused(tmp_path / "odd.json")
    assert "it cannot be read" in refused(tmp_path / "nowhere.json")


@pytest.mark.parametrize("words", [["--ranks", "4:2"], ["--ranks", "x"]])
def test_ranks_are_a_range(words):
    assert "is not A:B" in capture(PROGRAM, "--world", 4, *words, "-o", "x").stderr


def test_ranks_beyond_the_world_are_refused():
    done = capture(PROGRAM, "--world", 2, "--ranks", "1:3", "-o", "x")
    assert "below --world" in str(done.exception)


def test_quiet_prints_the_verdict_alone():
    said = CliRunner().invoke(cli, ["torch", PROGRAM, "--world", "2", "--no-confirm", "-q"])
    assert said.exit_code == 0, said.output
    assert said.stderr == "" and len(said.stdout.splitlines()) == 1
    told = CliRunner().invoke(cli, ["torch", PROGRAM, "--world", "2", "--no-confirm"])
    assert "recorded in" in told.stderr
