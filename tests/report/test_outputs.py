"""Where reports go: what is refused before anything runs, and that a file is written whole."""

import json
import os

import pytest
from click.testing import CliRunner

from tests.test_cli import PARALLEL, SINGLE, verdict
from verdict.cli import cli
from verdict.errors import UsageError
from verdict.report.outputs import Output, output_of, require_writable, write_whole


def test_a_format_before_the_file_is_taken_off():
    assert output_of("json:a:b.json", "text") == Output("json", "a:b.json", instead=False)
    assert output_of("report.txt", "json") == Output("json", "report.txt", instead=True)
    assert output_of("./jsn:report", "text").path == "./jsn:report"
    for wrong in ("jsn:report", "json:"):
        with pytest.raises(UsageError, match="is not FORMAT:FILE"):
            output_of(wrong, "text")


def refused(*arguments):
    """The sentence of a question that is refused before a plan is loaded."""
    with pytest.raises(UsageError) as refusal:
        CliRunner().invoke(cli, ["--sm", SINGLE, "--pm", PARALLEL, *arguments], catch_exceptions=False)
    return str(refusal.value)


def test_an_output_is_no_input_and_no_other_output(tmp_path):
    link, twice = tmp_path / "link", str(tmp_path / "twice")
    link.symlink_to(SINGLE)
    hard = tmp_path / "hard"
    os.link(PARALLEL, hard)
    for path in (SINGLE, str(link), str(hard)):
        assert "the report cannot be written: it is a plan that is read" in refused("--output", f"json:{path}")
    assert "the statistics cannot be written: it is a plan" in refused("--stats", PARALLEL)
    assert "the repaired plan cannot be written: it is a plan" in refused("--repair", PARALLEL)
    assert "another output goes there" in refused("--output", f"json:{twice}", "--output", f"html:{twice}")
    assert "another output goes there" in refused("--output", f"json:{twice}", "--repro", twice)


def test_an_output_that_cannot_be_written_is_refused_before_the_run(tmp_path):
    assert "it is a folder" in refused("--output", str(tmp_path))
    assert "there is no such folder" in refused("--output", str(tmp_path / "no" / "file"))


def test_two_outputs_to_a_device_are_none_of_our_business():
    require_writable((), (("the report", os.devnull), ("the report", os.devnull)))
    write_whole(os.devnull, "text")


def test_the_same_file_given_as_both_plans_is_refused():
    run = verdict("--sm", SINGLE, "--pm", SINGLE)
    assert (run.returncode, run.stdout) == (2, "")
    assert "it is given as both plans" in run.stderr


@pytest.mark.parametrize("content", ["a,b,c\n1,2,3\n", "\x80\n", "x" * 9999])
def test_foreign_statistics_are_refused_and_left_alone(tmp_path, content):
    path = tmp_path / "rows.csv"
    path.write_text(content)
    assert "it has other columns" in refused("--stats", str(path))
    assert path.read_text() == content


def test_all_formats_at_once_and_the_terminal(tmp_path):
    forms = ("text", "json", "sarif", "junit", "github", "html")
    asked = [word for form in forms for word in ("--output", f"{form}:{tmp_path / form}")]
    run = verdict("--sm", SINGLE, "--pm", PARALLEL, *asked, "--stats", str(tmp_path / "rows.csv"))
    assert (run.returncode, run.stderr) == (0, "")
    assert run.stdout.startswith("PROVED")
    assert (tmp_path / "text").read_text() == run.stdout
    assert json.loads((tmp_path / "json").read_text())["verdict"] == "PROVED"
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted((*forms, "rows.csv"))
    assert verdict("diff", str(tmp_path / "json"), str(tmp_path / "json")).returncode == 0


def test_a_file_is_replaced_whole_and_keeps_its_mode_and_its_link(tmp_path):
    file, link = tmp_path / "file", tmp_path / "link"
    file.write_text("old")
    file.chmod(0o640)
    link.symlink_to(file)
    write_whole(str(link), "neu \u00fc")
    assert link.is_symlink()
    assert file.read_text(encoding="utf-8") == "neu \u00fc"
    assert file.stat().st_mode & 0o777 == 0o640
    with pytest.raises(UnicodeEncodeError):
        write_whole(str(file), "\ud800")
    assert file.read_text(encoding="utf-8") == "neu \u00fc"
    assert len(list(tmp_path.iterdir())) == 2
