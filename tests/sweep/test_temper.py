"""Guesses that chance would make: masks that swallow sums, and 1e-8 beside large numbers."""

from types import SimpleNamespace

import numpy as np

from verdict.sweep.elements import Elements, Kind
from verdict.sweep.flow import Flow, Place, Step
from verdict.sweep.guesses import Guesses
from verdict.sweep.match import Catalogue, Known
from verdict.sweep.temper import tempered
from verdict.sweep.values import run

HERE = Place(0, 0, "step")
MASKED = (
    Step("hlo.constant", (), (0,), {"shape": (1,), "values": (-1e30,), "dtype": "float32"}, 0, HERE),
    Step("hlo.constant", (), (1,), {"shape": (1,), "values": (0.5,), "dtype": "float32"}, 0, HERE),
    Step("hlo.exponential", (0,), (2,), {}, 0, HERE),
    Step("hlo.exponential", (1,), (3,), {}, 0, HERE),
    Step("hlo.add", (2, 3), (4,), {}, 0, HERE),
    Step("hlo.negate", (1,), (5,), {}, 0, HERE),
)
FLOW = Flow(6, (), MASKED, ())


def test_what_a_mask_swallows_is_apart():
    seeds = [run(FLOW, {}) for _ in range(6)]
    assert all(np.array_equal(seed[3], seed[4]) for seed in seeds)
    found, _ = tempered((FLOW, FLOW), (seeds, seeds))
    assert not any(np.allclose(seed[3], seed[4], rtol=1e-9) for seed in found[:2])
    assert any(seed[0] > 10 for seed in found)
    assert any(seed[0] < 0 for seed in found)


def test_what_has_no_mask_stays():
    seeds = [run(FLOW, {})]
    (found,), _ = tempered((FLOW, FLOW), (seeds, seeds))
    assert all(found[value] is seeds[0][value] for value in (1, 3, 5))
    plain = Flow(6, (), MASKED[1:2], ())
    values = ([run(plain, {})], [run(plain, {})])
    assert tempered((plain, plain), values) is values


def test_of_equal_values_those_of_the_same_operator_are_guessed_first():
    elements = Elements()
    root, added = (elements.block(Kind.SINGLE, owner, 0, (1,)) for owner in (0, 1))
    values = tuple(np.asarray([1e6 * seed + 0.37]) for seed in range(1, 7))
    catalogue = Catalogue([Known(root, values), Known(added, tuple(value + 1e-8 for value in values))])
    steps = [Step(op, (), (), {}, 0, HERE) for op in ("hlo.sqrt", "hlo.add")]
    guesses = Guesses(catalogue, SimpleNamespace(flow=SimpleNamespace(steps=steps), reads=[(), ()]))
    follower = SimpleNamespace(elements=elements)
    for number, (op, right) in enumerate((("hlo.add", added), ("hlo.sqrt", root), ("~sum", root))):
        found = guesses.of(number, 0, list(values), follower, op, ())
        assert found is not None
        assert found[1].tolist() == right.tolist()


def test_of_equal_values_those_that_are_made_of_what_is_read_are_guessed_first():
    elements = Elements()
    one, other, left, right = (elements.block(Kind.SINGLE, owner, 0, (2, 3)) for owner in range(4))
    values = tuple(np.arange(6.0).reshape(2, 3) + 0.37 * seed for seed in range(1, 7))
    catalogue = Catalogue([Known(left, values), Known(right, values)])
    steps = [Step("hlo.multiply", (), (), {}, 0, HERE)] * 4
    single = SimpleNamespace(flow=SimpleNamespace(steps=steps), reads=[(), (), (one, one), (one, other)])
    follower = SimpleNamespace(elements=elements)
    rows = [array[1:] for array in values]
    for number, (reads, due) in enumerate((((one[1:], other[1:]), right), ((one[1:], one[1:]), left))):
        guesses = Guesses(catalogue, single)
        found = guesses.of(number, 0, rows, follower, "hlo.multiply", reads)
        assert found is not None
        assert found[1].tolist() == due[1].tolist()
        guesses.refused.add((number, 0, found[1].tobytes()))
        again = guesses.of(number, 0, rows, follower, "hlo.multiply", reads)
        assert again is not None
        assert again[1].tolist() != due[1].tolist()
