"""What is zero but for rounding is told by what it is made of: of all that is read, not of the first of it."""

import numpy as np
import pytest

from verdict.sweep.elements import Elements, Kind
from verdict.sweep.flow import Flow, Place, Step
from verdict.sweep.guesses import by_reads
from verdict.sweep.trace import Trace

HERE = Place(0, 0, "here")


class Products:
    """On one device `x` times a constant, and `x` times itself."""

    def __init__(self):
        self.elements = Elements()
        self.single = Trace(Flow(0, (), (), ()), [])
        self.x, self.c = (self.elements.block(Kind.GIVEN, k, 0, (2, 4)) for k in range(2))
        self.of_constant = self.add(self.x, self.c)
        self.square = self.add(self.x, self.x)

    def add(self, *reads):
        number = len(self.single.flow.steps)
        step = Step("mul", (), (number,), {}, 0, HERE)
        self.single.flow = Flow(number + 1, (), (*self.single.flow.steps, step), ())
        made = self.elements.block(Kind.SINGLE, number, 0, (2, 4))
        self.single.ids.append(made)
        self.single.reads.append(reads)
        self.single.made.append((made,))
        self.single.above.append(0)
        return made


@pytest.mark.parametrize("row", [0, 1])
def test_a_row_of_a_product_is_that_of_the_product_of_both_factors(row):
    found = Products()
    rows = slice(row, row + 1)
    made = found.elements.block(Kind.PARALLEL, 0, 0, (1, 4))
    for reads, due in (((found.x, found.x), found.square), ((found.x, found.c), found.of_constant)):
        places, ids = by_reads((0, 1), [read[rows] for read in reads], 0, made, found.single)
        np.testing.assert_array_equal(places, np.arange(4))
        np.testing.assert_array_equal(ids, due[row])


def test_what_has_no_row_of_what_is_read_is_none():
    found = Products()
    made = found.elements.block(Kind.PARALLEL, 0, 0, (1, 4))
    assert by_reads((0, 1), [found.square[:1], found.x[:1]], 0, made, found.single) is None
