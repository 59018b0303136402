"""The interpreter of the plan text against `verdict run`: on families, real bugs, recordings and mutants."""

import ast
from collections import Counter
from functools import cache
from pathlib import Path

import pytest
import torch

from tests.interpreter import text
from tests.interpreter.compare import AGREE, DIFFER, compare, giver
from tests.interpreter.run import run
from tests.sampled import up_to
from verdict.backends import pairs
from verdict.backends.generator import Sizes, generate
from verdict.backends.text import read, write
from verdict.backends.torch.oracle import compare as by_torch
from verdict.backends.torch.oracle import given
from verdict.backends.torch.oracle.compare import Ready, ready, work_of
from verdict.backends.torch.oracle.machine import execute
from verdict.comparison import FAULT
from verdict.mutate import mutate

HERE = Path(__file__).parent
FOLDERS = (HERE.parent / "bugs", HERE.parent / "pairs")
PAIRS = [(folder, name) for folder in FOLDERS for name in pairs.names(folder)]
SMALL = {"layers": 1, "hidden": 16, "heads": 4, "seq": 4, "batch": 8, "vocab": 8, "ffn": 8}
EXPERTS = {"experts": 8, "topk": 2, "groups": 2, "topk_groups": 1, "moe_ffn": 4}
MESH = {"dp": 2, "pp": 1, "tp": 2, "microbatches": 2}
ONE = {"dp": 1, "pp": 1, "tp": 1, "microbatches": 1}
FAMILIES = {
    "mlp": {**MESH, "pp": 2, "layers": 2},
    "mlp uneven": {"dp": 1, "pp": 1, "tp": 3, "microbatches": 1, "ffn": 8},
    "mlp zero1": {**MESH, "optimizer": "adamw", "zero": 1, "clip": 1.0},
    "mlp zero3": {**MESH, "tp": 1, "optimizer": "sgd", "zero": 3, "steps": 2},
    "mlp flat": {**ONE, "dp": 2, "optimizer": "adamw", "zero": 1, "flat": True, "hidden": 5, "ffn": 3},
    "mlp listed": {**ONE, "dp": 2, "optimizer": "adamw", "zero": 1, "list_ranks": True},
    "llama3": {**MESH, "layers": 2, "pp": 2},
    "llama3 sp": {**MESH, "sp": True},
    "deepseek": {**MESH, **EXPERTS, "layers": 2},
    "gpt": {**MESH, "dropout": 0.25},
    "gpt tied": {"dp": 1, "pp": 1, "tp": 4, "microbatches": 1, "tied": True},
}  # fmt: skip
DROPS = {"gpt"}
"""Families with dropout: every engine has random numbers of its own."""
MOST_WORK = 5_000_000
RECORDED = ("linear_ddp", "ring_attention")


@cache
def pair(name):
    return generate(name.split()[0], Sizes(**{**SMALL, **FAMILIES[name]}))


def spelled(*plans):
    return tuple(write(plan) for plan in plans)


def parsed(written):
    return read(written.encode(), "test")


