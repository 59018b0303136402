"""What is proved of few layers is so of all where it is the same from layer to layer: each way in which it is not."""

from dataclasses import replace
from functools import cache

import pytest

from tests.layers.pairs import pair
from verdict.graph import ABSENT
from verdict.layers import KEPT, carries, fewer_layers
from verdict.layers.stack import OUTSIDE
from verdict.lineage import bind, reference
from verdict.phases import Query, walk
from verdict.phases.between import between_cut_points

MIDDLE = KEPT // 2


@cache
def walked():
    """A pair with few layers, its walk, and the whole single-device plan as a table."""
    single, parallel = pair("clipped")
    binding = bind(single, parallel)
    found = fewer_layers(single, parallel, binding)
    examined = walk(Query(found.single.plan, found.parallel.plan))
    return found, examined.walks[0], reference(single, parallel.columns, binding.batch)


@cache
def swept():
    """The same with what is decided between cut points."""
    single, parallel = pair("ring")
    binding = bind(single, parallel)
    found = fewer_layers(single, parallel, binding)
    query, kept = Query(found.single.plan, found.parallel.plan), []
    between_cut_points(query, walk(query), is_enough=lambda decided: not kept.append(decided))
    return found, kept[0], reference(single, parallel.columns, binding.batch)


def is_so(found, walk, decided, table):
    return carries(found, walk, decided, lambda: table)


def of_layer(found, walk, layer):
    """A tensor of a layer that device 0 holds a share of, and what it holds."""
    held = walk.held[0].items()
    return next((t, value) for t, value in held if found.parallel.layer[t] == layer and value and len(value) == 1)


def with_held(walk, tensor, value):
    return replace(walk, held=({**walk.held[0], tensor: value}, *walk.held[1:]))


def test_what_is_the_same_of_all_inner_layers_is_so_of_all():
    found, walk, table = walked()
    assert is_so(found, walk, None, table)


@pytest.mark.parametrize("layer", range(1, KEPT - 1))
def test_another_value_in_one_inner_layer_is_not(layer):
    found, walk, table = walked()
    tensor, (share,) = of_layer(found, walk, layer)
    for value in ((share._replace(times=2),), (share, share), (share._replace(spread=2),), None, ()):
        assert not is_so(found, with_held(walk, tensor, value), None, table)


def test_nor_is_the_value_of_the_layer_before():
    found, walk, table = walked()
    tensor, (share,) = of_layer(found, walk, MIDDLE)
    row = found.parallel.row[tensor]
    places = zip(found.parallel.row, found.parallel.layer, strict=True)
    before = next(t for t, place in enumerate(places) if place == (row, MIDDLE - 1))
    (other,) = walk.held[0][before]
    assert other.base != share.base
    assert not is_so(found, with_held(walk, tensor, (other,)), None, table)


def test_nor_is_what_nothing_is_said_of_in_one_layer():
    found, walk, table = walked()
    tensor, _ = of_layer(found, walk, MIDDLE)
    held = {t: value for t, value in walk.held[0].items() if t != tensor}
    assert not is_so(found, replace(walk, held=(held, *walk.held[1:])), None, table)


def test_a_sum_of_all_layers_has_the_same_of_each():
    found, walk, table = walked()
    outside = found.parallel.layer == OUTSIDE
    total, value = max(walk.held[0].items(), key=lambda each: len(each[1] or ()) if outside[each[0]] else 0)
    assert len(value) > KEPT * 4
    layers = {base: found.single.layer[t] for t, bases in walk.reference.values.items() for base in bases[:1]}
    (lost, *_) = [share for share in value if layers[share.base] == MIDDLE]
    without = tuple(share for share in value if share != lost)
    assert not is_so(found, with_held(walk, total, without), None, table)
    twice = tuple(sorted((*value, lost)))
    assert not is_so(found, with_held(walk, total, twice), None, table)


def test_guesses_are_asked_for_what_was_proved_of_them():
    found, walk, table = walked()
    tensor, value = of_layer(found, walk, MIDDLE)
    assert not is_so(found, replace(walk, cuts={(0, tensor): value}), None, table)


def test_islands_that_are_the_same_of_all_inner_layers_are_those_of_all():
    found, decided, table = swept()
    assert len(decided.islands) >= KEPT
    assert is_so(found, decided.walk, decided, table)


def of_inner(found, decided):
    """The places of islands that lie in inner layers alone."""
    layer = found.parallel.layer
    for place, island in enumerate(decided.islands):
        layers = {int(layer[tensor]) for _, tensor in island.due}
        if all(1 < each < KEPT - 2 for each in layers):
            yield place


def test_an_island_that_asks_something_else_in_one_layer_does_not():
    found, decided, table = swept()
    place = next(of_inner(found, decided))
    turned = decided.pairs[place]._replace(single=decided.pairs[place].parallel)
    pairs = tuple(turned if k == place else each for k, each in enumerate(decided.pairs))
    assert not is_so(found, decided.walk, replace(decided, pairs=pairs), table)


def test_nor_does_one_that_is_given_something_else_in_one_layer():
    found, decided, table = swept()
    place = next(of_inner(found, decided))
    island = decided.islands[place]
    few = replace(island, given=dict([*island.given.items()][1:]))
    islands = tuple(few if k == place else each for k, each in enumerate(decided.islands))
    assert not is_so(found, decided.walk, replace(decided, islands=islands), table)


def test_nor_does_one_that_reaches_over_many_layers():
    found, decided, table = swept()
    ends = [k for k, layer in enumerate(found.parallel.layer) if layer == KEPT - 1]
    far = {(0, ends[0]): ()}
    islands = tuple(replace(each, given={**each.given, **far}) for each in decided.islands)
    assert not is_so(found, decided.walk, replace(decided, islands=islands), table)


def test_nor_does_a_guess_in_one_layer_alone():
    found, decided, table = swept()
    layer = found.parallel.layer
    cut = next(cut for cut in decided.walk.cuts if layer[cut[1]] == MIDDLE)
    cuts = {each: value for each, value in decided.walk.cuts.items() if each != cut}
    assert not is_so(found, replace(decided.walk, cuts=cuts), decided, table)


def test_what_is_known_of_values_is_the_same_in_the_whole_plan():
    """Islands are proved of numbers: where only the whole plan says that an input may be none, they are not."""
    found, decided, table = swept()
    given = next(logical.name for logical in table.plan.logicals if logical.kind == "weight")
    plan = replace(table.plan, doubtful=(given,))
    assert not is_so(found, decided.walk, decided, reference(plan, table.columns, table.batch))
    assert ABSENT not in found.single.tensors
