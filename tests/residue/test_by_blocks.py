"""Blocks in the order of ranks: with zigzag a rank has two pieces of the positions, which are one interval there.

The plans that are asked instead are not believed: what makes them the given ones is proved of each node.
"""

from dataclasses import replace
from importlib import import_module

import pytest

from tests.values.outline import plans
from verdict.backends.generator import Sizes, generate
from verdict.concrete import AGREE, compare
from verdict.graph import INPUT, Held
from verdict.options import Options
from verdict.outcome import Proved
from verdict.phases import Query
from verdict.phases.by_blocks import by_blocks_of_ranks
from verdict.phases.prove import prove
from verdict.pipeline import verify
from verdict.report import Verdict
from verdict.residue import blocks, by_blocks

GIVEN = "\n  x input [2, {n}, 4]\n  w weight [4, 4]\n  u weight [4, 4]\n"
BODY = """
  {y} = linear({x}, w) : "y"
  {z} = aten.{op} : "z"
  {v} = linear({z}, u) : "v"
  {g} = aten.sum.dim_IntList({v}) dim=(0, 1) : "g"
"""
ALL = "h = all_reduce(gp) ranks=(0, 1)"
WIDE = 4_000_000
ANYWHERE = ["relu({y})", "_softmax({y}) dim=2 half_to_float=False", "cumsum({y}) dim=2", "mul.Tensor({y}, {x})"]
BY_PLACE = ["cumsum({y}) dim=1", "_softmax({y}) dim=1 half_to_float=False"]
IN_ANY_ORDER = ["flip({y}) dims=(1,)", "roll({y}) shifts=(1,) dims=(1,)"]


def pair(op="relu({y})", end=ALL, size=8, gather=""):
    """One device, and two that have positions from the front and from the back each. op: what is done between; gather:
    what makes yp of ys, which the rank makes of its positions.
    """
    b = size // 4
    front, back = f"<0:{b} | {b}:{2 * b}>", f"<{3 * b}:{size} | {2 * b}:{3 * b}>"
    names = {name: name for name in ("x", "y", "z", "v", "g")}
    own = {name: f"{name}p" for name in names}
    given = f"  xp = concatenate(x[:, {front}, :], x'2[:, {back}, :]) dim=1"
    body = BODY.replace("{y} = linear", "ys = linear").replace('"y"', f'"y"\n  {gather}') if gather else BODY
    ranks = GIVEN.format(n=size) + given + body.format(**own, op=op.format(**own)) + f"  {end}\n  output h\n"
    alone = GIVEN.format(n=size) + BODY.format(**names, op=op.format(**names)) + "  h = identity(g)\n  output h\n"
    return plans(alone, ranks, cp=2)


def swapped(plan, device):
    """The plan in which a device has its two pieces the other way round."""
    (segment,) = [each for each in plan.segments if each.device == device]
    nodes = tuple(n._replace(inputs=n.inputs[::-1]) if n.op == "concatenate" else n for n in segment.nodes)
    segments = tuple(each._replace(nodes=nodes) if each == segment else each for each in plan.segments)
    return replace(plan, segments=segments)


def test_ranks_hold_intervals_in_their_order():
    single, parallel = pair()
    given = blocks.given_blocks(single, parallel)
    assert given.blocks.order == (0, 3, 1, 2)
    (logical,) = given.parallel
    regions = [tensor.region[1] for tensor in blocks.in_order(parallel, given).tensors if tensor.logical == logical]
    assert sorted(regions) == [(0, 2), (2, 4), (4, 6), (6, 8)]


@pytest.mark.parametrize(
    ("order", "interval", "held"),
    [((0, 3, 1, 2), (6, 8), (2, 4)), ((0, 3, 1, 2), (3, 4), (5, 6)), ((0, 3, 1, 2), (2, 6), (4, 8)),
     ((0, 3, 1, 2), (0, 4), None), ((0, 3, 1, 2), (0, 8), None), ((0, 1, 3, 2), (1, 4), (1, 4))],
)  # fmt: skip
def test_intervals_in_the_order_of_ranks(order, interval, held):
    assert blocks.Blocks(8, order).held(interval) == held


@pytest.mark.parametrize("op", [*ANYWHERE, *BY_PLACE, *IN_ANY_ORDER])
def test_both_plans_compute_the_same_in_the_order_of_ranks(op):
    """Where the parallel plan is right, the pair that is asked instead agrees, and where it is wrong it does not."""
    single, parallel = pair(op)
    found = by_blocks(single, parallel)
    outcome = compare(single, parallel).outcome
    assert compare(found.single, found.parallel).outcome == outcome
    assert (outcome == AGREE) == (op not in BY_PLACE)


