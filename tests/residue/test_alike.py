"""Islands that know values of which two regions hold the same, and parts of islands that know different values."""

import pytest

from tests.builders import FAST
from tests.values.outline import plans as outlined
from verdict.options import Options
from verdict.phases import Query, walk
from verdict.phases.between import between_cut_points
from verdict.report import Verdict

pytestmark = pytest.mark.usefixtures("shared_proofs")

OPTIONS = Options(workers=0, solver=FAST)


def proved(single, parallel, **mesh):
    """Whether a pair that the walk leaves open is PROVED between cut points."""
    query = Query(*outlined(single, parallel, **mesh), OPTIONS)
    examined = walk(query)
    assert examined.report.verdict is not Verdict.PROVED
    found = between_cut_points(query, examined)
    return found is not None and found.report.verdict is Verdict.PROVED


SINGLE = """
x input [4, 6]
w buffer [1, 6]
v buffer [5, 6]
{repeated}
c = add(x, e)
h = linear(c, v)
r = relu(h)
l = sum(r)
loss l"""
RANKS = """
{repeated}
c[tp, :] = add(x[tp, :], f)
h[tp, :] = linear(c[tp, :], v)
r[tp, :] = relu(h[tp, :])
p = sum(r[tp, :])
l = all_reduce(p) ranks=tp reduce="sum"
loss l"""
JOINED = ("e = aten.cat(w, w, w, w) dim=0", "f = aten.cat(w, w) dim=0")
CONSTANT = (
    'a = aten.arange() end=6 dtype="float32"\ne = aten.stack(a, a, a, a) dim=0',
    'a = aten.arange() end=6 dtype="float32"\nf = aten.stack(a, a) dim=0',
)

COMPUTED = (
    "a = aten.cat(w, w, w, w) dim=0\ne = exp(a)",
    "g = aten.cat(w, w) dim=0\nf = exp(g)",
)


@pytest.mark.parametrize("texts", [JOINED, CONSTANT, COMPUTED], ids=["a buffer", "a constant", "computed of it"])
def test_rows_of_what_is_repeated_are_any_rows(texts):
    single, parallel = (text.format(repeated=line) for text, line in zip((SINGLE, RANKS), texts, strict=True))
    assert proved(single, parallel, tp=2)


@pytest.mark.parametrize(
    "line",
    [
        "g = aten.cat(w, w) dim=0\nf = mul(g) other=<1.0 | 2.0>",
        "g = mul(w) other=2.0\nf = aten.cat(g, g) dim=0",
        "g = mul(w) other=2.0\nk = aten.cat(g, g) dim=0\nf = exp(k)",
    ],
    ids=["one rank doubles it", "all ranks double it", "something else is computed of it"],
)
def test_repeated_values_that_are_others_are_not_proved(line):
    assert not proved(SINGLE.format(repeated=JOINED[0]), RANKS.format(repeated=line), tp=2)


APART = """
x input [4, 6]
w buffer [6, 6]
h{rows} = linear(x{rows}, w)
{given}
y{rows} = add(h{rows}, {other})
r{rows} = relu(y{rows})
{loss}"""


def test_a_rank_may_know_what_another_one_has_to_compute():
    """Of the rows of a table of constants the first ones are known to be these, the others are not."""
    table = 'a = aten.arange() end=6 dtype="float32"\n{} = aten.stack({}) dim=0'
    single = APART.format(rows="", given=table.format("e", "a, a, a, a"), other="e", loss="l = sum(r)\nloss l")
    loss = 'p = sum(r[tp, :])\nl = all_reduce(p) ranks=tp reduce="sum"\nloss l'
    parts = {"rows": "[tp, :]", "other": "f", "loss": loss}
    right = APART.format(given=table.format("f", "a, a"), **parts)
    wrong = right.replace("add(h[tp, :], f)", "add(f, f)")
    assert proved(single, right, tp=2)
    assert not proved(single, wrong, tp=2)


@pytest.mark.parametrize(("scale", "right"), [("0.5", True), ("0.25", False)])
def test_attributes_that_are_equal_and_written_otherwise_are_told_apart(scale, right):
    """Adding 1.0 and adding 1 are two nodes of the single-device plan; each stands for its own in the other plan."""
    lines = "t = tanh(x)\na = aten.add.Tensor(t) other=1.0\nb = aten.add.Tensor(t) other=1\nc = mul(b) other={}\n"
    single, parallel = (f"x input [4, 6]\n{lines.format(s)}d = mul(a, c)\nl = sum(d)\nloss l" for s in ("0.5", scale))
    report = walk(Query(*outlined(single, parallel), OPTIONS)).report
    assert (report.verdict is Verdict.PROVED) is right
