"""What rests on how many layers there are: few of them prove nothing of it, whatever the walk or an island says."""

import pytest

from tests.layers.strands import SHAPE, strands
from verdict.graph import INPUT
from verdict.layers import fewer_layers
from verdict.layers.moving import moving
from verdict.lineage import bind, reference
from verdict.options import Options
from verdict.phases import Query
from verdict.phases.by_layers import by_few_layers
from verdict.pipeline import verify
from verdict.report import Verdict

LAYERS = 14
SEEM = 9
"""How many layers a plan of 14 has with few of them: eight equal ones, and one that looks different."""
DEPTH = 8


def one_for_all(plan):
    return plan.node("tanh", (plan.x,), "one")


def two_for_all(plan):
    return one_for_all(plan), plan.node("exp", (plan.x,), "base")


def as_many(plan):
    return tuple(plan.node("add", (plan.x,), f"begin {k}", other=float(k + 1)) for k in range(DEPTH + 1))


def unchanged(plan, k, strand):
    return strand


def copied(plan, k, strand):
    """Each layer computes the same of what all of them read."""
    return (*strand, plan.node("sigmoid", (plan.x,), f"copy.{k}")) if isinstance(strand, tuple) else strand


def negated(plan, k, strand):
    return plan.node("neg", (strand,), f"turned.{k}")


def added(plan, k, strand):
    """Each layer adds what is the same for all."""
    one, total = strand
    return one, plan.node("add", (total, one), f"total.{k}")


def handed_on(plan, k, strand):
    """Each layer hands on what those before it made, over so many layers."""
    moved = (plan.node("mul", (one,), f"handed {place}.{k}", other=1.0) for place, one in enumerate(strand[:DEPTH]))
    return plan.own[-1], *moved


def with_own(plan, k, strand):
    """Each layer makes a sum of its own and of what is the same for all."""
    one, *sums = strand
    return one, *sums, plan.node("add", (one, plan.own[-1]), f"sum.{k}")


def summed(plan, tensors):
    return plan.node("accumulate", tensors, "all")


def the_copies(plan, first, strand):
    return summed(plan, strand)


def copies_as_seem(plan, first, strand):
    return summed(plan, [plan.node("sigmoid", (plan.x,), "copy")] * SEEM)


def the_last(plan, first, strand):
    return strand


def bent(plan, first, strand):
    return plan.node("tanh", (strand,), "bent")


def turned_as_seems(plan, first, strand):
    return bent(plan, first, plan.node("neg", (first,), "turned"))


def the_total(plan, first, strand):
    return strand[1]


def total_as_seems(plan, first, strand):
    one, base = first
    return summed(plan, [base, *[one] * SEEM])


def those_handed_on(plan, first, strand):
    return summed(plan, strand)


def all_of_their_own(plan, first, strand):
    return summed(plan, plan.own)


def the_oldest(plan, first, strand):
    return strand[-1]


def that_of_the_first_layer(plan, first, strand):
    return plan.own[0]


def the_sums(plan, first, strand):
    return summed(plan, strand[1:])


def sums_as_seem(plan, first, strand):
    return summed(plan, [*plan.own, *[first[0]] * SEEM])


WRONG = {
    "a sum of what all layers share": (lambda plan: (), copied, the_copies, copies_as_seem),
    "the same in the single-device plan": (lambda plan: (), copied, copies_as_seem, the_copies),
    "what is turned in each layer": (one_for_all, negated, bent, turned_as_seems),
    "what is added to in each layer": (two_for_all, added, the_total, total_as_seems),
    "a sum of what was handed on": (as_many, handed_on, those_handed_on, all_of_their_own),
    "what was handed on over many layers": (as_many, handed_on, the_oldest, that_of_the_first_layer),
    "addends of the layers' own sums": (lambda plan: (one_for_all(plan),), with_own, the_sums, sums_as_seem),
}


def few(single, parallel):
    return by_few_layers(Query(single, parallel, Options()), 0).examined


@pytest.mark.parametrize("name", WRONG)
def test_what_is_right_of_few_layers_alone_is_not_proved(name):
    begin, carry, right, wrong = WRONG[name]
    single = strands(LAYERS, begin, carry, right)
    for parallel in (strands(LAYERS, begin, carry, wrong), strands(LAYERS, begin, unchanged, wrong)):
        assert few(single, parallel) is None
        assert verify(single, parallel, Options()).verdict is Verdict.REFUTED
    twin = strands(LAYERS, begin, carry, right)
    assert verify(single, twin, Options()).verdict is Verdict.PROVED


def add_up(plan, k, strand):
    return plan.node("add", (strand, plan.own[-1]), f"total.{k}")


def sum_of_all(plan, first, strand):
    return summed(plan, [first, *plan.own])


