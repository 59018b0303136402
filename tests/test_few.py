"""What README's command runs: something of each file, right and wrong together, and what it leaves out is told of."""

import os
import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests import few

ROOT = Path(__file__).resolve().parents[1]
WRONG = re.compile(r"REFUTED|UNKNOWN|refuted|not_proved|no_proof|_(wrong|faults?|mutants?)(_|$)|(is|are)_not$")
RIGHT = re.compile(r"PROVED|proved|_(right|agrees?|same)(_|$)")


def kinds(tests):
    """Which of right and wrong programs the names of tests speak of."""
    return {"wrong" if WRONG.search(each) else "right" for each in tests if WRONG.search(each) or RIGHT.search(each)}


def together(tests, key):
    """What is called alike -> the tests of it that are run and all of them."""
    found = {}
    for each, runs in zip(tests, few.kept(tests), strict=True):
        some, every = found.setdefault(key(each), ([], []))
        every.append(each)
        if runs:
            some.append(each)
    return found


def test_something_remains_of_each_file_and_of_each_test_that_is_not_left_out_by_name(request):
    tests = request.config.stash[few.COLLECTED]
    assert not [file for file, (some, _) in together(tests, lambda each: each.partition("::")[0]).items() if not some]
    gone = {test for test, (some, _) in together(tests, few.test_of).items() if not some}
    assert gone == {test for test in map(few.test_of, tests) if few.said_of(test) == few.NONE}


@pytest.mark.parametrize("key", [few.test_of, lambda each: each.partition("::")[0]], ids=["test", "file"])
def test_right_and_wrong_remain_together(key, request):
    found = together(request.config.stash[few.COLLECTED], key)
    apart = {name for name, (some, every) in found.items() if kinds(some) not in (set(), kinds(every))}
    assert not apart


def test_each_family_is_there(request):
    """A name that is none any more leaves out nothing. Looked at in files of which all tests were found."""
    tests = request.config.stash[few.COLLECTED]
    if [(request.config.invocation_params.dir / each).resolve() for each in request.config.args] != [ROOT / "tests"]:
        pytest.skip("not all tests were asked for")
    found = {each.partition("::")[0] for each in tests}
    for where, said in few.FEW.items():
        file = where.partition("::")[0]
        assert (ROOT / "tests" / file).exists(), where
        if file not in found:  # a folder, or what it needs is not installed
            continue
        there = [each for each in tests if each.startswith(where)]
        assert there, where
        assert isinstance(said, int) or {few.case_of(each) for each in there} >= set(said), where


@pytest.mark.parametrize(("size", "every", "whole"), [("", False, False), ("tests", True, False), ("1", True, True)])
def test_one_variable_says_how_much_is_run(size, every, whole):
    code = "from tests.sampled import EVERY_TEST, WHOLE; print(EVERY_TEST, WHOLE)"
    run = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, env={**os.environ, "VERDICT_WHOLE": size}, capture_output=True,
        text=True, check=True,
    )  # fmt: skip
    assert run.stdout == f"{every} {whole}\n"


@pytest.mark.parametrize(
    ("every", "asked", "keyword", "left_out"),
    [
        (False, "tests", "", True),
        (True, "tests", "", False),
        (False, "tests/values", "", False),
        (False, "tests", "casts", False),
    ],
    ids=["few", "every test", "a folder", "by a word"],
)
def test_nothing_is_left_out_where_all_are_asked_for_or_some_by_name(
    every, asked, keyword, left_out, request, monkeypatch
):
    ids = [*request.config.stash[few.COLLECTED], "torch/a.py::test_a[0]", "torch/a.py::test_a[1]"]
    items, told = [SimpleNamespace(nodeid=f"tests/{each}") for each in ids], []

    def tell(items):
        told.extend(items)

    config = SimpleNamespace(
        args=[asked], invocation_params=SimpleNamespace(dir=ROOT), option=SimpleNamespace(keyword=keyword), stash={},
        hook=SimpleNamespace(pytest_deselected=tell), workeroutput={},
    )  # fmt: skip
    monkeypatch.setattr(few, "EVERY_TEST", every)
    whole = list(items)
    few.leave_out(config, items, ROOT / "tests")
    assert bool(told) is left_out
    assert sorted(each.nodeid for each in [*items, *told]) == sorted(each.nodeid for each in whole), "each once"
    assert config.workeroutput.get("left_out", 0) == config.stash.get(few.LEFT_OUT, 0) == len(told)
