"""`verdict diff`: what changed from one report to the next."""

import json

import pytest
from click.testing import CliRunner

from tests.report.reports import HOSTILE, MEASURED, hostile, right, unknown, wrong
from verdict.cli import cli
from verdict.errors import UsageError
from verdict.report import to_json
from verdict.report.diff import changed


def data(report):
    return json.loads(to_json(report, MEASURED))


def diff(folder, before, after):
    paths = [folder / "before.json", folder / "after.json"]
    for path, text in zip(paths, (before, after), strict=True):
        path.write_text(text)
    return CliRunner().invoke(cli, ["diff", *map(str, paths)], catch_exceptions=False)


def test_a_report_does_not_differ_from_itself(tmp_path):
    text = to_json(wrong(), MEASURED)
    run = diff(tmp_path, text, text)
    assert run.exit_code == 0
    assert run.output.startswith("REFUTED as before\n  missing-reduction: ")
    assert "0 findings gone; 0 findings new; 1 finding the same" in run.output


def test_findings_that_go_and_come_are_told(tmp_path):
    run = diff(tmp_path, to_json(wrong(), MEASURED), to_json(right(), MEASURED))
    assert run.exit_code == 1
    assert run.output.startswith("REFUTED -> PROVED\n- missing-reduction: ")
    change = changed(data(wrong()), data(wrong("wrong_group")))
    assert (len(change.gone), len(change.new), len(change.same)) == (1, 1, 0)


def test_a_finding_that_stands_twice_is_counted_twice():
    before = data(wrong())
    after = {**before, "findings": before["findings"] * 2}
    change = changed(before, after)
    assert (len(change.gone), len(change.new), len(change.same)) == (0, 1, 1)


def test_questions_that_open_are_told_harmlessly(tmp_path):
    run = diff(tmp_path, to_json(right(), MEASURED), to_json(unknown(), MEASURED))
    assert run.exit_code == 1
    assert "+ open: " in run.output
    assert "\x1b" not in run.output
    assert diff(tmp_path, to_json(hostile(), MEASURED), to_json(hostile(), MEASURED)).exit_code == 0
    assert HOSTILE not in run.output


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", '{"version": 1, "verdict": "PROVED"}', '{"version": 99}', "[" * 100_000, "\x00",
             '{"version": 1, "verdict": ["PROVED"]}',
             '{"version": 1, "verdict": "PROVED", "findings": 3, "unknown": [], "timings": {"total": 1}}'],
)  # fmt: skip
def test_what_is_no_report_is_refused_with_a_sentence(tmp_path, text):
    with pytest.raises(UsageError):
        diff(tmp_path, text, to_json(right(), MEASURED))
