"""What ranks add up is what a single-device node adds, in whatever order; and nothing else is."""

import pytest

from tests.builders import Builder, answer, walked
from verdict.graph import INPUT

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
