"""HLO's gather and scatter of large tables are followed index by index, and proved at reduced shapes."""

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
