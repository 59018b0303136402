"""Every format of a report: of the form that it should have, the verdict in it, and no name taken for anything else."""

import json
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree

import jsonschema
import pytest

from tests.pairs import names
from tests.report.reports import HOSTILE, MEASURED, hostile, right, unknown, wrong
from verdict.report.outputs import FORMS, rendered

pytestmark = pytest.mark.usefixtures("shared_proofs")
ROOT = Path(__file__).resolve().parents[2]
SCHEMA = json.loads((ROOT / "docs" / "report.schema.json").read_text())
ALL = {"right": right, "wrong": wrong, "hostile": hostile, "unknown": unknown}
EMPTY = {"meta", "br", "link", "hr", "img", "input"}


class Tree(HTMLParser):
    """The elements of a page, each closed in its order, and its text."""

    def __init__(self):
        super().__init__()
        self.open, self.seen, self.texts, self.attributes = [], [], [], []

    def handle_starttag(self, tag, attrs):
        self.seen.append(tag)
        self.attributes += attrs
        if tag not in EMPTY:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.texts.append((self.open[-1] if self.open else "", data))


def page(report):
    tree = Tree()
    tree.feed(rendered("html", report, MEASURED))
    tree.close()
    assert tree.open == []
    return tree


@pytest.mark.parametrize("name", names())
def test_json_of_every_pair_fits_the_schema(name):
    jsonschema.validate(json.loads(rendered("json", wrong(name), MEASURED)), SCHEMA, jsonschema.Draft202012Validator)


@pytest.mark.parametrize("make", ALL.values(), ids=ALL)
def test_json_fits_the_schema(make):
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    jsonschema.validate(json.loads(rendered("json", make(), MEASURED)), SCHEMA, jsonschema.Draft202012Validator)


def test_a_counterexample_says_that_it_was_replayed():
    findings = json.loads(rendered("json", wrong(), MEASURED))["findings"]
    assert [finding["counterexample"]["replayed"] for finding in findings] == [True]
    written = json.loads(rendered("json", hostile(), MEASURED))["findings"]
    assert written[0]["counterexample"]["replayed"] is False


def test_the_schema_refuses_what_is_no_report():
    report = json.loads(rendered("json", wrong(), MEASURED))
    for changed in ({**report, "verdict": "FINE"}, {**report, "more": 1}, {**report, "findings": [{}]}):
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(changed, SCHEMA)


@pytest.mark.parametrize("make", ALL.values(), ids=ALL)
def test_sarif_has_what_the_standard_asks_for(make):
    report = make()
    log = json.loads(rendered("sarif", report, MEASURED))
    assert (log["version"], len(log["runs"])) == ("2.1.0", 1)
    run = log["runs"][0]
    assert run["tool"]["driver"]["name"] == "verdict"
    rules = [rule["id"] for rule in run["tool"]["driver"]["rules"]]
    assert len(rules) == len(set(rules))
    assert run["results"], "no result would read as a pass"
    for result in run["results"]:
        assert result["ruleId"] in rules
        assert result["message"]["text"]
        assert result["level"] in {"error", "note", "none"}
        assert result.get("kind", "fail") == "fail" or result["level"] == "none"
        for place in result["locations"]:
            uri = place["physicalLocation"]["artifactLocation"]["uri"]
            assert uri.isascii() and uri.isprintable() and not set(uri) & set(' <>"\\^`{|}')
    errors = sum(result["level"] == "error" for result in run["results"])
    assert errors == len(report.findings)
    assert run["invocations"][0]["exitCode"] == report.verdict.value


@pytest.mark.parametrize(("make", "failures", "errors"), [(right, 0, 0), (hostile, 1, 0), (unknown, 0, 1)])
def test_junit_passes_nothing_but_a_proof(make, failures, errors):
    suites = ElementTree.fromstring(rendered("junit", make(), MEASURED))
    (suite,) = suites
    (case,) = suite.findall("testcase")
    assert (suite.get("failures"), suite.get("errors"), suite.get("tests")) == (str(failures), str(errors), "1")
    assert (len(case.findall("failure")), len(case.findall("error"))) == (failures, errors)


def test_annotations_are_one_command_a_line_and_no_name_is_one():
    lines = rendered("github", hostile(), MEASURED).splitlines()
    assert [line.split(" ")[0] for line in lines] == ["::error", "::error", "::notice"]
    assert all(line.startswith(("::error file=", "::notice file=")) for line in lines)
    assert all("," not in part for line in lines for part in line.split("::")[1].split(",title=")[1:])
    assert rendered("github", unknown(), MEASURED).startswith("::warning ")
    assert rendered("github", right(), MEASURED).startswith("::notice ")


@pytest.mark.parametrize("make", ALL.values(), ids=ALL)
def test_the_page_is_one_file_without_scripts(make):
    report = make()
    tree = page(report)
    assert not {"script", "link", "img", "iframe", "object", "a"} & set(tree.seen)
    assert not [name for name, _ in tree.attributes if name.startswith("on") or name in {"src", "href", "style"}]
    first = next(text for where, text in tree.texts if where not in {"title", "style"} and text.strip())
    assert first == report.verdict.name
    style = next(text for where, text in tree.texts if where == "style")
    assert "prefers-color-scheme: dark" in style
    assert "url(" not in style and "@import" not in style


def test_the_page_says_cause_numbers_and_what_was_trusted():
    report = wrong()
    tree = page(report)
    text = "".join(text for _, text in tree.texts)
    assert text.index(report.findings[0].title) < text.index("at " + report.findings[0].where)
    assert ("class", "wrong") in tree.attributes
    assert tree.seen.count("details") == 2
    assert all(assumption.name in text for assumption in report.assumptions)


@pytest.mark.parametrize("form", sorted(set(FORMS) - {"json", "sarif"}))
@pytest.mark.parametrize("make", [hostile, unknown])
def test_no_name_steers_what_shows_it(form, make):
    text = rendered(form, make(), MEASURED, 1)
    assert not set(text) & set("\x1b\x9b\x07\u202e\ud800\r")
    assert "alert" in text
    text.encode()
    if form in {"html", "junit"}:
        assert "<script" not in text


@pytest.mark.parametrize("form", ["json", "sarif"])
def test_json_keeps_names_and_is_ascii(form):
    text = rendered(form, hostile(), MEASURED)
    assert text.isascii()
    assert HOSTILE in json.dumps(json.loads(text), ensure_ascii=False) or json.dumps(HOSTILE)[1:-1] in text


@pytest.mark.parametrize("form", sorted(FORMS))
def test_a_report_is_the_same_twice(form):
    assert rendered(form, wrong(), MEASURED) == rendered(form, wrong(), MEASURED)