RIGHT = {
    "what is turned in each layer": (one_for_all, negated, bent, negated, bent),
    "a stream to which each layer adds": (one_for_all, add_up, the_last, add_up, the_last),
    "a sum of all layers": (one_for_all, unchanged, sum_of_all, unchanged, sum_of_all),
    "the stream as a sum of all layers": (one_for_all, add_up, the_last, unchanged, sum_of_all),
}


@pytest.mark.parametrize("name", RIGHT)
def test_what_is_so_of_each_layer_is_proved_of_all(name):
    begin, carry, end, other, last = RIGHT[name]
    found = few(strands(LAYERS, begin, carry, end), strands(LAYERS, begin, other, last))
    assert found.report.verdict is Verdict.PROVED


def tall(plan):
    """More rows than a plan with few layers has layers."""
    return plan.given("tall", INPUT, TALL)


def moved_on(plan, k, strand):
    """Each layer moves all rows on by one."""
    return rolled(plan, strand, 1, k)


def moved_there_and_back(plan, k, strand):
    return rolled(plan, rolled(plan, strand, 1, k), -1, k)


def rolled(plan, tensor, rows, name):
    return plan.node("aten.roll", (tensor,), f"moved by {rows}.{name}", TALL, shifts=(rows,), dims=(0,))


def in_place(plan, first, strand):
    return rows_of(plan, plan.node("tanh", (strand,), "tanh", TALL), 0, SHAPE[0])


def moved_by(rows):
    """All rows are moved on at the end, by other operators than in a layer."""

    def end(plan, first, strand):
        parts = [rows_of(plan, strand, *cut) for cut in ((TALL[0] - rows, TALL[0]), (0, TALL[0] - rows))]
        return in_place(plan, first, plan.node("concatenate", parts, "joined", TALL, dim=0))

    return end


def rows_of(plan, tensor, start, end):
    attrs = {"dim": 0, "start": start, "end": end, "step": 1}
    return plan.node("aten.slice.Tensor", (tensor,), f"rows {start} to {end}", (end - start, SHAPE[1]), **attrs)


def flat(plan, k, strand, beside):
    """Each layer joins a tensor and another one: that is no region of a value."""
    return (*strand, plan.node("concatenate", (beside, strand[0]), f"flat.{k}", (2 * SHAPE[0], SHAPE[1]), dim=0))


def flat_of_shared(plan, k, strand):
    return flat(plan, k, strand, plan.x)


def flat_of_own(plan, k, strand):
    return (*strand, plan.node("concatenate", [plan.own[-1]] * 2, f"flat.{k}", (2 * SHAPE[0], SHAPE[1]), dim=0))


def part_of_the_sum(plan, first, strand):
    return rows_of(plan, plan.node("accumulate", strand[1:], "flat", (2 * SHAPE[0], SHAPE[1])), 0, SHAPE[0])


def part_but_of_the_last(plan, first, strand):
    return part_of_the_sum(plan, first, strand[:-1])


def shared_as_seem(plan, first, strand):
    return summed(plan, [plan.x] * SEEM)


TALL = (5 * SHAPE[0], SHAPE[1])
MOVED = {
    "what is moved on in each layer": (
        tall, (unchanged, in_place), (moved_on, moved_by(TALL[0] - SEEM)), (moved_there_and_back, in_place)
    ),
    "the same on the single device": (
        tall, (moved_on, in_place), (unchanged, moved_by(SEEM)), (moved_on, in_place)
    ),
    "a part of a sum of what all layers share": (
        lambda plan: (one_for_all(plan),),
        (unchanged, shared_as_seem), (flat_of_shared, part_of_the_sum), (unchanged, shared_as_seem)
    ),
    "a part of a sum of what is their own": (
        lambda plan: (one_for_all(plan),),
        (unchanged, all_of_their_own), (flat_of_own, part_but_of_the_last), (flat_of_own, part_of_the_sum)
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", MOVED)
def test_elements_that_are_elsewhere_in_each_layer_are_not_proved(name):
    """They are known one by one, and the tensors that they are in are no regions of one value."""
    begin, *each = MOVED[name]
    single, wrong, right = (strands(LAYERS, begin, *one) for one in each)
    assert few(single, wrong) is None
    assert verify(single, wrong, Options()).verdict is Verdict.REFUTED
    assert few(single, right).report.verdict is Verdict.PROVED


def values_of(begin, carry, end):
    plan = strands(LAYERS, begin, carry, end)
    found = fewer_layers(plan, plan, bind(plan, plan))
    return moving(found.single, reference(found.single.plan, 1, {}))


def test_values_of_layers_are_made_there_or_beside_them():
    assert values_of(one_for_all, add_up, the_last) is not None
    assert values_of(two_for_all, added, the_total) is None
    assert values_of(as_many, handed_on, the_oldest) is None
