"""A pair that is asked with few of its layers: PROVED is said of all, and it is what the slow way says."""

from dataclasses import replace
from functools import partial

import pytest

from tests.layers.chains import chain
from tests.layers.pairs import LAYERS, SHAPES, ZIGZAG, pair
from verdict import pipeline
from verdict.errors import PlanFileError, PlanMismatchError
from verdict.graph import WEIGHT
from verdict.layers import KEPT, fewer_layers
from verdict.lineage import INPUT_RANGES, bind
from verdict.mutate import KINDS, mutate
from verdict.options import Options
from verdict.phases import Query, by_blocks, by_layers
from verdict.phases.by_blocks import by_blocks_of_ranks
from verdict.phases.by_layers import MANY_STEPS, by_few_layers
from verdict.pipeline import verify
from verdict.report import Verdict
from verdict.report.statistics import statistics

MUTANTS = 1
DEFAULT = Options()


def few(single, parallel, options=DEFAULT, least=0):
    return by_few_layers(Query(single, parallel, options), least)


@pytest.mark.parametrize("name", SHAPES)
def test_it_says_of_all_layers_what_is_said_without_it(name):
    single, parallel = pair(name)
    found = few(single, parallel).examined
    slow = verify(single, parallel, Options())
    assert slow.verdict is Verdict.PROVED
    assert found.report.verdict is Verdict.PROVED
    for said in ("single", "parallel", "due", "losses", "gradients", "outputs", "findings", "open"):
        assert getattr(found.report, said) == getattr(slow, said), said
    assert found.report.evidence.outputs == slow.evidence.outputs
    layers = fewer_layers(single, parallel, bind(single, parallel)).layers
    assert found.report.evidence.by == f"{slow.evidence.by}, of {KEPT} of {layers} equal layers"
    assert any(line.startswith(f"{KEPT} of {layers} equal layers") for line in statistics(found.report))
    assert not any("equal layers" in line for line in statistics(slow))
    assert {one.name for one in found.report.assumptions} == {one.name for one in slow.assumptions}


def test_so_it_does_of_blocks_in_the_order_of_ranks(monkeypatch):
    """The first layer of ranks makes the masks that all use, and is no inner one."""
    query = Query(*pair(ZIGZAG))
    slow = by_blocks_of_ranks(query).report
    assert slow.evidence.layers == (0, 0)
    monkeypatch.setattr(by_blocks, "by_few_layers", partial(by_few_layers, least=0))
    found = by_blocks_of_ranks(query).report
    assert found.verdict is slow.verdict is Verdict.PROVED
    assert found.evidence.outputs == slow.evidence.outputs
    assert found.evidence.layers[0] == KEPT
    assert found.evidence.layers[1] < LAYERS
    assert few(*pair(ZIGZAG)).examined is None


def test_what_is_assumed_of_all_layers_is_told_of_all():
    """As what is stated of a state that each layer has."""
    single, parallel = (replace(one, ranges=ranges_of(one)) for one in pair("plain"))
    (stated,) = [one for one in few(single, parallel).examined.report.assumptions if one.name == INPUT_RANGES]
    (known,) = [one for one in verify(single, parallel, Options()).assumptions if one.name == INPUT_RANGES]
    assert stated == known
    assert all(f"layers.{k}." in stated.text for k in range(LAYERS))


def ranges_of(plan):
    return tuple(dict.fromkeys((one.name, 0, None) for one in plan.logicals if one.kind == WEIGHT))


def test_small_plans_are_asked_as_they_are():
    single, parallel = pair("plain")
    assert sum(len(segment.nodes) for segment in parallel.segments) < MANY_STEPS
    assert few(single, parallel, least=MANY_STEPS) == (None, None)


@pytest.mark.parametrize("options", [Options(exhaustive=True), Options(assume=frozenset({"chunk-order"}))])
def test_so_are_those_of_which_all_is_to_be_looked_at(options):
    assert few(*pair("plain"), options) == (None, None)


def test_what_is_denied_is_asked_of_the_whole_pair():
    single, parallel = pair("plain")
    options = Options(denied=frozenset({"real-arithmetic"}))
    assert few(single, parallel, options).examined is None


@pytest.mark.parametrize("error", [PlanFileError, PlanMismatchError])
def test_what_few_layers_alone_lack_is_no_matter(monkeypatch, error):
    def lacks(*_):
        raise error("parallel", "nothing in common", "look at the whole")

    monkeypatch.setattr(by_layers, "fewer_layers", lacks)
    found = few(*pair("plain"))
    assert found.examined is None
    assert found.admitted is not None


def test_the_story_asks_few_layers_first_and_then_the_whole(monkeypatch):
    single, parallel = pair("plain")
    (wrong,) = mutate(parallel, 1, 1, ["drop-collective"])
    monkeypatch.setattr(pipeline, "by_few_layers", partial(by_few_layers, least=0))
    right = verify(single, parallel, DEFAULT)
    assert (right.verdict, right.evidence.layers[0]) == (Verdict.PROVED, KEPT)
    refuted = verify(single, wrong.plan, DEFAULT, causes=False)
    assert (refuted.verdict, refuted.evidence.layers) == (Verdict.REFUTED, (0, 0))


def test_the_door_is_passed_once():
    found = few(*pair("plain"))
    assert found.admitted is not None
    assert found.admitted.structural == ()


@pytest.mark.parametrize("layers", [16, 17])
def test_layers_that_are_right_together_alone_are_no_proof_of_more(layers):
    """Two devices exchange their rows behind each layer: an even number of layers is right, an odd one is wrong."""
    single, crossed = chain(layers), chain(layers, 2, exchange=True)
    assert few(single, crossed).examined is None
    assert verify(single, crossed, Options()).verdict is (Verdict.REFUTED if layers % 2 else Verdict.PROVED)
    straight = few(single, chain(layers, 2)).examined
    assert straight.report.verdict is Verdict.PROVED


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_a_fault_is_never_proved_by_the_other_layers(kind):
    """Faults at random places: what few layers prove, all layers prove, too."""
    single, parallel = pair("plain")
    for mutant in mutate(parallel, 1, MUTANTS, [kind]):
        try:
            found = few(single, mutant.plan).examined
        except (PlanFileError, PlanMismatchError):
            continue
        if found is not None:
            assert verify(single, mutant.plan, Options()).verdict is Verdict.PROVED
