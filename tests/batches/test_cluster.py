"""Tasks on a real Ray cluster of two nodes, one of which is killed in the middle: nothing lost, nothing twice."""

import json
import os
import shutil
import signal
import time
from collections.abc import Callable
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.batches.project import run, write_plans, write_project
from tests.batches.test_blocks import FAKE, WORLD
from tests.batches.test_blocks import program as many
from tests.batches.test_check import untimed
from verdict.backends import read_here
from verdict.backends.torch.kept import Manner, same
from verdict.backends.torch.launch import Recorded, Target
from verdict.batches import recording
from verdict.batches.cluster import on_ray
from verdict.batches.executor import local
from verdict.batches.question import Pair, Question, Settings
from verdict.batches.recording import Asked, record_one
from verdict.batches.run import Found, Task, answer, run_tasks
from verdict.batches.version import require_same, versions_here
from verdict.errors import UsageError
from verdict.outcome import Unknown
from verdict.report.many import Standing

pytest.importorskip("ray", reason="Ray is not installed: python -m pip install 'verdict-parallel[ray]'")

import ray
from ray.cluster_utils import Cluster

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = ROOT / "examples" / "torch" / "linear_ddp.py"
BUILDERS = ("build", "build_sum", "build_nothing")


class Killed(NamedTuple):
    """The node that can be killed: its name, and what kills it."""

    name: str
    kill: Callable[[], None]