def test_it_imports_nothing_of_the_house():
    for name in ("__init__", "text", "operators", "run", "compare"):
        for node in ast.walk(ast.parse((HERE / f"{name}.py").read_text())):
            names = [node.module] if isinstance(node, ast.ImportFrom) else []
            names += [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            assert all(found.split(".")[0] in ("torch", "math", "json", "re", "dataclasses", "collections", "tests")
                       for found in names), name  # fmt: skip
            assert all(found.startswith("tests.interpreter") for found in names if found.startswith("tests")), name


@pytest.mark.parametrize("name", FAMILIES)
def test_right_plans_agree(name):
    assert compare(*spelled(*pair(name)), seed=1) == (AGREE, "")


@pytest.mark.parametrize("name", RECORDED)
def test_recorded_plans_agree_and_one_that_is_wrong_does_not(name):
    single, parallel = ((HERE / "recorded" / f"{name}.{side}.plan").read_text() for side in ("single", "parallel"))
    assert compare(single, parallel, seed=2) == (AGREE, "")
    number = next(word for word in ("0.5", '"avg"', "other=2") if word in parallel)
    wrong = parallel.replace(number, {"0.5": "0.51", '"avg"': '"sum"', "other=2": "other=3"}[number])
    assert compare(single, wrong, seed=2)[0] == DIFFER
    assert by_torch(parsed(single), parsed(wrong)).outcome == DIFFER


@pytest.mark.parametrize("name", sorted(FAMILIES.keys() - DROPS))
def test_every_rank_holds_the_same_numbers_as_under_the_engine_of_torch(name):
    """On equal values every declared output of every rank is the same, in both plans."""
    one, other = (parsed(write(plan)) for plan in pair(name))
    plans = ready(one, other)
    assert isinstance(plans, Ready)
    values = given.values(one, plans.integers, 3, 1.0)
    values = {
        k: v.abs() if one.logicals[k].kind == "buffer" and v.is_floating_point() else v for k, v in values.items()
    }
    second = [text.read(written) for written in spelled(one, other)]
    by_key = {key: values[k] for k, key in enumerate(second[0].tensors) if k in values}
    for plan, mine, known in ((one, second[0], None), (other, second[1], plans.known)):
        whole = given.of_single(plan, values) if known is None else given.of_parallel(plan, known, values)
        with torch.no_grad():
            theirs, ours = execute(plan, whole), run(mine, giver(second[0], mine, by_key))
        found = {}
        for (rank, microbatch, tensor), value in theirs.items():
            share = plan.tensors[tensor]
            key = (rank, None if microbatch < 0 else microbatch, plan.logicals[share.logical].name, share.region)
            found[key] = value
        seen = 0
        for device, program in mine.program.items():
            for share, _ in (*program.losses, *program.gradients, *program.outputs):
                for replica in range(mine.replicas):
                    for when, value in ours.end((replica, device), share).items():
                        key = ((replica, device), when, share.key[0], share.region)
                        assert torch.allclose(found[key], value, 1e-10, 1e-12), key
                        seen += 1
        assert seen >= len(found) > 0


@pytest.mark.parametrize(("folder", "name"), PAIRS, ids=lambda value: getattr(value, "stem", value))
def test_real_bugs_and_their_right_twins(folder, name):
    bug = pairs.load(folder, name)
    if work_of(bug.plans()[1]) > MOST_WORK:
        pytest.skip("it takes a minute")
    for plans in (bug.twin(), bug.plans()):
        assert compare(*spelled(*plans), seed=1)[0] == _said(by_torch(*plans, 1))


def _said(found):
    return DIFFER if found.outcome == FAULT else found.outcome


MUTANTS = {"mlp": 40, "mlp zero1": 20, "mlp zero3": 20, "mlp flat": 20, "llama3 sp": 6, "deepseek": 6}


@pytest.mark.parametrize("name", MUTANTS)
def test_mutants(name):
    """All say the same of faults that are put in, and most of these are seen."""
    single, parallel = pair(name)
    said = Counter()
    for mutant in mutate(parallel, 11, up_to(MUTANTS[name], MUTANTS[name] // 3)):
        mine, _ = compare(*spelled(single, mutant.plan), seed=1)
        assert mine == _said(by_torch(single, mutant.plan, 1)), mutant[:3]
        said[mine] += 1
    assert said[DIFFER] > said[AGREE]


def test_forms_that_no_family_uses():
    """Devices with other logical tensors of a name, groups of products of axes, offsets, messages, crossed calls."""
    head = (
        "verdict-plan 1\nmesh dp=1 pp=2 tp=2\nmicrobatches 2\nbatch x 0\ntensors\n"
        "  x input float32 [2, 4] origin name\n  w weight float32 [4, 4] origin name\n"
        "  y activation float32 [2, 4]\n  y~2 activation float32 [2, 4]\n  z activation float32 [2, 4]\n"
        "  part activation float32 [1]\n  loss activation float32 [1]\n"
    )
    lower = (
        'family 0 1\nsegment a <"a 0" | "a 1">\n  y<1 | 2>[:, tp] = linear(x, w[tp, :])\n'
        "  z[:, <0:2 | 2:4>] = mul(y) other=<2 | 2>\n  send(z) peer=self+2\ncall a 0\ncall a 1\n"
    )
    upper = (
        "family 2:4\nsegment b\n  z[:, each] = recv() peer=self-2\n  part{tp} = sum(z)\n"
        '  loss = all_reduce(part) ranks=each reduce="sum"\ncall b 0\ncall b 1\nloss loss\n'
    )
    single = (
        "verdict-plan 1\ntensors\n  x input float32 [4, 4] origin name\n  w weight float32 [4, 4] origin name\n"
        "  y activation float32 [4, 4]\n  z activation float32 [4, 4]\n  loss activation float32 [1]\nfamily 0\n"
        "segment a\n  y = linear(x, w)\n  z = mul(y) other=2\n  loss = sum(z)\ncall a 0\nloss loss\nend\n"
    )
    right = head + lower + upper + "end\n"
    crossed = right.replace("call b 1", "call b 1 z@0")
    for parallel, outcome in (
        (right, AGREE),
        (right.replace("<2 | 2>", "<2 | 3>"), DIFFER),
        (right.replace("peer=self-2", "peer=<1 | 0>").replace("peer=self+2", "peer=<3 | 2>"), AGREE),
        (right.replace("ranks=each", "ranks=pp*tp"), DIFFER),
        (crossed, DIFFER),
        (right.replace("sum(z)", "sum(z'2)"), DIFFER),
    ):
        assert compare(single, parallel)[0] == outcome, parallel
        if "z'2" not in parallel:
            assert _said(by_torch(parsed(single), parsed(parallel))) == outcome
