"""Rows in the order of ranks: the plan that is asked instead computes what the given one does, and is not believed."""

from importlib import import_module

import pytest

from tests.values.outline import plans
from verdict.concrete import AGREE, compare
from verdict.options import Options
from verdict.phases import Query, by_rows_of_ranks, walk
from verdict.pipeline import verify
from verdict.report import Verdict
from verdict.residue import by_rank, rows

BODY = """
  {v} = view({x}) size=({rows}, 4) : "v"
  {y} = linear({v}, w) : "y"
  {n}
  {z} = view({y}) size=(4, {places}, 3) : "z"
  {g} = aten.sum.dim_IntList({y}) dim=(0,) : "g"
"""
GIVEN = "\n  x input [4, 4000, 4]\n  w weight [3, 4]\n"
ALONE = {**{name: name for name in ("v", "x", "y", "z", "g")}, "rows": 16000, "places": 4000}
ON_A_RANK = {"v": "vp", "x": "x[:, tp, :]", "y": "yp", "z": "z[:, tp, :]", "g": "gp", "rows": 8000, "places": 2000}


def pair(along="", end="h = all_reduce(gp) ranks=(0, 1)", called='"{}"'):
    """Both plans; along: a node that computes along the rows of one device. called: what nodes of ranks are called
    that make other dimensions, by what those of one device are.
    """
    single = GIVEN + BODY.format(**ALONE, n=along) + "  h = identity(g)\n  output h\n  output z\n"
    ranks = GIVEN + BODY.format(**ON_A_RANK, n="") + f"  {end}\n  output h\n  output z[:, tp, :]\n"
    for name in "vz":
        ranks = ranks.replace(f'"{name}"', called.format(name))
    return plans(single, ranks, tp=2)


def test_both_plans_compute_the_same_in_another_order():
    single, parallel = pair("c = aten.cumsum(y) dim=0")
    found = by_rank(single, parallel)
    (segment,) = found.single.segments
    shapes = [found.single.logicals[found.single.tensors[node.outputs[0]].logical].shape for node in segment.nodes]
    assert (1, 4, 2, 2000, 4) in shapes
    assert (4, 2, 2000, 3) not in shapes
    for one, other in ((single, found.single), (single, found.parallel), (found.single, found.parallel)):
        assert compare(one, other).outcome == AGREE


def test_what_computes_along_rows_gets_them_in_order():
    """A sum of all rows up to each is another one in another order."""
    along = "c = aten.cumsum(y) dim=0\n  k = aten.select.int(c) dim=0 index=7"
    alone = GIVEN + BODY.format(**ALONE, n=along) + "  output k\n  output z\n"
    single, parallel = plans(alone, GIVEN + BODY.format(**ON_A_RANK, n="") + "  output z[:, tp, :]\n", tp=2)
    found = by_rank(single, parallel)
    assert len(found.moved) == 2
    assert compare(single, found.single).outcome == AGREE


@pytest.mark.parametrize("called", ['"{}"', '"{} of a rank"'])
@pytest.mark.parametrize(
    ("end", "verdict"),
    [("h = all_reduce(gp) ranks=(0, 1)", Verdict.PROVED), ("h = identity(gp)", Verdict.REFUTED)],
)
def test_the_verdict_is_that_on_the_given_plans(end, verdict, called):
    report = verify(*pair(end=end, called=called), Options(workers=0))
    assert report.verdict is verdict
    if verdict is Verdict.PROVED:
        assert report.evidence.by.endswith("rows in the order of ranks")
    assert report.parallel.nodes == 10


def test_what_is_proved_is_run_as_it_was_given_once(monkeypatch):
    run, module = [], import_module("verdict.phases.by_rank")
    monkeypatch.setattr(module, "is_borne_out", lambda *pair_and_how: run.append(pair_and_how[:2]))
    given = pair()
    assert verify(*given, Options(workers=0)).verdict is Verdict.PROVED
    assert run == [given]


def test_another_order_than_that_of_ranks_is_not_believed(monkeypatch):
    """Where rows are put back otherwise than they were taken, that is not the single-device plan."""
    right, given = pair(), rows.from_pieces

    def turned(made, first, counts):
        return given(made, first, counts[::-1])

    query = Query(*right, Options(workers=0))
    assert by_rows_of_ranks(query, walk(query)) is not None
    monkeypatch.setattr(rows, "from_pieces", turned)
    assert by_rows_of_ranks(query, walk(query)) is None
    assert verify(*right, Options(workers=0)).verdict is not Verdict.REFUTED


def test_an_axis_of_one_element_between_the_others_is_none_of_them():
    given = GIVEN.replace("[4, 4000, 4]", "[4, 1, 4000, 4]")
    alone = given + BODY.format(**ALONE, n="") + "  h = identity(g)\n  output h\n"
    shares = BODY.format(**{**ON_A_RANK, "x": "x[:, :, tp, :]", "z": "zp"}, n="")
    single, parallel = plans(alone, given + shares + "  h = all_reduce(gp) ranks=(0, 1)\n  output h\n", tp=2)
    assert by_rank(single, parallel) is None


def test_shares_that_are_intervals_stay_as_they_are():
    ranks = BODY.format(**{**ON_A_RANK, "x": "x[tp, :, :]", "z": "zp", "places": 4000}, n="")
    ranks = ranks.replace("(4, 4000", "(2, 4000")
    alone = GIVEN + BODY.format(**ALONE, n="") + "  h = identity(g)\n  output h\n"
    single, parallel = plans(alone, GIVEN + ranks + "  h = all_reduce(gp) ranks=(0, 1)\n  output h\n", tp=2)
    assert by_rank(single, parallel) is None
