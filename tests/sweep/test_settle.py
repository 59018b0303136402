"""What a single-device step makes, known as constants before anything is claimed: ids compared with their range."""

import pytest

from tests.sweep.plans import OPTIONS
from tests.values.outline import plans, report
from verdict.inputs import domains
from verdict.reduction import Reduced
from verdict.semantics import bind, full
from verdict.sweep.elements import Elements, Kind
from verdict.sweep.follow import Follower, follow_single
from verdict.sweep.seen import flows_of
from verdict.sweep.swept import told_apart
from verdict.sweep.trace import Keys

SINGLE = """
  t input int64 [4]
  x input [4]
  e = exp(x)
  out = aten.ge.Scalar(t) other={other}
  kept = aten.where.self(out, x, e)
  output kept
  range t 0 9
"""
PARALLEL = """
  e[dp] = exp(x[dp])
  out[dp] = aten.ge.Scalar(t[dp]) other={other}
  kept[dp] = aten.where.self(out, x[dp], e)
  output kept
  range t 0 9
"""
WITHOUT = """
  kept[dp] = exp(x[dp])
  output kept
"""


MASKED = """
  x input [4, 4]
  covered = aten.full() size=(4, 4) fill_value=-1e30
  ones = aten.ones() size=(4, 4)
  low = aten.tril(ones)
  kept = aten.gt.Scalar(low) other=0
  s = aten.where.self(kept, x, covered)
  output s
"""


def made_by(single, parallel, op):
    """What the elements that an operator makes are, where all are constants, else None; and how many are."""
    single, parallel = plans(single, parallel, dp=2)
    reduced = Reduced(single, parallel, bind(single, parallel), (full(single), full(parallel)))
    flows, integers, elements = flows_of(reduced), domains(single, full(single)), Elements()
    both, _ = told_apart(reduced, flows, integers, OPTIONS.solver.seed)
    ids = {k: elements.block(Kind.GIVEN, k, 0, array.shape) for k, array in both.given[0].items()}
    trace = follow_single(flows[0], ids, both.values[0], Follower(elements, Keys(), integers))
    (number,) = (k for k, step in enumerate(flows[0].steps) if step.op == op)
    made = trace.ids[flows[0].steps[number].outputs[0]]
    return elements.constants(made), [elements.of(element) for element in made.ravel().tolist()]


def compared(other):
    """The elements of ids compared with a number, as constants; None where they are none."""
    return made_by(SINGLE.format(other=other), PARALLEL.format(other=other), "aten.ge.Scalar")[0]


def test_what_a_mask_covers_is_the_constant_that_it_is():
    """A rank that knows its mask has it as such, and what it makes of it is what the single-device plan makes."""
    _, blocks = made_by(MASKED, MASKED, "aten.where.self")
    covered = [block.constant for block in blocks if block.kind is Kind.CONSTANT]
    assert list(map(float, covered)) == [-1e30] * 6


@pytest.mark.parametrize("other, due", [(10, [0] * 4), (0, [1] * 4), (9, None), (5, None)])
def test_ids_beyond_their_range_are_known_at_once(other, due):
    assert compared(other) == due


def test_what_the_range_decides_is_proved_and_what_it_does_not_is_not():
    for other, answer in ((10, "PROVED"), (9, "REFUTED")):
        assert report(SINGLE.format(other=other), WITHOUT, dp=2).verdict.name == answer
