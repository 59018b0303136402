"""Guesses that chance would make: masks that swallow sums, limits not reached, and 1e-8 beside large numbers."""

from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest

from verdict.sweep.elements import Elements, Kind
from verdict.sweep.flow import Flow, Given, Place, Step
from verdict.sweep.guesses import Guesses, Maker, by_reads, by_scaled_reads
from verdict.sweep.match import Catalogue, Known
from verdict.sweep.multiple import multiple, unscaled
from verdict.sweep.temper import tempered
from verdict.sweep.trace import Trace
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


def limited(*steps):
    """A flow of steps on four numbers that are given, and its values on two seeds."""
    flow = Flow(len(steps) + 1, (Given(0, 0, ()),), steps, ())
    return flow, [run(flow, {0: np.asarray(values)}) for values in ([1.0, 2.0, -3.0, 0.5], [-1.0, 2.5, 3.0, 0.25])]


CUT = Step("aten.clamp", (0,), (1,), {"min": -7.0, "max": 7}, 0, HERE)
ABOVE = Step("aten.gt.Scalar", (0,), (2,), {"other": 7.0}, 0, HERE)


def test_limits_that_no_number_reaches_are_brought_among_them():
    """The same for both plans, though each holds other numbers against them: a limit is a number, not a place."""
    one, other = limited(CUT, ABOVE), limited(CUT)
    (seeds, others) = tempered((one[0], other[0]), (one[1], other[1]))
    assert all(np.array_equal(seed[0], seed[1]) for seed in one[1])
    assert not any(np.array_equal(seed[0], seed[1]) for seed in seeds)
    assert all(np.array_equal(*pair) for pair in zip((s[1] for s in seeds), (s[1] for s in others), strict=True))
    assert any(seed[2].any() for seed in seeds)
    assert not any(seed[2].all() for seed in seeds)


@pytest.mark.parametrize("limit", [2.25, 0.0])
def test_limits_that_some_numbers_reach_stay_and_so_does_zero(limit):
    flow, seeds = limited(CUT._replace(attrs={"min": None, "max": limit}))
    positive = [[np.abs(array) + 1 for array in seed] for seed in seeds]
    values = (positive, positive) if limit == 0 else (seeds, seeds)
    assert tempered((flow, flow), values) is values


def test_limits_of_one_plan_alone_stay_and_so_do_those_of_whole_numbers():
    """Ids are held against the rows of a table that a rank has: another limit is another rank's."""
    flow, seeds = limited(CUT)
    plain, others = limited()
    assert tempered((plain, flow), (others, seeds))[1] is seeds
    whole = [[np.rint(array) for array in seed] for seed in seeds]
    assert tempered((flow, flow), (whole, whole))[0] is whole


def doubled(constant):
    """A step that sums rows, or writes them over one number, and one of ranks that reads twice the last two rows."""
    elements = Elements()
    x = elements.block(Kind.GIVEN, 0, 0, (4, 3))
    negative, made = elements.block(Kind.SINGLE, 0, 0, (4, 3)), elements.block(Kind.SINGLE, 1, 0, (4, 3))
    steps = (Step("aten.neg", (0,), (1,), {}, 0, HERE), Step("own", (1,), (2,), {}, 0, HERE))
    reads = (np.zeros((4, 3), np.int64), negative) if constant else (negative,)
    trace = Trace(Flow(3, (), steps, ()), [x, negative, made], [(x,), reads], [(negative,), (made,)], [0, 1])
    twice = multiple(trace, elements, negative[2:], Fraction(2))
    own = (np.zeros((2, 3), np.int64), twice) if constant else (twice,)
    return elements, trace, made, own


@pytest.mark.parametrize("constant", [False, True], ids=["alone", "beside zeros"])
def test_what_is_zero_but_for_rounding_is_a_multiple_where_multiples_are_read(constant):
    elements, trace, made, reads = doubled(constant)
    ids = elements.block(Kind.PARALLEL, 0, 0, (2, 3))
    _, right = by_scaled_reads([1], reads, 0, ids, trace, elements)
    base, factor = unscaled(trace, elements, right)
    assert factor == 2
    assert base.tolist() == made[2:].ravel().tolist()
    assert by_scaled_reads([1], (*reads[:-1], made[2:]), 0, ids, trace, elements) is None


