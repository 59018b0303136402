"""Tasks on a real Ray cluster of two nodes, one of which is killed in the middle: nothing lost, nothing twice."""

import json
import os
import signal
import time
from functools import partial
from pathlib import Path

import pytest

from tests.batches.project import run, write_plans, write_project
from tests.batches.test_check import untimed
from verdict.backends import read_here
from verdict.batches.cluster import on_ray
from verdict.batches.question import Pair, Question, Settings
from verdict.batches.run import Found, Task, answer, local, run_tasks
from verdict.outcome import Unknown
from verdict.report.many import Standing

pytest.importorskip("ray", reason="Ray is not installed: python -m pip install 'verdict-parallel[ray]'")

import ray
from ray.cluster_utils import Cluster

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def cluster(monkeypatch):
    """Two nodes of one core each; the second one can be killed."""
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    made = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
    second = made.add_node(num_cpus=1)
    made.wait_for_nodes()
    ray.init(address=made.address, log_to_driver=False)
    yield partial(made.remove_node, second, allow_graceful=False)
    ray.shutdown()
    made.shutdown()


def tasks_of(folder, count):
    write_plans(folder)
    plans = ["right.plan", "wrong.plan", "damaged.plan"]
    pairs = [Pair(str(folder / "single.plan"), str(folder / plans[k % 3])) for k in range(count)]
    return [Task(Question(k, str(k), pair, Settings())) for k, pair in enumerate(pairs)]


def read_all(paths):
    return [read_here(path) for path in paths]


def slow(task, folder):
    """A task that leaves a mark for each time it is begun, and where."""
    (folder / f"{task.question.number}-{time.monotonic_ns()}").write_text(ray.get_runtime_context().get_node_id())
    time.sleep(1.5)
    return answer(task, read_all, None)


def data_of(found):
    return [untimed(each.case.data) for each in found]


def test_the_same_cases_as_local(cluster, tmp_path):
    tasks = tasks_of(tmp_path, 3)
    told = []
    found = run_tasks(tasks, on_ray(None), read_all, None, told.append)
    assert data_of(found) == data_of(run_tasks(tasks, local(2), read_all, None, lambda _: None))
    assert [each.case.standing for each in found] == [Standing.PROVED, Standing.REFUTED, Standing.REFUSED]
    assert sorted(case.number for case in told) == [0, 1, 2]


def test_a_node_is_killed_in_the_middle(cluster, tmp_path):
    tasks, marks = tasks_of(tmp_path, 8), tmp_path / "marks"
    marks.mkdir()
    outcomes = {}

    def told(place, outcome):
        assert place not in outcomes, "told twice"
        outcomes[place] = outcome
        if len(outcomes) == 2:
            deadline = time.monotonic() + 20
            while len({mark.read_text() for mark in marks.iterdir()}) < 2 and time.monotonic() < deadline:
                time.sleep(0.1)
            time.sleep(0.5)
            cluster()

    on_ray(None)(tasks, partial(slow, folder=marks), told)
    assert sorted(outcomes) == list(range(8)), "none is lost"
    assert all(isinstance(outcome, Found) for outcome in outcomes.values())
    found = [outcomes[place] for place in range(8)]
    assert data_of(found) == data_of(run_tasks(tasks, local(2), read_all, None, lambda _: None))
    assert len(list(marks.iterdir())) > 8, "a task was begun anew: the node did die in the middle of one"


def test_the_command_tells_the_same_report(cluster, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_project(tmp_path, ("one", "two", "four"))
    for engine in ("ray", "local"):
        done = run("check", "--engine", engine, "--no-cache", "--output", f"json:{engine}.json")
        assert done.exit_code == 2, done.exception
    here, there = (json.loads((tmp_path / f"{engine}.json").read_text()) for engine in ("local", "ray"))
    assert untimed(here) == untimed(there)


def deadly(task):
    if task.question.number == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    return answer(task, read_all, None)


def test_a_task_that_its_worker_never_survives_is_unknown(cluster, tmp_path):
    outcomes = {}
    on_ray(None)(tasks_of(tmp_path, 3), deadly, outcomes.__setitem__)
    assert isinstance(outcomes[1], Unknown)
    assert "its worker was lost, 2 times" in outcomes[1].reason
    assert [outcomes[k].case.standing for k in (0, 2)] == [Standing.PROVED, Standing.REFUSED]