@contextmanager
def two_nodes():
    """Two nodes of one core each; the second one can be killed."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("PYTHONPATH", str(ROOT))
        patched.setenv("PYTHONBREAKPOINT", "0")  # which Ray sets: recordings would begin anew with it
        made = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
        second = made.add_node(num_cpus=1)
        made.wait_for_nodes()
        ray.init(address=made.address, log_to_driver=False)
        yield Killed(second.node_id, partial(made.remove_node, second, allow_graceful=False))
        ray.shutdown()
        made.shutdown()


@pytest.fixture
def mortal():
    """A cluster for one test, which kills a node of it."""
    with two_nodes() as nodes:
        yield nodes


@pytest.fixture(scope="module")
def cluster():
    """A cluster for all tests behind those that kill a node: a process is on one cluster at a time."""
    with two_nodes() as nodes:
        yield nodes


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


def has_begun(marks, node):
    """Whether a task has just begun on a node, and has most of its time before it."""
    return any(mark.read_text() == node and time.time() - mark.stat().st_mtime < 1.0 for mark in marks.iterdir())


def outcomes_where_a_node_is_killed(tasks, run, marks, node):
    """The outcomes of tasks, each told once; after two of them the node dies in the middle of a task, which is begun
    anew.
    """
    marks.mkdir()
    outcomes = {}

    def told(place, outcome):
        assert place not in outcomes, "told twice"
        outcomes[place] = outcome
        if len(outcomes) == 2:
            deadline = time.monotonic() + 20
            while not has_begun(marks, node.name) and time.monotonic() < deadline:
                time.sleep(0.05)
            node.kill()

    on_ray(None)(tasks, partial(run, folder=marks), told, 60.0)
    assert sorted(outcomes) == list(range(len(tasks))), "none is lost"
    assert len(list(marks.iterdir())) > len(tasks), "a task was begun anew: the node did die in the middle of one"
    return [outcomes[place] for place in range(len(tasks))]


def test_a_node_is_killed_in_the_middle(mortal, tmp_path):
    tasks = tasks_of(tmp_path, 8)
    found = outcomes_where_a_node_is_killed(tasks, slow, tmp_path / "marks", mortal)
    assert all(isinstance(outcome, Found) for outcome in found)
    assert data_of(found) == data_of(run_tasks(tasks, local(2), read_all, None, lambda _: None))


def slowly_recorded(asked, folder):
    """The same of a program that is to be recorded."""
    (folder / f"{asked.side[0].function}-{time.monotonic_ns()}").write_text(ray.get_runtime_context().get_node_id())
    time.sleep(1.5)
    return record_one(asked)


def test_a_node_is_killed_while_programs_are_recorded(mortal, tmp_path):
    pytest.importorskip("torch")
    manner, variables = Manner("fake", True, ""), dict(os.environ)
    sides = [(Target(str(PROGRAM), name), 2) for name in ("build", "build_sum")] * 3
    tasks = [Asked(side, manner, False, variables) for side in sides]
    found = outcomes_where_a_node_is_killed(tasks, slowly_recorded, tmp_path / "marks", mortal)
    assert all(isinstance(each, Recorded) for each in found), found
    assert all(same(each, record_one(task)) for each, task in zip(found[:2], tasks[:2], strict=True))
    assert not same(*found[:2])


def test_the_same_cases_as_local(cluster, tmp_path):
    tasks = tasks_of(tmp_path, 3)
    told = []
    found = run_tasks(tasks, on_ray(None), read_all, None, told.append)
    assert data_of(found) == data_of(run_tasks(tasks, local(2), read_all, None, lambda _: None))
    assert [each.case.standing for each in found] == [Standing.PROVED, Standing.REFUTED, Standing.REFUSED]
    assert sorted(case.number for case in told) == [0, 1, 2]


def test_ranks_of_a_large_program_are_recorded_on_both_nodes(cluster, tmp_path):
    pytest.importorskip("torch")
    sides = [(many(tmp_path), WORLD)]
    here, there = (recording.record_as_tasks(sides, FAKE, True, executor)[0] for executor in (local(1), on_ray(None)))
    assert isinstance(there, Recorded) and same(here, there) and here.seen == there.seen


def test_questions_of_a_campaign_are_asked_on_the_cluster(cluster, tmp_path):
    pytest.importorskip("torch")
    from scripts.campaigns.spread import Some, ask_all  # noqa: PLC0415  (campaigns need torch)

    first = Some("", 8, (), ("mlp tp4",), (), float("inf"))
    here, there = (
        sorted(line._replace(seconds=0.0) for line in ask_all(executor, first, tmp_path / name, {"plans": 4}))
        for name, executor in (("here", local(1)), ("there", on_ray(None)))
    )
    assert here == there and len(here) == 4


def refused_here(*_, **__):
    raise AssertionError("a program is recorded where the command runs")


def test_programs_of_a_project_are_recorded_on_the_cluster(cluster, tmp_path, monkeypatch):
    pytest.importorskip("torch")
    monkeypatch.chdir(tmp_path)
    shutil.copy(PROGRAM, tmp_path)
    entries = [f'[[tool.verdict.programs]]\nprogram = "linear_ddp.py:{name}"\nworld = 2\n' for name in BUILDERS]
    (tmp_path / "pyproject.toml").write_text("\n".join(entries))
    here = run("check", "--no-cache", "--output", "json:local.json")
    monkeypatch.setattr(recording, "recorded_each", refused_here)
    there = run("check", "--engine", "ray", "--no-cache", "--output", "json:ray.json")
    assert (here.exit_code, there.exit_code) == (2, 2), there.exception
    one, other = (json.loads((tmp_path / f"{engine}.json").read_text()) for engine in ("local", "ray"))
    assert [case["verdict"] for case in one["cases"]] == ["PROVED", "REFUTED", "REFUSED"]
    assert untimed(one) == untimed(other)


def test_a_node_with_other_versions_is_refused(cluster, tmp_path, monkeypatch):
    with pytest.raises(UsageError, match=r"it has numpy .*, the command runs with numpy 0\.1"):
        require_same({**versions_here(), "numpy": "0.1"})
    monkeypatch.chdir(tmp_path)
    write_project(tmp_path, ("one",))
    monkeypatch.setattr("verdict.batches.cluster.versions_here", lambda: {**versions_here(), "z3-solver": ""})
    refused = run("check", "--engine", "ray", "--no-cache")
    assert isinstance(refused.exception, UsageError)
    assert "the command runs with no z3-solver" in str(refused.exception)
    assert "\n" not in str(refused.exception)


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
    on_ray(None)(tasks_of(tmp_path, 3), deadly, outcomes.__setitem__, 60.0)
    assert isinstance(outcomes[1], Unknown)
    assert "its worker was lost, 2 times" in outcomes[1].reason
    assert [outcomes[k].case.standing for k in (0, 2)] == [Standing.PROVED, Standing.REFUSED]
