"""What ranks add up is what a single-device node adds, in whatever order; and nothing else is."""

import pytest

from tests.builders import Builder, answer, walked
from tests.values.outline import plans
from verdict.graph import INPUT
from verdict.lineage import reference

SHAPE = (4, 6)
BRANCHES = ("relu", "gelu", "silu")


def single():
    """loss = sum((relu(x) + gelu(x)) + silu(x)) and, as a second one, what the first sum is alone."""
    b = Builder()
    x = b.tensor("x", SHAPE, INPUT)
    made = [b.op(0, op, [x], [b.tensor(op, SHAPE)]) for op in BRANCHES]
    first = b.op(0, "add", made[:2], [b.tensor("first", SHAPE)])
    total = b.op(0, "add", [first, made[2]], [b.tensor("total", SHAPE)])
    b.loss(0, b.op(0, "sum", [total], [b.tensor("loss", (1,))]))
    b.loss(0, b.op(0, "sum", [first], [b.tensor("part", (1,))]))
    return b.plan()


def spread(*of_ranks):
    """Each rank computes one branch; these are added up over the ranks, and the last one on each of them."""
    ranks = tuple(range(len(of_ranks)))
    b = Builder(len(ranks))
    for rank in ranks:
        x = b.tensor("x", SHAPE, INPUT)
        mine = b.op(rank, of_ranks[rank], [x], [b.tensor(f"{of_ranks[rank]}.own", SHAPE)])
        first = b.op(rank, "all_reduce", [mine], [b.tensor("first", SHAPE)], ranks=ranks, reduce="sum")
        last = b.op(rank, "silu", [x], [b.tensor("last", SHAPE)])
        total = b.op(rank, "add", [first, last], [b.tensor("total", SHAPE)])
        b.loss(rank, b.op(rank, "sum", [total], [b.tensor("loss", (1,))]))
        b.loss(rank, b.op(rank, "sum", [first], [b.tensor("part", (1,))]))
    return b.plan()


@pytest.mark.parametrize("order", [("relu", "gelu"), ("gelu", "relu")])
def test_a_sum_over_ranks_is_what_one_node_adds(order):
    assert walked(single(), spread(*order)).verdict.name == "PROVED"
    assert answer(single(), spread(*order), exhaustive=True) == "PROVED"


WRONG = (("relu", "relu"), ("relu", "silu"), ("relu", "gelu", "gelu"), ("relu", "gelu", "silu"))


@pytest.mark.parametrize("wrong", WRONG)
def test_a_sum_of_others_or_of_more_is_not(wrong):
    assert answer(single(), spread(*wrong)) == "REFUTED"


def idle(number, *of_ranks):
    """loss = sum(relu(x) + numbers); ranks add up relu(x), which one of them makes, and such numbers of the others."""
    b = Builder(max(1, len(of_ranks)))
    for rank, makes in enumerate(of_ranks or ("relu",)):
        x = b.tensor("x", SHAPE, INPUT)
        none = b.tensor("none", SHAPE)
        b.op(rank, "hlo.constant", [], [none], shape=SHAPE, values=(number,) * 24, dtype="float32")
        mine = none if makes == "none" else b.op(rank, "relu", [x], [b.tensor(f"{makes}.own", SHAPE)])
        if of_ranks:
            twice = b.op(rank, "hlo.add", [mine, none], [b.tensor(f"{makes}.twice", SHAPE)])
            ranks = tuple(range(len(of_ranks)))
            mine = b.op(rank, "all_reduce", [twice], [b.tensor("made", SHAPE)], ranks=ranks, reduce="sum")
        total = b.op(rank, "hlo.add", [mine, none], [b.tensor("total", SHAPE)])
        b.loss(rank, b.op(rank, "sum", [total], [b.tensor("loss", (1,))]))
    return b.plan()


@pytest.mark.parametrize("order", [("relu", "none"), ("none", "relu", "none", "none")])
def test_zeros_of_ranks_add_nothing(order):
    assert walked(idle(0), idle(0, *order)).verdict.name == "PROVED"
    assert answer(idle(0), idle(0, *order), exhaustive=True) == "PROVED"
    assert answer(idle(1), idle(1, *order)) == "REFUTED"


@pytest.mark.parametrize("order", [("none", "none"), ("relu", "relu")])
def test_zeros_alone_or_what_is_added_twice_is_another_sum(order):
    assert answer(idle(0), idle(0, *order)) == "REFUTED"


