"""What the shell offers, as the line of docs/install.md asks for it: every command, and every kind of name."""

from pathlib import Path

import pytest

from tests.process import verdict
from verdict.cli import cli
from verdict.mutate import KINDS
from verdict.report.codes import CODES

ROOT = Path(__file__).resolve().parents[1]


def offered(*words, shell="bash_complete"):
    """What is offered for the last word."""
    asked = {"_VERDICT_COMPLETE": shell, "COMP_WORDS": " ".join(("verdict", *words)), "COMP_CWORD": str(len(words))}
    return [line.partition(",")[2] for line in verdict(**asked).stdout.splitlines()]


def test_every_command_is_offered():
    assert {name for name in cli.commands if name.startswith("c")} <= {*offered("c")}
    assert "check" in offered("che")


@pytest.mark.parametrize(
    ("words", "found"),
    [
        (("check", "--engine", "r"), "ray"),
        (("check", "--sha"), "--shard"),
        (("explain", "missing-red"), "missing-reduction"),
        (("--assume", "chunk"), "chunk-order-by-region"),
        (("--deny-assumption", "real-a"), "real-arithmetic"),
        (("batch", "--deny-assumption", "real-a"), "real-arithmetic"),
        (("bugs", "picotron-"), "picotron-5"),
        (("generate", "lla"), "llama3"),
        (("mutate", "x.plan", "--kinds", "skip-node,drop-coll"), "skip-node,drop-collective"),
    ],
)
def test_names_are_offered(words, found):
    assert found in offered(*words)


def test_all_codes_and_kinds_are_offered():
    assert {*offered("explain", "m")} == {code for code in CODES if code.startswith("m")}
    assert {*offered("mutate", "x.plan", "--kinds", "d")} == {kind for kind in KINDS if kind.startswith("d")}


@pytest.mark.parametrize("shell", ["bash_source", "zsh_source", "fish_source"])
def test_the_page_names_what_each_shell_reads(shell):
    page = (ROOT / "docs" / "install.md").read_text(encoding="utf-8")
    assert f"_VERDICT_COMPLETE={shell} verdict" in page
    done = verdict(_VERDICT_COMPLETE=shell)
    assert "_VERDICT_COMPLETE" in done.stdout or "bash" in done.stderr
