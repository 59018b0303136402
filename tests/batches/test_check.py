"""`verdict check`: a whole project, each pair as it is decided alone; what is wrong in its file is one sentence."""

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.batches.project import PLANS, STANDINGS, refused, run, write_project

ROOT = Path(__file__).resolve().parents[2]
TIMES = ("timings", "peak_memory_mib", "seconds")


def untimed(told):
    """The data without times."""
    if isinstance(told, dict):
        return {key: untimed(value) for key, value in told.items() if key not in TIMES}
    return [untimed(item) for item in told] if isinstance(told, list) else told


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_every_pair_of_a_project_is_told_and_the_worst_is_the_status(here):
    write_project(here, top='outputs = ["json:all.json", "junit:all.xml", "sarif:all.sarif", "github:all.txt"]')
    done = run("check", "-v")
    assert done.exit_code == 2
    assert done.stdout.splitlines()[-1] == "6 checked: 3 PROVED, 2 REFUTED, 1 REFUSED"
    assert [line.split(":")[0] for line in done.stderr.splitlines()] == [f"{k} of 6" for k in range(1, 7)]
    cases = json.loads((here / "all.json").read_text())["cases"]
    assert {case["name"]: case["verdict"] for case in cases} == {n: STANDINGS[PLANS[n]] for n in PLANS}
    suite = ElementTree.parse(here / "all.xml").getroot()
    assert {key: suite.get(key) for key in ("tests", "failures", "errors")} == {
        "tests": "6", "failures": "2", "errors": "1"
    }  # fmt: skip
    passed = [case.get("name") for case in suite.iter("testcase") if not {child.tag for child in case} - {"system-out"}]
    assert passed == ["one", "three", "five"]
    runs = json.loads((here / "all.sarif").read_text())["runs"]
    assert [one["invocations"][0]["exitCode"] for one in runs] == [0, 1, 0, 2, 0, 1]
    assert len({one["automationDetails"]["id"] for one in runs}) == 6
    levels = [line.partition(" ")[0] for line in (here / "all.txt").read_text().splitlines()]
    assert levels.count("::error") >= 3


def test_what_is_told_of_a_pair_is_what_is_told_of_it_alone(here):
    write_project(here, ("one", "two"))
    assert run("check", "--output", "all.json", "--format", "json").exit_code == 1
    run("--sm", "single.plan", "--pm", "wrong.plan", "--workers", "1", "--output", "json:alone.json")
    case = json.loads((here / "all.json").read_text())["cases"][1]
    assert untimed(case["report"]) == untimed(json.loads((here / "alone.json").read_text()))


def test_a_project_of_right_pairs_is_proved(here):
    write_project(here, ("one", "three"))
    done = run("check", "-q")
    assert (done.exit_code, done.stdout) == (0, "2 checked: 2 PROVED\n")


def test_the_file_is_found_in_a_folder_above_and_paths_are_from_there(here, monkeypatch):
    write_project(here, ("one",))
    (here / "below").mkdir()
    monkeypatch.chdir(here / "below")
    assert run("check", "-q").exit_code == 0
    assert run("check", "-q", "--config", "../pyproject.toml").exit_code == 0


def test_a_denied_assumption_is_denied_where_it_is_written(here):
    write_project(here, ("one",), top='deny-assumptions = ["initial-state"]')
    assert run("check", "-q").exit_code == 1
    write_project(here, ("one",), more='deny-assumptions = ["initial-state"]')
    assert run("check", "-q").exit_code == 1
    write_project(here, ("one", "three"), top='deny-assumptions = ["mispelled"]')
    done = run("check", "-q")
    assert done.exit_code == 0
    assert done.stderr == "note: mispelled is denied, and no plan of the list names it\n"


@pytest.mark.parametrize(
    ("top", "more", "sentence"),
    [
        ("denied = []", "", "there is no key denied"),
        ("deny-assumption = []", "", "did you mean deny-assumptions?"),
        ("timeout = -1", "", "tool.verdict.timeout: -1 is not a number above 0"),
        ("timeout = true", "", "True is not a number above 0"),
        ('outputs = "junit:x"', "", "'junit:x' is not a list of texts"),
        ('outputs = ["html:x.html"]', "", "formats: text, json, sarif, junit, github"),
        ('outputs = ["json:single.plan"]', "", "it is a plan that is read"),
        ('assume = ["initial-state"]', "", "there is no assumption initial-state"),
        ("", "wrold = 4", "pairs, number 1: there is no key wrold"),
        ("", 'exhaustive = "yes"', "'yes' is not true or false"),
        ("pairs = 3", None, "it is no list of tables"),
        ("", None, "it lists no pairs and no programs"),
        ("[[tool.verdict.pairs]]\nsingle = 'a'", None, "pairs, number 1: parallel is missing"),
        ("[[tool.verdict.programs]]\nprogram = 'a.py'\nworld = 0", None, "0 is not an integer above 0"),
        ("[[tool.verdict.programs]]\nprogram = 'a.py'\nworld = 2\ntensors = 'no'", None, "known: auto, fake, real"),
        ("[[", None, "it is no TOML"),
    ],
)
def test_what_is_wrong_in_the_file_is_told_exactly(here, top, more, sentence):
    write_project(here, () if more is None else ("one",), top, more or "")
    assert sentence in refused("check")


def test_two_pairs_of_one_name_are_refused(here):
    write_project(here, ("one", "one"))
    assert "one is listed 2 times" in refused("check")


def test_no_project_is_told(here):
    (here / "pyproject.toml").write_text("[tool.other]\n")
    assert "there is none with a [tool.verdict]" in refused("check")
    assert "it has no [tool.verdict]" in refused("check", "--config", "pyproject.toml")
    assert "it cannot be read" in refused("check", "--config", "other.toml")


def test_the_page_shows_a_project_that_is_proved(here, monkeypatch):
    """The first example of docs/ci.md, run from the root of the repository but for its outputs."""
    pytest.importorskip("torch")
    page = (ROOT / "docs" / "ci.md").read_text()
    example = page.split("```toml\n")[1].split("```")[0].replace('"data/', f'"{ROOT}/data/')
    example = example.replace('"examples/', f'"{ROOT}/examples/')
    (here / "pyproject.toml").write_text(example)
    assert run("check", "-q").exit_code == 0
    assert (here / "verdict.xml").is_file()
    assert (here / "verdict.sarif").is_file()
