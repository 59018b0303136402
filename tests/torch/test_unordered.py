"""Sets, ids and hashes as the ranks of a program see them: in one order on some ranks, in the other on others."""

import math
import sys

import numpy as np
import pytest

from verdict.backends.torch import unordered

PROGRAM = """
class Thing:
    def __init__(self, name):
        self.name = name

class Named(Thing):
    def __hash__(self):
        return hash(self.name)

things = [Thing(name) for name in "abc"]
named = set("pq")
named.add("r")
named |= {"s"}
ORDERS = {
    "objects": "".join(thing.name for thing in set(things)),
    "display": "".join({"x", "y", "z"}),
    "made of others": "".join({"x", "y"} | {"z"}),
    "comprehension": "".join({name for name in ["k", "l"]}),
    "changed": "".join(named),
    "frozen": "".join(frozenset(["m", "n"])),
    "ids": "".join(thing.name for thing in sorted(things, key=id)),
    "hashes": "".join(sorted("ab", key=hash)),
    "hashes of objects": "".join(thing.name for thing in sorted(things, key=hash)),
    "hashes by hashes": "".join(thing.name for thing in sorted(map(Named, "ab"), key=hash)),
}
SAME = [sorted(named), list({1, 2, 3}), {1} == {1}, isinstance({1}, set), len({"a", "a"}), "a" in {"a"}]
"""


@pytest.fixture
def seen(tmp_path, monkeypatch):
    (tmp_path / "ordered.py").write_text(PROGRAM)

    def by(rank):
        monkeypatch.setattr(sys, "meta_path", list(sys.meta_path))
        unordered.enter(rank)
        module = unordered.module_of("ordered", tmp_path / "ordered.py")
        module.__spec__.loader.exec_module(module)
        return module

    return by


def test_what_has_no_order_has_another_one_on_every_other_rank(seen):
    even, odd, next_even = seen(0).ORDERS, seen(1).ORDERS, seen(3).ORDERS
    assert even == next_even
    assert odd == seen(2).ORDERS
    assert {name: order[::-1] for name, order in odd.items()} == even
    assert even["objects"] == "abc"
    assert even["changed"] == "pqrs"


@pytest.mark.parametrize("shape", [(2, 2), (2, 3), (3, 2), (2, 4), (4, 2), (3, 3), (2, 2, 2), (2, 3, 2), (8, 8)])
def test_some_group_along_each_axis_of_a_mesh_sees_both_orders(shape):
    backwards = np.vectorize(unordered.is_backwards)(np.arange(math.prod(shape)).reshape(shape))
    for axis in range(len(shape)):
        assert (backwards.any(axis) & ~backwards.all(axis)).any()


def test_what_has_an_order_keeps_it(seen):
    assert seen(0).SAME == seen(1).SAME == [["p", "q", "r", "s"], [1, 2, 3], True, True, 1, True]
