"""Reports as others read them: SARIF by its published schema, JUnit by junitparser, lists and reports as JSON."""

import json
import os
from pathlib import Path

import jsonschema
import pytest

from tests.batches.project import PLANS, STANDINGS, run, write_project
from tests.pairs import names
from tests.report.reports import MEASURED, hostile, right, unknown, wrong
from verdict.report.outputs import rendered

pytestmark = pytest.mark.usefixtures("shared_proofs")
ROOT = Path(__file__).resolve().parents[2]
SARIF = "SARIF_SCHEMA"
"""The variable that names sarif-schema-2.1.0.json of OASIS, which is not distributed with Verdict."""
ALL = {"right": right, "wrong": wrong, "hostile": hostile, "unknown": unknown}


@pytest.fixture
def listed(tmp_path, monkeypatch):
    """The reports of a list in which are pairs of every kind."""
    monkeypatch.chdir(tmp_path)
    write_project(tmp_path)
    run("check", "-q", "--no-cache", *(f"--output={form}:all.{form}" for form in ("json", "junit", "sarif")))
    return tmp_path


@pytest.fixture(scope="module")
def sarif():
    if SARIF not in os.environ:
        pytest.skip(f"{SARIF} does not say where sarif-schema-2.1.0.json is")
    schema = json.loads(Path(os.environ[SARIF]).read_text(encoding="utf-8"))
    return jsonschema.validators.validator_for(schema)(schema)


@pytest.mark.parametrize("make", ALL.values(), ids=ALL)
def test_sarif_fits_the_published_schema(make, sarif):
    sarif.validate(json.loads(rendered("sarif", make(), MEASURED)))


@pytest.mark.parametrize("name", names())
def test_sarif_of_every_pair_fits_it(name, sarif):
    sarif.validate(json.loads(rendered("sarif", wrong(name), MEASURED)))


def test_sarif_of_a_list_fits_it_and_the_schema_refuses_something(listed, sarif):
    told = json.loads((listed / "all.sarif").read_text())
    sarif.validate(told)
    told["runs"][0]["results"] = 3
    assert not sarif.is_valid(told)


@pytest.mark.parametrize("make", ALL.values(), ids=ALL)
def test_junitparser_reads_a_report(make, tmp_path):
    junit = pytest.importorskip("junitparser")
    (tmp_path / "report.xml").write_text(rendered("junit", make(), MEASURED), encoding="utf-8")
    suites = junit.JUnitXml.fromfile(str(tmp_path / "report.xml"))
    cases = [case for suite in suites for case in suite]
    assert cases
    assert all(case.is_passed for case in cases) == (make is right)


def test_junitparser_reads_a_list(listed):
    junit = pytest.importorskip("junitparser")
    suites = junit.JUnitXml.fromfile(str(listed / "all.junit"))
    cases = {case.name: case for suite in suites for case in suite}
    assert {name: case.is_passed for name, case in cases.items()} == {
        name: STANDINGS[plan] == "PROVED" for name, plan in PLANS.items()
    }
    assert (suites.tests, suites.failures, suites.errors) == (6, 2, 1)


def test_the_json_of_a_list_fits_its_schema(listed):
    one = json.loads((ROOT / "docs" / "report.schema.json").read_text(encoding="utf-8"))
    many = json.loads((ROOT / "docs" / "list.schema.json").read_text(encoding="utf-8"))
    validator = jsonschema.Draft202012Validator(many)
    validator.check_schema(many)
    told = json.loads((listed / "all.json").read_text())
    validator.validate(told)
    for case in told["cases"]:
        if case["report"] is not None:
            jsonschema.validate(case["report"], one, jsonschema.Draft202012Validator)
    for change in ({"version": 2}, {"cases": [{}]}, {"more": 1}, {"shard": {}}):
        assert not validator.is_valid({**told, **change})
