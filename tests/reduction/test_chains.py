"""Relations that follow each other, and ways that part: at few elements they are no less than at many.

Numbers at full shapes show what is wrong in all of these, too; they are switched off here.
"""

import importlib

import pytest

from tests.reduction.test_parts import longest, outline
from tests.values.outline import verdict
from verdict.sweep.larger import Larger

ORDERS = {
    "triangle": ("m = aten.tril(g) diagonal=-1",),
    "order": ("t = aten.gt.Tensor(j, i)", "m = aten.mul.Tensor(g, t)"),
    "shift": ("k = aten.add.Tensor(i) other=40", "t = aten.eq.Tensor(j, k)", "m = aten.mul.Tensor(g, t)"),
}
POSITIONS = ('i = aten.arange() end=512 dtype="int64"', "j = aten.unsqueeze(i) dim=1")


@pytest.fixture(autouse=True)
def no_numbers(monkeypatch):
    monkeypatch.setattr(importlib.import_module("verdict.sweep.sweep"), "on_numbers", lambda *_: Larger(""))
    for name in ("by_blocks", "between", "numbers"):
        module = importlib.import_module(f"verdict.phases.{name}")
        monkeypatch.setattr(module, "difference_at_own_shapes", lambda *_: None)


def chain(relation, times, factor):
    """h + factor * (m @ (m @ .. h)), where m is g wherever a relation between rows and columns holds."""
    lines = ["g input [512, 512]", "h input [512, 2]", "w weight [2]", "m activation [512, 512]"]
    lines += ["i activation int64 [512]", "j activation int64 [512, 1]", "k activation int64 [512]"]
    lines += ["t activation bool [512, 512]"]
    steps, rows = [*POSITIONS[: 0 if relation == "triangle" else 2], *ORDERS[relation]], "h"
    for n in range(times):
        lines.append(f"y{n} activation [512, 2]")
        steps.append(f"y{n} = aten.mm(m, {rows})")
        rows = f"y{n}"
    lines += ["s activation [512, 2]", "b activation [512, 2]", "z activation [512, 2]"]
    steps += [f"s = aten.mul.Scalar({rows}) other={factor}", "b = add(h, s)", "z = mul(b, w)", "output z"]
    used = {name for step in steps for name in step.replace("(", " ").replace(")", " ").replace(",", " ").split()}
    return outline(*(line for line in lines if line.split()[0] in used), *steps)


@pytest.mark.parametrize("relation", ORDERS)
@pytest.mark.parametrize("times", [1, 4, 7])
def test_a_chain_of_relations_is_no_shorter_than_at_full_shapes(relation, times):
    right, wrong = chain(relation, times, 2), chain(relation, times, 3)
    assert verdict(right, right) == "PROVED"
    assert verdict(right, wrong) == "REFUTED"


def test_what_is_related_to_nothing_keeps_few_elements():
    text = chain("triangle", 7, 2)
    assert longest(text) > 7
    assert longest(text.replace("aten.tril(g) diagonal=-1", "aten.relu(g)")) < 7


def parted(times):
    """x + (rows that moved down) * (rows that moved up): after three times one row of each meets one of the other."""
    lines, steps = ["x input [20011, 2]", "w weight [2]"], []
    for way, before, after, start in (("d", 3335, 0, 0), ("u", 0, 3335, 3335)):
        rows = "x"
        for k in range(times):
            lines += [f"{way}p{k} activation [23346, 2]", f"{way}{k} activation [20011, 2]"]
            steps += [
                f"{way}p{k} = aten.constant_pad_nd({rows}) pad=(0, 0, {before}, {after}) value=0",
                f"{way}{k} = aten.slice.Tensor({way}p{k}) dim=0 start={start} end={start + 20011}",
            ]
            rows = f"{way}{k}"
    lines += [f"{name} activation [20011, 2]" for name in ("m", "s", "b", "z")]
    steps += [f"m = mul(d{times - 1}, u{times - 1})", "s = aten.neg(m)"]
    return outline(*lines, *steps, "b = add(x, s)", "z = mul(b, w)", "output z")


@pytest.mark.parametrize("times", [1, 2, 3])
def test_ways_that_part_meet_where_they_do_at_full_shapes(times):
    right, wrong = parted(times), parted(times).replace("aten.neg(m)", "aten.zeros_like(m)")
    assert verdict(right, right) == "PROVED"
    assert verdict(right, wrong) == "REFUTED"