def integers(dtype, ranks=0):
    """loss = sum(x * (n + m)) of integers, or their sum over the ranks."""
    b = Builder(ranks or 1)
    for rank in range(ranks or 1):
        n, m = (b.tensor(name, SHAPE, INPUT, dtype=dtype) for name in "nm")
        x = b.tensor("x", SHAPE, INPUT)
        if ranks:
            mine = (n, m)[rank]
            total = b.tensor("total", SHAPE, dtype=dtype)
            b.op(rank, "all_reduce", [mine], [total], ranks=tuple(range(ranks)), reduce="sum")
        else:
            total = b.op(rank, "add", [n, m], [b.tensor("total", SHAPE, dtype=dtype)])
        y = b.op(rank, "mul", [x, total], [b.tensor("y", SHAPE)])
        b.loss(rank, b.op(rank, "sum", [y], [b.tensor("loss", (1,))]))
    return b.plan()


def test_sums_of_narrow_integers_are_not_regrouped():
    assert walked(integers("float32"), integers("float32", 2)).verdict.name == "PROVED"
    assert walked(integers("uint8"), integers("uint8", 2)).verdict.name != "PROVED"


ALONE = """
  x input [4, 6]
  y{at} = exp(x{at})
  s{at} = {sum}
  z{at} = tanh(s{at})
  {own}l = sum(z{at})
  {reduced}loss l
  output s"""
ONE, EACH = {"at": "", "own": "", "reduced": ""}, {"at": "[rank, :]", "own": "own_"}
SUM = "l = all_reduce(own_l) ranks=rank\n  "


@pytest.mark.parametrize(
    ("alone", "sum_", "proved"),
    [
        ('all_reduce(y) ranks=(self,) reduce="sum"', "identity(y{at})", True),
        ('all_reduce(y) ranks=(self,) reduce="sum"', "mul(y{at}) other=2.0", False),
        ('all_reduce(y) ranks=(self,) reduce="avg"', "identity(y{at})", True),
        ("all_gather(y) ranks=(self,) dim=0", "identity(y{at})", True),
        ("reduce_scatter(y) ranks=(self,) dim=0", "identity(y{at})", True),
        ("mul(y) other=1.0", "mul(y{at}) other=1.0", True),
    ],
)
def test_one_device_that_is_alone_reduces_nothing(alone, sum_, proved):
    single = ALONE.format(**ONE, sum=alone)
    pair = plans(single, ALONE.format(**EACH, reduced=SUM, sum=sum_.format(**EACH)), rank=2)
    assert (walked(*pair).verdict.name == "PROVED") is proved
    assert answer(*pair) == ("PROVED" if proved else "REFUTED")


MULTIPLIED = """
  x input [4, 6]
  y = exp(x)
  {}
  l = sum(y)
  loss l
  output s"""


@pytest.mark.parametrize(("other", "proved"), [("1", True), ("1.0", True), ("2", False), ("1.0000001", False)])
def test_what_is_multiplied_by_one_is_what_it_was(other, proved):
    for op in ("mul", "aten.mul.Tensor", "aten.div.Tensor"):
        single, parallel = (MULTIPLIED.format(s) for s in (f"s = {op}(y) other={other}", "s = identity(y)"))
        assert walked(*plans(single, parallel)).verdict.name == ("PROVED" if proved else "REFUTED")


@pytest.mark.parametrize(
    ("made", "dtype", "same"),
    [
        *(("mul", "float32", True), ("hlo.multiply", "float32", True), ("aten.mul.Tensor", "float32", True)),
        *(("div", "float32", False), ("sub", "float32", False), ("mul", "int8", False)),
    ],
)
def test_a_product_adds_up_what_that_of_its_factors_in_the_other_order_does(made, dtype, same):
    """Of real numbers: whole ones may wrap around in a narrower type."""
    plan, _ = plans(
        f"x input {dtype} [4, 6]\ny input {dtype} [4, 6]\na activation {dtype} [4, 6]\nb activation {dtype} [4, 6]\n"
        f"a = {made}(x, y)\nb = {made}(y, x)\nt = add(a, b)\noutput t",
        "t = add(x, y)\noutput t",
    )
    table = reference(plan, 1, {})
    a, b = (next(k for k, base in enumerate(table.bases) if base.name == name) for name in "ab")
    assert table.added([a, b]) == ((a, a) if same else (a, b))
