"""The examples of docs/ci.md for a code host and before each commit, run as far as they can be without either."""

import json
import re
import shlex
from pathlib import Path

import pytest

from tests.batches.project import run, write_project

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "ci.md").read_text(encoding="utf-8")
WORKFLOW, HOOKS = re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def steps():
    """The commands of the workflow."""
    return re.findall(r"^ +- run: (.*)$", WORKFLOW, re.MULTILINE)


@pytest.mark.parametrize(("names", "status"), [(("one", "three"), 0), (("one", "two"), 1)])
def test_the_step_of_the_workflow_fails_where_a_pair_is_wrong(here, names, status):
    write_project(here, names)
    (step,) = (shlex.split(step) for step in steps() if step.startswith("verdict "))
    done = run(*step[1:])
    assert done.exit_code == status
    assert ("::error" in done.stdout) == bool(status)
    (uploaded,) = re.findall(r"sarif_file: (\S+)", WORKFLOW)
    runs = json.loads((here / uploaded).read_text())["runs"]
    levels = [{result.get("level") for result in each["results"]} for each in runs]
    assert ["error" in level for level in levels] == [name == "two" for name in names]


def test_the_other_steps_install(here):
    others = [step for step in steps() if not step.startswith("verdict ")]
    assert all(step.startswith("python -m pip install ") for step in others)
    assert "torch==2.13.0" in others[0]


def test_the_shards_of_a_matrix_are_merged(here):
    write_project(here, ("one", "two", "three", "four", "five"))
    (line,) = re.findall(r"`(verdict check --shard \$\{\{ matrix.part \}\}/4[^`]*)`", PAGE)
    for part in range(1, 5):
        run(*shlex.split(re.sub(r"\$\{\{ matrix.part \}\}", str(part), line))[1:])
    assert run("merge", *(f"{part}.json" for part in range(1, 5))).exit_code == 2


def test_the_hook_runs_the_whole_list(here):
    write_project(here, ("one", "two"))
    (entry,) = re.findall(r"entry: (.*)$", HOOKS, re.MULTILINE)
    assert "pass_filenames: false" in HOOKS
    assert run(*shlex.split(entry)[1:]).exit_code == 1
    (files,) = re.findall(r"files: '(.*)'", HOOKS)
    assert [bool(re.search(files, name)) for name in ("a/b.py", "x.plan", "pyproject.toml", "a.txt")] == [True] * 3 + [
        False
    ]


def test_both_are_yaml_of_the_form_that_is_asked_for():
    yaml = pytest.importorskip("yaml")
    workflow, hooks = yaml.safe_load(WORKFLOW), yaml.safe_load(HOOKS)
    assert set(workflow["jobs"]["check"]) == {"runs-on", "permissions", "steps"}
    assert all({"uses"} <= set(step) or set(step) == {"run"} for step in workflow["jobs"]["check"]["steps"])
    (hook,) = hooks["repos"][0]["hooks"]
    assert {"id", "name", "entry", "language"} <= set(hook)