def test_a_multiple_is_made_once_so_that_what_was_refused_of_it_is_known():
    elements, trace, made, reads = doubled(False)
    ids = elements.block(Kind.PARALLEL, 0, 0, (2, 3))
    first, again = (by_scaled_reads([1], reads, 0, ids, trace, elements)[1] for _ in range(2))
    assert first.tolist() == again.tolist()
    other = multiple(trace, elements, made[2:], Fraction(1, 2))
    assert not np.isin(other, first).any()


def test_what_is_made_of_nothing_beside_other_elements_is_guessed():
    elements, trace, made, reads = doubled(False)
    ids = elements.block(Kind.PARALLEL, 0, 0, (2, 3))
    nothing = elements.block(Kind.GIVEN, 1, 0, (0, 3))
    trace.reads[1] = (nothing, *trace.reads[1])
    _, right = by_scaled_reads([1], (nothing, *reads), 0, ids, trace, elements)
    assert unscaled(trace, elements, right)[0].tolist() == made[2:].ravel().tolist()
    assert by_reads([1], (nothing,), 0, ids, trace) is None


def test_of_equal_values_those_of_the_same_operator_are_guessed_first():
    elements = Elements()
    root, added = (elements.block(Kind.SINGLE, owner, 0, (1,)) for owner in (0, 1))
    values = tuple(np.asarray([1e6 * seed + 0.37]) for seed in range(1, 7))
    catalogue = Catalogue([Known(root, values), Known(added, tuple(value + 1e-8 for value in values))])
    steps = [Step(op, (), (), {}, 0, HERE) for op in ("hlo.sqrt", "hlo.add")]
    guesses = Guesses(catalogue, SimpleNamespace(flow=SimpleNamespace(steps=steps), reads=[(), ()], above=[0, 0]))
    follower = SimpleNamespace(elements=elements)
    for number, (op, right) in enumerate((("hlo.add", added), ("hlo.sqrt", root), ("~sum", root))):
        found = guesses.of(number, 0, list(values), follower, Maker(op, (), 0))
        assert found is not None
        assert found[1].tolist() == right.tolist()


def test_of_equal_values_those_that_are_made_of_what_is_read_are_guessed_first():
    elements = Elements()
    one, other, left, right = (elements.block(Kind.SINGLE, owner, 0, (2, 3)) for owner in range(4))
    values = tuple(np.arange(6.0).reshape(2, 3) + 0.37 * seed for seed in range(1, 7))
    catalogue = Catalogue([Known(left, values), Known(right, values)])
    steps = [Step("hlo.multiply", (), (), {}, 0, HERE)] * 4
    single = SimpleNamespace(flow=SimpleNamespace(steps=steps), reads=[(), (), (one, one), (one, other)], above=[0] * 4)
    follower = SimpleNamespace(elements=elements)
    rows = [array[1:] for array in values]
    for number, (reads, due) in enumerate((((one[1:], other[1:]), right), ((one[1:], one[1:]), left))):
        guesses = Guesses(catalogue, single)
        found = guesses.of(number, 0, rows, follower, Maker("hlo.multiply", reads, 0))
        assert found is not None
        assert found[1].tolist() == due[1].tolist()
        guesses.refused.add((number, 0, found[1].tobytes()))
        again = guesses.of(number, 0, rows, follower, Maker("hlo.multiply", reads, 0))
        assert again is not None
        assert again[1].tolist() != due[1].tolist()


@pytest.mark.parametrize(("above", "place"), [(0b11, 0), (0b10111, 1)])
def test_of_equal_values_those_that_are_computed_from_all_that_is_above_are_guessed_first(above, place):
    """A variance, clamped to what is not negative: its gradient is masked by what is one on all seeds."""
    elements = Elements()
    _, _, plain, _, masked = (elements.block(Kind.SINGLE, owner, 0, (3,)) for owner in range(5))
    values = tuple(np.arange(3.0) + 0.37 * seed for seed in range(1, 7))
    catalogue = Catalogue([Known(plain, values), Known(masked, values)])
    steps = [Step("hlo.multiply", (), (), {}, 0, HERE)] * 5
    single = SimpleNamespace(flow=SimpleNamespace(steps=steps), reads=[()] * 5, above=[0, 0, 0b11, 0, 0b1111])
    guesses, follower = Guesses(catalogue, single), SimpleNamespace(elements=elements)
    found = guesses.of(0, 0, list(values), follower, Maker("~sum", (), above))
    assert found is not None
    assert found[1].tolist() == (plain, masked)[place].tolist()
