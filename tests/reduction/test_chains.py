"""Relations that follow each other, and ways that part: at few elements they are no less than at many.

Numbers at full shapes show what is wrong in all of these, too; they are switched off here.
"""

import pytest

from tests.reduction.test_parts import longest, outline
from tests.values.outline import plans, verdict
from verdict.reduction import shrink
from verdict.semantics import bind

pytestmark = pytest.mark.usefixtures("no_numbers")

ORDERS = {
    "triangle": ("m = aten.tril(g) diagonal=-1",),
    "order": ("t = aten.gt.Tensor(j, i)", "m = aten.mul.Tensor(g, t)"),
    "shift": ("k = aten.add.Tensor(i) other=40", "t = aten.eq.Tensor(j, k)", "m = aten.mul.Tensor(g, t)"),
    "what a mask leaves": ("t = aten.ge.Tensor(i, j)", "m = aten.masked_fill.Scalar(g, t) value=0"),
    "a part of a mask": (
        'q = aten.arange() end=513 dtype="int64"',
        "l = aten.ge.Tensor(j, q)",
        "t = aten.slice.Tensor(l) dim=1 start=1 end=513",
        "m = aten.mul.Tensor(g, t)",
    ),
    "later positions": (
        'q = aten.arange() end=513 dtype="int64"',
        "o = aten.slice.Tensor(q) dim=0 start=1 end=513",
        "t = aten.ge.Tensor(j, o)",
        "m = aten.mul.Tensor(g, t)",
    ),
    "positions from the second on": (
        'o = aten.arange.start() start=1 end=513 dtype="int64"',
        "t = aten.ge.Tensor(j, o)",
        "m = aten.mul.Tensor(g, t)",
    ),
    "what a mask turned around lets through": (
        "t = aten.le.Tensor(j, i)",
        "n = aten.logical_not(t)",
        "m = aten.mul.Tensor(g, n)",
    ),
}
"""What relates no element to itself, or one that another one is added to."""
ALIKE = {
    "causal": ("t = aten.ge.Tensor(j, i)", "m = aten.mul.Tensor(g, t)"),
    "what a mask leaves, with itself": ("t = aten.gt.Tensor(i, j)", "m = aten.masked_fill.Scalar(g, t) value=0"),
    "what is chosen": ("t = aten.le.Tensor(i, j)", "m = aten.where.ScalarOther(t, g) other=0"),
    "what a mask turned around leaves": (
        "t = aten.le.Tensor(i, j)",
        "n = aten.logical_not(t)",
        "m = aten.masked_fill.Scalar(g, n) value=0",
    ),
}
"""What relates each element to itself, too."""
POSITIONS = ('i = aten.arange() end=512 dtype="int64"', "j = aten.unsqueeze(i) dim=1")


def chain(relation, times, factor):
    """h + factor * (m @ (m @ .. h)), where m is g wherever a relation between rows and columns holds."""
    lines = ["g input [512, 512]", "h input [512, 2]", "w weight [2]", "m activation [512, 512]"]
    lines += ["i activation int64 [512]", "j activation int64 [512, 1]", "k activation int64 [512]"]
    lines += ["t activation bool [512, 512]", "n activation bool [512, 512]", "l activation bool [512, 513]"]
    lines += ["q activation int64 [513]", "o activation int64 [512]"]
    steps, rows = [*POSITIONS[: 0 if relation == "triangle" else 2], *(ORDERS | ALIKE)[relation]], "h"
    for n in range(times):
        lines.append(f"y{n} activation [512, 2]")
        steps.append(f"y{n} = aten.mm(m, {rows})")
        rows = f"y{n}"
    lines += ["s activation [512, 2]", "b activation [512, 2]", "z activation [512, 2]"]
    steps += [f"s = aten.mul.Scalar({rows}) other={factor}", "b = add(h, s)", "z = mul(b, w)", "output z"]
    used = {name for step in steps for name in step.replace("(", " ").replace(")", " ").replace(",", " ").split()}
    return outline(*(line for line in lines if line.split()[0] in used), *steps)


@pytest.mark.parametrize("relation", ORDERS | ALIKE)
@pytest.mark.parametrize("times", [1, 4, 7])
def test_a_chain_of_relations_is_no_shorter_than_at_full_shapes(relation, times):
    right, wrong = chain(relation, times, 2), chain(relation, times, 3)
    assert verdict(right, right) == "PROVED"
    assert verdict(right, wrong) == "REFUTED"


def test_what_is_related_to_nothing_keeps_few_elements():
    text = chain("triangle", 7, 2)
    assert longest(text) > 7
    assert longest(text.replace("aten.tril(g) diagonal=-1", "aten.relu(g)")) < 7


@pytest.mark.parametrize("relation", ORDERS | ALIKE)
def test_a_chain_keeps_few_elements_where_each_is_related_to_itself(relation):
    assert (longest(chain(relation, 7, 2)) < 7) is (relation in ALIKE)


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


def windows(window, halo, size=1201):
    """The first rows of two layers that see a window each, of so many rows."""
    names = [f"x input [{size}, 2]", f"w weight [{size}, {size}]"]
    names += [f"p activation int64 [{size}]", f"j activation int64 [1, {size}]", f"t activation bool [{size}, {size}]"]
    names += [f"{name} activation int64 [{size}, 1]" for name in "ie"] + [f"m activation [{size}, {size}]"]
    names += [f"{name} activation [{size}, 2]" for name in "oyz"]
    names += [f"n activation [{halo}, 2]", f"b activation [{window}, 2]"]
    return outline(
        *names, f"p = aten.arange() end={size}",
        "i = aten.unsqueeze(p) dim=1", "j = aten.unsqueeze(p) dim=0", f"e = aten.add.Scalar(i) other={window}",
        "t = aten.ge.Tensor(j, e)", "m = aten.masked_fill.Scalar(w, t) value=0",
        f"n = narrow(x) dim=0 start=0 length={halo}", f"o = pad(n) dim=0 before=0 after={size - halo}",
        "y = matmul(m, o)", "z = matmul(m, y)", f"b = narrow(z) dim=0 start=0 length={window}", "output b",
    )  # fmt: skip


@pytest.mark.parametrize("grow", [0, 1, 16])
@pytest.mark.parametrize(("window", "halo"), [(301, 901), (301, 900), (1000, 2998), (1000, 2997)])
def test_windows_reach_as_far_as_at_full_shapes(window, halo, grow):
    """From the row of place 300 on two windows of 301 rows reach the one of place 900."""
    single, parallel = plans(*[windows(window, halo, 12001)] * 2)
    small = shrink(single, parallel, bind(single, parallel), grow).small[1].logicals
    sizes = {each.name: shape[0] for each, shape in zip(parallel.logicals, small, strict=True)}
    assert sizes["x"] < 1201
    assert (3 * (sizes["b"] - 1) < sizes["n"]) is (3 * (window - 1) < halo)


def test_a_halo_that_lacks_a_row_is_another_one():
    assert verdict(windows(61, 181), windows(61, 181)) == "PROVED"
    assert verdict(windows(61, 181), windows(61, 180)) == "REFUTED"
