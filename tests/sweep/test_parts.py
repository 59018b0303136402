"""Sums over ranks whose values say nothing: what they may be is told by what their parts are made of."""

from fractions import Fraction

import numpy as np
import pytest

from verdict.sweep.elements import Elements, Kind
from verdict.sweep.flow import MEAN, SUM, Flow, Place, Step
from verdict.sweep.multiple import multiple
from verdict.sweep.parts import Parts, by_parts, is_part
from verdict.sweep.trace import Keys, Trace

SUMMED = "aten.sum.dim_IntList"
HERE = Place(0, 0, "here")


class Traced:
    """Two sums over rows on one device, of `x` and of `y`, and the same of half the rows of each on two ranks, if only
    of some columns.
    """

    def __init__(self, times=1, axis=0, columns=slice(3)):
        self.elements = Elements()
        self.single, self.parallel = (Trace(Flow(0, (), (), ()), []) for _ in range(2))
        given = [self.elements.block(Kind.GIVEN, k, 0, (4, 3)) for k in range(2)]
        self.totals = [self.add(Kind.SINGLE, self.single, ids, 0) for ids in given]
        scaled = [multiple(self.single, self.elements, ids, Fraction(times)) if times > 1 else ids for ids in given]
        ranks = [[self.add(Kind.PARALLEL, self.parallel, ids[rows, columns], axis) for ids in scaled]
                 for rows in (slice(2), slice(2, 4))]  # fmt: skip
        self.buffers = [np.concatenate(made) for made in ranks]

    def add(self, kind, trace, ids, axis):
        number = len(trace.flow.steps)
        step = Step(SUMMED, (), (len(trace.ids),), {"dim": (axis,), "keepdim": False}, 0, HERE)
        trace.flow = Flow(number + 1, (), (*trace.flow.steps, step), ())
        made = self.elements.block(kind, number, 0, ids.shape[1:])
        trace.ids.append(made)
        trace.reads.append((ids,))
        trace.made.append((made,))
        trace.above.append(0)
        return made

    def summed(self, op):
        """Of each buffer on two more ranks, which have the halves of its rows: the mean of them, or the sum."""
        number = len(self.parallel.flow.steps)
        step = Step(op, (), (len(self.parallel.ids),), {}, 0, HERE)
        self.parallel.flow = Flow(number + 1, (), (*self.parallel.flow.steps, step), ())
        made = self.elements.block(Kind.PARALLEL, number, 0, self.buffers[0].shape)
        self.parallel.ids.append(made)
        self.parallel.reads.append(tuple(self.buffers))
        self.parallel.made.append((made,))
        self.buffers = [made]

    def parts(self):
        return Parts(self.parallel, self.single, self.elements, Keys(), {SUMMED: (0, 1)})

    def asked(self, op, places=range(6)):
        return by_parts(op, self.buffers, np.array(list(places), dtype=np.int64), self.parts())


@pytest.mark.parametrize(("op", "times"), [(SUM, 1), (MEAN, 2)])
def test_each_piece_is_the_whole_of_its_own_parts(op, times):
    traced = Traced(times)
    np.testing.assert_array_equal(traced.asked(op), np.concatenate(traced.totals))
    np.testing.assert_array_equal(traced.asked(op, (4, 1)), [traced.totals[1][1], traced.totals[0][1]])
    assert not traced.asked(op, ()).size


@pytest.mark.parametrize(("inner", "outer", "times"), [(SUM, SUM, 1), (MEAN, SUM, 2), (SUM, MEAN, 1)])
def test_sums_of_sums_are_looked_into(inner, outer, times):
    traced = Traced(times)
    traced.summed(inner)
    np.testing.assert_array_equal(traced.asked(outer), np.concatenate(traced.totals))
    x, y = traced.totals
    np.testing.assert_array_equal(traced.asked(outer, (5, 0, 3)), [y[2], x[0], y[0]])


@pytest.mark.parametrize("columns", [slice(2), slice(1, 3), slice(2, 0, -1)])
def test_some_of_the_columns_are_those_of_the_whole(columns):
    traced = Traced(columns=columns)
    due = np.concatenate([total[columns] for total in traced.totals])
    np.testing.assert_array_equal(traced.asked(SUM, range(4)), due)


def test_rows_of_one_rank_alone_are_no_columns_of_the_whole():
    traced = Traced(columns=slice(2))
    traced.buffers[1] = traced.buffers[0]
    assert (traced.asked(SUM, range(4)) == -1).all()


def test_a_part_is_made_as_the_whole_is_of_some_of_what_that_reads():
    traced = Traced(columns=slice(2))
    parts = traced.parts()
    for number, step in enumerate(traced.parallel.flow.steps):
        assert is_part(step, traced.parallel.reads[number], 0, parts)
    step, (read,) = traced.parallel.flow.steps[0], traced.parallel.reads[0]
    assert not is_part(step, (read + traced.elements.count,), 0, parts)
    assert not is_part(step._replace(attrs={"dim": (1,), "keepdim": False}), (read,), 0, parts)


def test_what_is_scaled_otherwise_is_a_multiple():
    traced = Traced()
    found = traced.asked(MEAN, (0, 1))
    step = traced.single.flow.steps[traced.elements.of(int(found[0])).owner]
    assert step.attrs == {"factor": Fraction(1, 2)}
    assert found[1] == found[0] + 1


def test_parts_of_another_operator_or_elsewhere_tell_nothing():
    assert (Traced(axis=1).asked(SUM) == -1).all()
    assert (Traced().asked("~max") == -1).all()
    shifted = Traced()
    shifted.buffers[1] = np.roll(shifted.buffers[1], 1)
    assert (shifted.asked(SUM, (1, 2)) == -1).all()
