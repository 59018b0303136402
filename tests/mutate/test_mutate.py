"""Mutants: every kind has its place, equal seeds give equal mutants, and the command writes them."""

import json
from collections import Counter

import pytest
from click.testing import CliRunner

from tests.builders import Builder, mlp
from verdict.backends import load, save
from verdict.backends.generator import Sizes, generate
from verdict.backends.text import write
from verdict.cli import cli
from verdict.errors import UsageError
from verdict.graph import INPUT, Plan
from verdict.mutate import KINDS, mutate

MESH = {"layers": 4, "hidden": 16, "heads": 4, "seq": 4, "batch": 8, "vocab": 8, "ffn": 8}
PLANS = {
    "mlp": generate("mlp", Sizes(**MESH, dp=2, tp=2, pp=2, microbatches=2))[1],
    "llama3": generate("llama3", Sizes(**MESH, dp=2, tp=2, pp=2, microbatches=2))[1],
    "shards": generate("mlp", Sizes(**MESH, dp=2, tp=1, pp=1, microbatches=1, optimizer="sgd", zero=1))[1],
    "steps": generate("mlp", Sizes(**MESH, dp=1, tp=2, pp=1, microbatches=1, optimizer="sgd", steps=2))[1],
}


def uncommon() -> Plan:
    """What generated plans lack: rooted collectives, an exchange, two messages of one shape, a divided input."""
    plan = Builder(devices=2)
    halves = [plan.tensor("ids", (4, 6), INPUT, ((start, start + 2), (0, 6))) for start in (0, 2)]
    for half in halves:
        plan.op(0, "send", [half], [], peer=1)
        plan.op(1, "recv", [], [plan.tensor("half", (2, 6))], peer=0)
    for device in (0, 1):
        x = plan.tensor("x", (4, 6), INPUT)
        for op, attrs in (
            ("broadcast", {"root": 0}),
            ("reduce", {"root": 1}),
            ("all_to_all", {"split_dim": 0, "concat_dim": 1}),
        ):
            plan.op(device, op, [x], [plan.tensor(op, (4, 6))], ranks=(0, 1), **attrs)
    return plan.plan()


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_changes_some_plan(kind):
    plans = (*PLANS.values(), uncommon(), mlp(2, 2, 2, 2))
    found = [(plan, mutant) for plan in plans for mutant in mutate(plan, 1, 3, [kind])]
    assert found
    for plan, mutant in found:
        assert mutant.plan != plan
        assert mutant.kind == kind
        assert mutant.description


def test_equal_seeds_give_equal_mutants_and_others_differ():
    first, again, other = (mutate(PLANS["mlp"], seed, 60) for seed in (1, 1, 2))
    assert first == again
    assert first != other


def test_a_mutant_does_not_depend_on_which_kinds_are_asked_for():
    alone = mutate(PLANS["mlp"], 5, 2, ["regroup"])
    among = [m for m in mutate(PLANS["mlp"], 5, 2 * len(KINDS)) if m.kind == "regroup"]
    assert alone[0] == among[0]


def test_faults_fall_at_many_places():
    mutants = mutate(PLANS["llama3"], 3, 60, ["rewire-input", "remove-node"])
    assert len({mutant.description for mutant in mutants}) > 50
    assert {f"device {device}" for device in range(4)} <= {
        word for mutant in mutants for word in (mutant.description.split("(")[1].split(", ")[1].split(")")[0],)
    }


def test_an_unknown_kind_is_refused():
    with pytest.raises(UsageError, match="frobnicate"):
        mutate(PLANS["mlp"], 1, 1, ["frobnicate"])


def test_the_command_writes_plans_and_a_manifest(tmp_path):
    source = str(tmp_path / "parallel.plan")
    save(PLANS["mlp"], source)
    out = tmp_path / "mutants"
    ran = CliRunner().invoke(
        cli, ["mutate", source, "--seed", "4", "--count", "6", "--kinds", "regroup,drop-call", "-o", str(out)]
    )
    assert ran.exit_code == 0, ran.output
    told = json.loads((out / "manifest.json").read_text())
    assert Counter(mutant["kind"] for mutant in told["mutants"]) == {"regroup": 3, "drop-call": 3}
    expected = mutate(load(source), 4, 6, ["regroup", "drop-call"])
    for mutant, line in zip(expected, told["mutants"], strict=True):
        assert line["fault"] == mutant.description
        assert (out / line["file"]).read_text() == write(mutant.plan)
