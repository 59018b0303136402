"""The beginning of a long plan is looked at first: what is refused there is refused of all layers that are alike."""

from functools import cache

import pytest

from tests.builders import FAST
from tests.residue import test_tiles
from verdict.backends.generator import Sizes, generate
from verdict.lineage import bind, reference
from verdict.lineage.grounds import grounds_of
from verdict.observer import Phase
from verdict.options import Options
from verdict.phases import Query, walk
from verdict.phases.between import between_cut_points
from verdict.report import Verdict

pytestmark = pytest.mark.usefixtures("shared_proofs")

OPTIONS = Options(workers=0, solver=FAST)


class Walks:
    """Counts the walks that guess, to the end of a plan."""

    def __init__(self):
        self.ended = 0

    def begin(self, phase, given=None):
        pass

    def advance(self, phase, done, total, counted):
        self.ended += phase is Phase.SWEEP and counted == "nodes" and done == total


def asked(monkeypatch, pair, early=0.3, long=0):
    """What is said of a pair, whose beginning is looked at or not, and how often all of it was walked.

    No guess is tried on numbers, as of plans that are too large for that.
    """
    monkeypatch.setattr("verdict.residue.residue.EARLY", early)
    monkeypatch.setattr("verdict.residue.residue.LONG", long)
    monkeypatch.setattr("verdict.residue.residue.held", lambda *_: None)
    walks = Walks()
    examined = walk(Query(*pair, OPTIONS))
    found = between_cut_points(Query(*pair, OPTIONS, walks), examined)
    return None if found is None else found.report.verdict, walks.ended


@cache
def layers():
    return generate("llama3", Sizes(**{**test_tiles.RING, "layers": 3}))


def test_what_is_wrong_in_each_layer_costs_one_look_at_the_first(monkeypatch):
    """A ring attention mixes values by powers that are no probabilities yet: a guess that is wrong in each layer."""
    assert asked(monkeypatch, layers(), long=1_000_000) == (Verdict.PROVED, 2)
    assert asked(monkeypatch, layers()) == (Verdict.PROVED, 1)


def test_a_beginning_without_cut_points_refuses_nothing(monkeypatch):
    assert asked(monkeypatch, layers(), early=0.01) == (Verdict.PROVED, 2)


def test_no_fault_is_proved_behind_an_early_look(monkeypatch):
    monkeypatch.setattr("verdict.residue.residue.EARLY", 0.5)
    monkeypatch.setattr("verdict.residue.residue.LONG", 0)
    test_tiles.test_no_fault_is_proved_on_tiles()


def test_forms_tell_layers_apart_by_nothing_but_numbers():
    single, parallel = layers()
    table = reference(single, parallel.columns, bind(single, parallel).batch)
    grounds = grounds_of(table, parallel)
    made = {tensor: node.name for tensor, node in grounds.makers.items() if node.op == "exp"}
    forms = {grounds.form(tensor, ()) for tensor in made}
    assert {name.split(".")[1] for name in made.values()} == {"0", "1", "2"}
    assert {name for _, name, _ in forms} == {f"layers.#.{name.split('.', 2)[2]}" for name in made.values()}
