"""`verdict batch` and `verdict merge`: shards, put together, are the whole; lost workers cost their own answer."""

import json
import os
import signal
from functools import partial

import pytest

from tests.batches.project import PLANS, refused, run, write_plans
from tests.batches.test_check import untimed
from verdict.batches.executor import ATTEMPTS, local
from verdict.batches.question import Pair, Question, Settings, shard
from verdict.batches.run import Task, answer, run_tasks
from verdict.outcome import Unknown
from verdict.report.many import WORST, Standing, worst


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_plans(tmp_path)
    for at, plan in enumerate(PLANS.values()):
        os.link(tmp_path / f"{plan}.plan", tmp_path / f"{at}.plan")
    lines = ["# all of them", "", *(f"single.plan {at}.plan  # {plan}" for at, plan in enumerate(PLANS.values()))]
    (tmp_path / "list").write_text("\n".join(lines))
    return tmp_path


def without_times(path):
    """The bytes of a JSON result, its times blotted out, nothing else touched."""
    told = json.loads(path.read_text())
    times = ('"seconds":', '"total":', '"peak_memory_mib":', *(f'"{phase}":' for phase in ("load", "check", "lineage")))
    times += tuple(f'"{phase}":' for phase in ("stage", "prove", "certify", "sweep", "repair", "report"))
    assert untimed(told)
    blotted = []
    for line in path.read_text().splitlines():
        timed = line.strip().startswith(times) and line.strip(" ,")[-1].isdigit()
        blotted.append(line.split(":")[0] if timed else line)
    return blotted


@pytest.mark.parametrize("parts", [2, 4])
def test_merged_shards_are_the_whole_but_for_times(here, parts):
    whole = run("batch", "list", "--output", "json:whole.json")
    assert whole.exit_code == 2
    for part in range(1, parts + 1):
        run("batch", "list", "--shard", f"{part}/{parts}", "--output", f"json:{part}.json")
    files = [f"{part}.json" for part in range(parts, 0, -1)]
    together = run("merge", *files, "--output", "all.json")
    assert together.exit_code == 2
    assert without_times(here / "all.json") == without_times(here / "whole.json")
    assert together.stdout.splitlines()[-1] == whole.stdout.splitlines()[-1]
    assert f"shard 1 of {parts} is missing" in refused("merge", *files[:-1])
    assert "as 2.json is" in refused("merge", *files, "2.json")


def test_results_that_do_not_fit_are_refused(here):
    run("batch", "list", "--shard", "1/2", "--output", "json:1.json")
    run("batch", "list", "--shard", "2/2", "--seed", "1", "--output", "json:2.json")
    run("batch", "list", "--shard", "1/2", "--output", "json:again.json")
    assert "another list, cut or version of Verdict" in refused("merge", "1.json", "2.json")
    assert "again.json: it is shard 1 of 2, as 1.json is" in refused("merge", "1.json", "again.json")
    assert "it is no JSON result" in refused("merge", "list")
    good = json.loads((here / "1.json").read_text())
    for change in ({"version": 2}, {"cases": good["cases"][:-1]}, {"cases": []}, {"shard": {"part": 3, "of": 2}}):
        (here / "odd.json").write_text(json.dumps({**good, **change}))
        assert "odd.json: it " in refused("merge", "odd.json")
    lying = json.loads((here / "1.json").read_text())
    lying["cases"][1]["report"]["verdict"] = lying["cases"][1]["verdict"] = "PROVED"
    lying["cases"][1]["report"] = None
    (here / "odd.json").write_text(json.dumps(lying))
    assert "it lacks what a result has" in refused("merge", "odd.json")


def test_an_empty_shard_is_no_failure_and_the_whole_knows_it(here):
    (here / "list").write_text("single.plan right.plan")
    assert run("batch", "list", "--shard", "1/2", "--output", "json:1.json").exit_code == 0
    assert run("batch", "list", "--shard", "2/2", "--output", "json:2.json").exit_code == 0
    assert run("merge", "1.json", "2.json").stdout.splitlines()[-1] == "1 checked: 1 PROVED"


