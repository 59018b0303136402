"""The campaigns in small: each answers, what is wrongly said is caught and written small, and a stopped one goes on."""

import ast
import json
import os
import random
import subprocess
import sys
from itertools import islice
from pathlib import Path

import pytest

from scripts.campaigns import attributes, handmade, modules, plans, programs
from scripts.campaigns.changes import changed
from scripts.campaigns.edits import edits
from scripts.campaigns.lines import FAILURES, Answer, Book, Campaign, Line, asked, figures, table
from scripts.campaigns.own_cases import own_case
from scripts.campaigns.shrinking import pruned, shrunk
from scripts.campaigns.truth import truth
from tests import builders
from tests.sampled import WHOLE
from tests.torch.truth import launch
from verdict.backends.text import read
from verdict.backends.torch.oracle import compare
from verdict.comparison import AGREE, DIFFER
from verdict.graph import Plan
from verdict.mutate.judge import Judgement, outcome_of

ROOT = Path(__file__).parents[2]
ATTRIBUTES, PLANS = range(24), range(24)


def lines_of(campaign, seed, numbers, out):
    return [line for number in numbers if (line := asked(campaign, seed, number, out)) is not None]


def says(verdict):
    """A verifier that says one thing of everything, held against the truth."""

    def judge(single, plan, oracle, options, known=None):
        said, detail = oracle(single, plan)
        return Judgement(outcome_of(verdict, said), verdict, said, (), detail)

    return judge


def test_attributes_are_changed_and_judged(tmp_path):
    lines = lines_of(attributes.campaign(8), 8, ATTRIBUTES, tmp_path)
    assert {line.outcome for line in lines} >= {"killed", "equivalent"}
    assert "missed" not in {line.outcome for line in lines}


def test_plan_mutants_are_judged(tmp_path):
    lines = lines_of(plans.campaign(8, ("mlp tp4", "mlp step adamw zero1 dp2")), 8, PLANS, tmp_path)
    assert [line for line in lines if line.outcome in FAILURES] == []
    assert sum(line.outcome == "killed" for line in lines) > len(lines) / 2 > 8


def test_what_is_wrongly_proved_is_caught_and_made_small(tmp_path, monkeypatch):
    monkeypatch.setattr(plans, "judge", says("PROVED"))
    campaign = plans.campaign(8, ("mlp tp4",), ("change-constant", "change-operator", "skip-node"))
    missed = next(line for line in lines_of(campaign, 8, range(12), tmp_path) if line.outcome == "missed")
    folder = tmp_path / "failures" / f"missed-plans-8-{missed.number}"
    single, parallel = (read((folder / f"{side}.plan").read_bytes(), side) for side in ("single", "parallel"))
    assert truth()(single, parallel)[0] == DIFFER
    assert "outcome: missed" in (folder / "truth.txt").read_text()
    assert len(single.declared) == 1
    lines = lines_of(attributes.campaign(8), 8, ATTRIBUTES, tmp_path)
    assert {line.outcome for line in lines} >= {"missed", "equivalent"}
    assert figures(lines, 8, "0/1", 1, 1.0)["outcomes"]["attributes"]["changed"]["missed"] > 0


def test_what_is_wrongly_refuted_is_caught(tmp_path, monkeypatch):
    monkeypatch.setattr(plans, "judge", says("REFUTED"))
    lines = lines_of(attributes.campaign(8), 8, ATTRIBUTES, tmp_path)
    assert {line.outcome for line in lines} >= {"killed", "false alarm"}
    alarm = next(line for line in lines if line.outcome == "false alarm")
    folder = tmp_path / "failures" / f"false-alarm-attributes-8-{alarm.number}"
    assert truth()(*(read((folder / f"{side}.plan").read_bytes(), side) for side in ("single", "parallel")))[0] == AGREE


def test_truth_is_asked_of_both_oracles(monkeypatch):
    single, parallel = builders.mlp(), builders.mlp(2, 2, 2, 2)
    assert truth()(single, parallel) == (AGREE, "")
    monkeypatch.setattr("scripts.campaigns.truth.interpreted", lambda *more: (DIFFER, "for the test"))
    assert truth()(single, parallel)[0] == "disagree"


def test_small_pairs_are_still_whole_plans():
    single, parallel = builders.mlp(), builders.mlp(2, 2, 2, 2)

    def differs(one: Plan, other: Plan) -> bool:
        wrong = builders.rewrite_where(other, "relu", lambda node: node._replace(op="silu"))
        return compare(one, wrong).outcome == DIFFER

    one, other = shrunk(single, parallel, differs, 20)
    assert compare(one, other).outcome == AGREE
    assert compare(pruned(single), pruned(parallel)).outcome == AGREE
    assert len(one.declared) == 1


