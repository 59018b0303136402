"""A buffer that named weights fill wholly is these weights, whatever was drawn for them before."""

from pathlib import Path

import pytest

pytest.importorskip("torch")

from tests.torch.verdicts import answers
from verdict.backends.torch.overwritten import overwritten
from verdict.backends.torch.trace import UNMODELLED, Step, Trace, Value

FILE = Path(__file__).with_name("buckets.py")
RIGHT = ("build", "build_by_hand")
WRONG = ("build_not_averaged", "build_once", "build_turned")
FOUND = tuple((name, "build_single") for name in (*RIGHT, *WRONG))


@pytest.mark.slow
@pytest.mark.parametrize("name", RIGHT)
def test_a_buffer_of_weights_that_were_drawn_is_proved(name):
    found = answers(FILE, FOUND)[name]
    assert found.verdict == "PROVED", found.why


@pytest.mark.slow
@pytest.mark.parametrize("name", WRONG)
def test_another_one_is_refuted(name):
    found = answers(FILE, FOUND)[name]
    assert found.verdict == "REFUTED", found.why


def trace_of(*places, dtypes=("float32",) * 9):
    """The trace of a tensor of six elements of which nothing is known, with a value of its own at each of `places`."""
    shapes = [(6,), *((stop - start,) for start, stop in places), *[(6,)] * len(places)]
    count, steps = len(places), [Step(UNMODELLED, (), (0,), (), "drawn")]
    for number, (start, stop) in enumerate(places):
        inputs = (count + number if number else 0, number + 1)
        attrs = (("end", stop), ("start", start))
        steps.append(Step("aten.slice_scatter", inputs, (count + number + 1,), attrs, "slice_scatter (here)"))
    values = tuple(Value(shape, dtype) for shape, dtype in zip(shapes, dtypes, strict=False))
    return Trace(0, 1, values, tuple(steps), (), ())


@pytest.mark.parametrize(
    ("places", "inputs"),
    [
        (((0, 4), (4, 6)), (1, 2)),
        (((4, 6), (0, 4)), (2, 1)),
        (((0, 2), (4, 6), (2, 4)), (1, 3, 2)),
        (((0, 5), (4, 6), (0, 4)), (3, 2)),
    ],
)
def test_what_is_filled_is_what_fills_it_in_the_order_of_places(places, inputs):
    last = overwritten(trace_of(*places)).steps[-1]
    assert (last.op, last.inputs, last.attrs) == ("aten.cat", inputs, (("tensors_count", len(inputs)),))


@pytest.mark.parametrize("places", [((0, 4), (5, 6)), ((0, 4), (3, 6)), ((0, 6), (1, 6))])
def test_what_is_not_filled_or_overlaps_stays_as_it_is(places):
    steps = overwritten(trace_of(*places)).steps
    assert {step.op for step in steps[1:]} <= {"aten.slice_scatter", "aten.cat"}
    assert steps[-1].op == "aten.slice_scatter"


def test_numbers_of_another_type_stay_as_they_are():
    dtypes = ("float32", "float64", *["float32"] * 7)
    assert overwritten(trace_of((0, 4), (4, 6), dtypes=dtypes)).steps[-1].op == "aten.slice_scatter"