def test_an_assumption_that_no_shard_knows_is_told_when_they_are_merged(here):
    (here / "list").write_text("single.plan right.plan\nsingle.plan 0.plan")
    for part in (1, 2):
        options = ("--shard", f"{part}/2", "--output", f"json:{part}.json", "--deny-assumption", "mispelled")
        assert run("batch", "list", *options).exit_code == 0
    assert "mispelled is denied, and no plan of the list names it" in run("merge", "1.json", "2.json").stderr


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("a", "list:1: it has 1 words"),
        ("\na b c", "list:2: it has 3 words"),
        ('"a b', "list:1: it cannot be read"),
        ("# nothing", "it lists no pairs and no programs"),
        ("a b\na b", "b against a is listed 2 times"),
    ],
)
def test_a_list_that_cannot_be_read(here, text, sentence):
    (here / "list").write_text(text)
    assert sentence in refused("batch", "list")


def test_a_list_from_standard_input(here):
    assert run("batch", "-", "-q", given="single.plan right.plan\n").exit_code == 0
    assert "the list cannot be read" in refused("batch", "nowhere")
    assert run("batch", "list", "--shard", "3/2").exit_code == 2


def test_the_worst_is_the_status():
    assert [worst(standing.name for standing in list(WORST)[:k]) for k in range(1, 6)] == [0, 3, 1, 2, 4]
    assert worst([]) == Standing.UNKNOWN.value


def test_shards_are_the_whole_list():
    questions = [Question(k, str(k), Pair("a", str(k)), Settings()) for k in range(11)]
    parts = [shard(questions, part, 4) for part in range(1, 5)]
    assert sorted(question for part in parts for question in part) == questions


def _deadly(task, folder, times):
    """Question 1 kills its worker so many times."""
    mark = folder / f"begun-{task.question.number}"
    mark.write_text(mark.read_text() + "x" if mark.is_file() else "x")
    if task.question.number == 1 and len(mark.read_text()) <= times:
        os.kill(os.getpid(), signal.SIGKILL)
    return answer(task, _never, None)


def _raise(error, paths):
    raise error


def test_plans_that_memory_does_not_hold_are_refused_and_any_other_failure_is_ours():
    task = Task(Question(0, "x", Pair("a", "b"), Settings()))
    assert answer(task, partial(_raise, ValueError("odd")), None).case.standing is Standing.FAILED
    assert answer(task, partial(_raise, MemoryError()), None).case.standing is Standing.REFUSED


def _never(paths):
    raise AssertionError(paths)


@pytest.mark.parametrize("times", [1, 2])
def test_a_lost_worker_is_tried_once_more_and_then_unknown(tmp_path, times):
    tasks = [Task(Question(k, str(k), Pair("a", "b"), Settings())) for k in range(4)]
    outcomes = {}

    def told(place, outcome):
        assert place not in outcomes, "told twice"
        outcomes[place] = outcome

    local(2)(tasks, partial(_deadly, folder=tmp_path, times=times), told, 60.0)
    assert sorted(outcomes) == [0, 1, 2, 3]
    lost = [place for place, outcome in outcomes.items() if isinstance(outcome, Unknown)]
    assert lost == ([1] if times == ATTEMPTS else [])
    assert len((tmp_path / "begun-1").read_text()) == 2
    assert all(len((tmp_path / f"begun-{k}").read_text()) == 1 for k in (0, 2, 3))
    assert outcomes[0].case.standing is Standing.FAILED


def test_what_a_worker_loses_stands_in_the_result_with_its_reason(tmp_path):
    def loses(tasks, run, told, seconds):
        for place in reversed(range(len(tasks))):
            told(place, Unknown("its machine is gone"))

    tasks = [Task(Question(k, str(k), Pair("a", "b"), Settings())) for k in range(2)]
    cases = [found.case for found in run_tasks(tasks, loses, _never, None, lambda _: None)]
    assert [(case.number, case.standing, case.why) for case in cases] == [
        (k, Standing.UNKNOWN, "its machine is gone") for k in range(2)
    ]