def test_a_book_is_continued(tmp_path):
    lines = [Line("plans", 3, n, "mlp", "drop", outcome, "PROVED", "agree", "", "a, b", "", 0.1)
             for n, outcome in enumerate(("killed", "equivalent"))]  # fmt: skip
    first = Book(tmp_path / "lines.csv")
    for line in lines:
        first.add(line)
    second = Book(tmp_path / "lines.csv")
    assert second.lines == lines
    assert second.has("plans", 3, 1)
    assert not second.has("plans", 4, 1)
    assert "| all | 2 | 1 |" in table(second.lines, "campaign")


def test_a_crash_is_an_answer(tmp_path):
    def ask(number: int) -> Answer:
        raise KeyError(number)

    line = asked(Campaign("plans", ask), 1, 5, tmp_path)
    assert (line.outcome, line.reasons) == ("crash", "KeyError: 5")
    assert (tmp_path / "failures" / "crash-plans-1-5" / "truth.txt").is_file()


def test_changes_are_of_one_attribute():
    draw = random.Random(3)
    seen = set()
    for _ in range(300):
        case = own_case(draw)
        found = changed(case.op, case.attrs, attributes.attributes_of(case.op), draw)
        if found is not None:
            apart = {k for k in {*case.attrs, *found[1]} if case.attrs.get(k) != found[1].get(k)} or {"type"}
            assert len(apart) == 1
            seen.add(case.op)
    assert len(seen) > 20


@pytest.mark.parametrize("style", [*handmade.STYLES, *modules.STYLES])
def test_programs_are_python_and_have_edits_of_many_kinds(style):
    for seed in range(3):
        text = (handmade if style in handmade.STYLES else modules).program(random.Random(seed), style).text
        found = list(islice(edits(text, random.Random(seed)), 20))
        assert len({kind for kind, _, _ in found}) > 3
        for _, _, edited in found:
            assert edited != ast.unparse(ast.parse(text)) and ast.parse(edited)


@pytest.mark.slow
def test_programs_are_recorded_run_and_judged(tmp_path, monkeypatch):
    """One block: real processes tell a wrong verdict on a mutant, and on the program as it is."""
    monkeypatch.setattr(programs, "SECONDS", 600)
    campaign = programs.campaign(14)
    try:
        honest = lines_of(campaign, 14, range(4), tmp_path)
        monkeypatch.setattr(programs, "verdict_on", lambda pair: ("PROVED", "", ""))
        proves = lines_of(campaign, 14, range(4), tmp_path)
        monkeypatch.setattr(programs, "verdict_on", lambda pair: ("REFUTED", "", ""))
        refutes = lines_of(campaign, 14, range(4), tmp_path)
    finally:
        campaign.close()
    assert (honest[0].outcome, honest[0].kind) == ("equivalent", "nothing")
    assert [line for line in honest if line.outcome in FAILURES] == []
    assert refutes[0].outcome == "false alarm"
    assert {line.outcome for line in proves} == {"equivalent", "missed"}
    folder = next((tmp_path / "failures").glob("missed-*"))
    assert {file.name for file in folder.iterdir()} >= {"single.py", "program.py", "truth.txt"}


def test_runs_that_fail_or_wait_for_ever_are_told_apart(tmp_path, monkeypatch):
    monkeypatch.setattr("tests.torch.truth.STILL", 1)
    text = "import torch.distributed as dist\ndef fails(ctx):\n    dist.barrier() if ctx.rank else 1 / 0\n"
    text += "def hangs(ctx):\n    return dist.barrier() if ctx.rank else __import__('time').sleep(100)\n"
    (tmp_path / "some.py").write_text(text)
    for name, why in (("fails", "it fails"), ("hangs", "it hangs")):
        assert launch(str(tmp_path / "some.py"), name, 2, None, str(tmp_path)) == (None, why)


def test_the_command(tmp_path):
    """Two processes beside each other; of the whole suite also stopped and continued, as a book is above."""
    command = [sys.executable, "scripts/campaign.py", "--only", "plans", "--family", "mlp tp4"]
    command += ["--seed", "8", "--cores", "2", "--way", "walk"]
    for count in (4, 6) if WHOLE else (6,):
        run = subprocess.run([*command, "--count", str(count), "--out", str(tmp_path)], cwd=ROOT,
                             capture_output=True, text=True, check=False)  # fmt: skip
        assert run.returncode in (0, 1), run.stderr
    lines = Book(tmp_path / "lines.csv").lines
    assert len({line.number for line in lines}) == len(lines) == 6
    assert [list(json.loads(line.ways)) for line in lines] == [["walk"]] * 6
    found = json.loads((tmp_path / "figures.json").read_text())
    assert found["questions"] == 6
    assert found["machine"]["cores"] == os.cpu_count()
    assert sum(n for kind in found["outcomes"]["plans"].values() for n in kind.values()) == 6