@pytest.mark.parametrize("op", ANYWHERE)
@pytest.mark.parametrize("size", [8, WIDE])
@pytest.mark.parametrize(("end", "right"), [(ALL, True), ("h = identity(gp)", False)])
def test_the_verdict_is_that_on_the_given_plans(op, size, end, right):
    report = verify(*pair(op, end, size), Options(workers=0), causes=False)
    assert report.verdict is (Verdict.PROVED if right else Verdict.REFUTED)
    assert report.evidence.by.endswith("blocks in the order of ranks") == right


@pytest.mark.parametrize(("op", "size"), [*((op, 8) for op in BY_PLACE), (BY_PLACE[-1], WIDE)])
def test_what_computes_along_positions_is_no_part_on_each_rank(op, size):
    assert verify(*pair(op, size=size), Options(workers=0), causes=False).verdict is not Verdict.PROVED


def test_pieces_the_other_way_round_are_the_same_where_order_does_not_count():
    single, parallel = pair()
    assert verify(single, swapped(parallel, 1), Options(workers=0)).verdict is Verdict.PROVED


def test_the_slow_mode_says_the_same():
    for end, verdict in ((ALL, Verdict.PROVED), ("h = identity(gp)", Verdict.REFUTED)):
        assert verify(*pair(end=end), Options(workers=0, exhaustive=True), causes=False).verdict is verdict


def test_that_a_node_may_work_in_another_order_is_proved(monkeypatch):
    """Ranks that add up in their own order are wrong; a plan that did so on one device would be, too."""
    gather = "yp = all_gather(ys) ranks=(0, 1) dim=1"
    single, parallel = pair("cumsum({y}) dim=1", "h = identity(gp)", gather=gather)
    module = import_module("verdict.residue.by_blocks")
    monkeypatch.setattr(import_module("verdict.phases.by_blocks"), "difference_at_own_shapes", lambda *pair: None)
    monkeypatch.setattr(module, "_fixed", lambda node, plan: set())
    query = Query(single, parallel, Options(workers=0))
    outcomes = prove(tuple(by_blocks(single, parallel).questions), 1, query.options, {})
    assert not all(isinstance(outcome, Proved) for outcome in outcomes)
    assert by_blocks_of_ranks(query) is None
    assert verify(single, parallel, Options(workers=0), causes=False).verdict is Verdict.REFUTED


def test_what_is_declared_besides_is_not_given_in_another_order():
    single, parallel = pair()
    (segment,) = single.segments
    given = next(tensor for node in segment.nodes for tensor in node.inputs if single.kind(tensor) == INPUT)
    assert blocks.given_blocks(replace(single, outputs=(*single.outputs, Held(0, given))), parallel) is None


def test_positions_of_no_samples_are_in_any_order():
    """Rows that are flattened have no blocks where there are none."""
    body = "  {v} = view({x}) size=(0, 4)\n  {h} = aten.sum.dim_IntList({v}) dim=(0,)\n"
    given = GIVEN.format(n=8).replace("[2, 8, 4]", "[0, 8, 4]")
    ranks = "  xp = concatenate(x[:, <0:2 | 2:4>, :], x'2[:, <6:8 | 4:6>, :]) dim=1\n"
    ranks += body.format(x="xp", v="vp", h="hp")
    single, parallel = plans(
        given + body.format(x="x", v="v", h="h") + "  output h\n",
        given + ranks + "  h = all_reduce(hp) ranks=(0, 1)\n  output h\n",
        cp=2,
    )
    assert by_blocks(single, parallel) is not None
    assert verify(single, parallel, Options(workers=0)).verdict is not Verdict.REFUTED


RING = {"dp": 1, "tp": 1, "pp": 1, "cp": 2, "seq": 8, "layers": 1, "microbatches": 1, "batch": 2, "heads": 2}
SIZES = {"hidden": 4, "ffn": 4, "vocab": 4, "zigzag": True}


def test_ring_attention_on_two_pieces_is_decided_between_cut_points():
    single, parallel = generate("llama3", Sizes(**RING, **SIZES))
    report = verify(single, parallel, Options(workers=0))
    assert report.verdict is Verdict.PROVED
    assert report.evidence.by == "walk, sweep between its cut points, blocks in the order of ranks"
    freqs = [k for k, tensor in enumerate(parallel.tensors) if parallel.logicals[tensor.logical].name == "freqs"]
    tensors = list(parallel.tensors)
    tensors[freqs[0]], tensors[freqs[1]] = tensors[freqs[1]], tensors[freqs[0]]
    turned = replace(parallel, tensors=tuple(tensors))
    assert verify(single, turned, Options(workers=0), causes=False).verdict is Verdict.REFUTED
