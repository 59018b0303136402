"""HLO's gather, scatter and slices of large tensors are followed index by index, and proved at reduced shapes."""

import pytest

from tests.values.outline import report
from verdict.report import Verdict

ROWS, WIDE, COUNT = 96, 64, 32
NUMBERS = "batching=() collapsed=(0,) index_batching=() index_vector=2 offset=(2,) start_map=(0,)"
BATCHED = "batching=(0,) collapsed=(1,) index_batching=(0,) index_vector=2 offset=() start_map=(1,)"
ADDED = "batching=() index_batching=() index_vector=2 inserted=(0,) start_map=(0,) window=(2,)"


def lookup(width, numbers=NUMBERS, sizes="1, {width}"):
    return f"{numbers} sizes=({sizes.format(width=width)})"


GIVEN = f"range ids 0 {ROWS - 1}\nw input [{ROWS}, {WIDE}]\nids input int32 [8, {COUNT}, 1]\n"


@pytest.mark.parametrize(("read", "proved"), [("ids[tp, :, :]", True), ("turned", False)])
def test_rows_of_a_table(read, proved):
    found = report(
        f"{GIVEN}y = hlo.gather(w, ids) {lookup(WIDE)}\noutput y",
        f"turned activation int32 [4, {COUNT}, 1]\nturned = hlo.reverse(ids[tp, :, :]) dims=(1,)\n"
        f"y[tp, :, :] = hlo.gather(w, {read}) {lookup(WIDE)}\noutput y[tp, :, :]",
        tp=2,
    )
    assert (found.verdict is Verdict.PROVED) == proved
    assert found.swept is None or not proved


def test_columns_of_a_table():
    half = WIDE // 2
    found = report(
        f"{GIVEN}y = hlo.gather(w, ids) {lookup(WIDE)}\noutput y",
        f"y[:, :, tp] = hlo.gather(w[:, tp], ids) {lookup(half)}\noutput y[:, :, tp]",
        tp=2,
    )
    assert (found.verdict, found.swept) == (Verdict.PROVED, None)


def test_a_number_of_each_row():
    found = report(
        f"range ids 0 {WIDE - 1}\nx input [8, {WIDE}]\nids input int32 [8, {COUNT}, 1]\n"
        f"y = hlo.gather(x, ids) {lookup(1, BATCHED, '1, {width}')}\noutput y",
        f"y[tp, :] = hlo.gather(x[tp, :], ids[tp, :, :]) {lookup(1, BATCHED, '1, {width}')}\noutput y[tp, :]",
        tp=2,
    )
    assert (found.verdict, found.swept) == (Verdict.PROVED, None)


REDUCED = 'g = all_reduce(part) ranks=tp reduce="sum"'


@pytest.mark.parametrize(("end", "proved"), [(REDUCED, True), ("g = mul(part) other=1", False)])
def test_the_gradient_of_a_table(end, proved):
    found = report(
        f"range ids 0 {ROWS - 1}\nids input int32 [4, 8, 1]\ndy input [4, 8, {WIDE}]\n"
        f"zeros = aten.full() size=({ROWS}, {WIDE}) fill_value=0 dtype=\"float32\"\n"
        f"g = hlo.scatter_add(zeros, ids, dy) {ADDED}\noutput g",
        f"part activation [{ROWS}, {WIDE}]\nzeros = aten.full() size=({ROWS}, {WIDE}) fill_value=0 dtype=\"float32\"\n"
        f"part = hlo.scatter_add(zeros, ids[tp, :, :], dy[tp, :, :]) {ADDED}\n{end}\noutput g",
        tp=2,
    )
    assert (found.verdict is Verdict.PROVED) == proved


SLICED = f"""\
range s 0 8
t input [9, {ROWS}, {WIDE}]
s input int32 []
zero activation int32 []
one activation [1, {ROWS}, {WIDE}]
zero = hlo.constant() shape=() values=(0,) dtype="int32"
"""
TAKEN = "one = hlo.dynamic_slice(t, s, zero, zero) sizes=(1, {rows}, {wide})"
HALF = ROWS // 2


@pytest.mark.parametrize(("start", "proved"), [("s", True), ("zero", False)])
def test_a_page_that_data_chooses(start, proved):
    rows = f"one[:, tp, :] = hlo.dynamic_slice(t[:, tp, :], {start}, zero, zero) sizes=(1, {HALF}, {WIDE})"
    found = report(
        f"{SLICED}{TAKEN.format(rows=ROWS, wide=WIDE)}\ny = mul(one) other=2\noutput y",
        f"zero = hlo.constant() shape=() values=(0,) dtype=\"int32\"\n{rows}\n"
        "y[:, tp, :] = mul(one[:, tp, :]) other=2\noutput y[:, tp, :]",
        tp=2,
    )
    assert found.verdict is (Verdict.PROVED if proved else Verdict.REFUTED)
    assert found.swept is None or not proved


@pytest.mark.parametrize(("start", "proved"), [("s", True), ("zero", False)])
def test_a_page_that_is_written(start, proved):
    page = f"p input [1, {ROWS}, {WIDE}]\n"
    found = report(
        f"{SLICED}{page}y = hlo.dynamic_update_slice(t, p, s, zero, zero)\noutput y",
        f"zero = hlo.constant() shape=() values=(0,) dtype=\"int32\"\n"
        f"y[:, tp, :] = hlo.dynamic_update_slice(t[:, tp, :], p[:, tp, :], {start}, zero, zero)\noutput y[:, tp, :]",
        tp=2,
    )
    assert found.verdict is (Verdict.PROVED if proved else Verdict.REFUTED)
    assert found.swept is None or not proved


PARTS = (
    ("hlo.slice(x{0}) starts=(1, 0) limits=(5, {1}) strides=(2, 1)", "[2, {}]"),
    ("hlo.reverse(x{0}) dims=(0,)", "[6, {}]"),
    ("hlo.reverse(x{0}) dims=(-2,)", "[6, {}]"),
    ("hlo.concatenate(x{0}, x{0}) dim=0", "[12, {}]"),
    ("hlo.pad(x{0}, zero) low=(1, 0) high=(-1, 0) interior=(1, 0)", "[11, {}]"),
    ("hlo.update_slice(x{0}, u{0}) starts=(2, 0)", "[6, {}]"),
)
LONG = 4096


@pytest.mark.parametrize(("called", "shape"), PARTS)
@pytest.mark.parametrize("proved", [True, False])
def test_parts_along_one_dimension_of_a_wide_tensor(called, shape, proved):
    given = f"x input [6, {LONG}]\nu input [2, {LONG}]\nzero activation []\n"
    zero = 'zero = hlo.constant() shape=() values=(0,) dtype="float32"\n'
    end = "" if proved else " other=2"
    found = report(
        f"{given}{zero}made activation {shape.format(LONG)}\nmade = {called.format('', LONG)}\n"
        "y = mul(made) other=3\noutput y",
        f"{zero}made[:, tp] = {called.format('[:, tp]', LONG // 2)}\n"
        f"y[:, tp] = mul(made[:, tp]){end or ' other=3'}\noutput y[:, tp]",
        tp=2,
    )
    assert found.verdict is (Verdict.PROVED if proved else Verdict.REFUTED)
    assert found.swept is None or not proved


def test_a_part_along_the_split_dimension_is_not_that_of_the_parts():
    """Each half turned around is not the whole turned around, whatever shapes are reduced."""
    found = report(
        f"x input [6, {LONG}]\ny = hlo.reverse(x) dims=(-1,)\noutput y",
        "y[:, tp] = hlo.reverse(x[:, tp]) dims=(-1,)\noutput y[:, tp]",
        tp=2,
    )
    assert found.verdict is Verdict.REFUTED
