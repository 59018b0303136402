"""Questions asked in further ways: all agree, and one that is wrong, has no time or does not decide is told apart."""

import json
import sys
from collections import Counter

import pytest

pytest.importorskip("torch")

from scripts.campaign import numbers
from scripts.campaigns import plans, ways
from scripts.campaigns.lines import CONTRADICTION, CRASH, FAILURES, Line, asked
from scripts.campaigns.makers import COUNTS, ENDLESS, maker
from scripts.campaigns.pairs import PAIRS
from scripts.campaigns.ways import EXHAUSTIVE, LESS, MORE, NO_TIME, SAME, SWEEP, WALK, WAYS, compared, of_ways
from verdict.backends.text import read
from verdict.comparison import AGREE
from verdict.outcome import Proved
from verdict.stage.run import run

SEED, FAMILIES = 8, ("mlp tp4", "mlp step flat dp2")


def lines_of(count, out, families=FAMILIES, kinds=(), also=WAYS):
    campaign = maker("plans", SEED, families, kinds, also)()
    return [line for n in range(count) if (line := asked(campaign, SEED, n, out)) is not None]


def counted(lines):
    """How often each way says what beside the campaign."""
    found = {}
    for line in lines:
        for way, told in json.loads(line.ways).items():
            found.setdefault(way, Counter())[compared(line.verdict, told)] += 1
    return found


def test_all_ways_agree(tmp_path):
    lines = lines_of(24, tmp_path)
    assert [line for line in lines if line.outcome in FAILURES] == []
    assert {line.verdict for line in lines} == {"PROVED", "REFUTED", "REFUSED"}
    assert counted(lines) == {way: {SAME: 18} for way in WAYS}
    assert len(lines) == 18


def test_a_short_cut_that_proves_what_is_wrong_is_found(tmp_path, monkeypatch):
    """Where the run is not exhaustive stages are proved unseen, and no run on numbers sees anything."""

    def careless(stage, columns, options, exhaustive=False):
        return run(stage, columns, options, exhaustive) if exhaustive else Proved()

    monkeypatch.setattr(sys.modules["verdict.phases.prove"], "run", careless)
    monkeypatch.setattr(plans, "truth", lambda: lambda *pair: (AGREE, ""))
    lines = lines_of(4, tmp_path, ("mlp step adamw zero1 dp2",), ("change-rate",))
    assert {(line.verdict, line.outcome) for line in lines} == {("PROVED", CONTRADICTION)}
    assert counted(lines) == {EXHAUSTIVE: {CONTRADICTION: 4}, WALK: {SAME: 4}, SWEEP: {CONTRADICTION: 4}}
    folder = tmp_path / "failures" / f"contradiction-plans-{SEED}-{lines[0].number}"
    pair = [read((folder / f"{side}.plan").read_bytes(), side) for side in ("single", "parallel")]
    assert ways.asked(SWEEP, pair, plans.OPTIONS).startswith("REFUTED")
    assert f"- contradiction: plans {SEED} {lines[0].number}" in of_ways(lines)


def test_a_way_that_has_no_time_or_does_not_decide_is_no_contradiction(tmp_path, monkeypatch):
    (line, *_) = lines_of(8, tmp_path, ("mlp step flat dp2",), ("exchange-tensors",), (WALK,))
    assert counted([line]) == {WALK: {LESS: 1}}
    monkeypatch.setattr(ways, "SECONDS", 1e-4)
    lines = lines_of(4, tmp_path, ("mlp tp4",), also=(SWEEP,))
    assert counted(lines) == {SWEEP: {NO_TIME: len(lines)}}
    assert [line for line in lines if line.outcome in FAILURES] == []


@pytest.mark.parametrize(
    ("verdict", "told", "found"),
    [
        ("PROVED", "PROVED: ", SAME),
        ("PROVED", "REFUTED: wrong-slice", CONTRADICTION),
        ("REFUTED", "PROVED: ", CONTRADICTION),
        ("REFUSED", "UNKNOWN: loss: open", CONTRADICTION),
        ("UNKNOWN", "REFUSED: no plan", CONTRADICTION),
        ("PROVED", "UNKNOWN: loss: open", LESS),
        ("UNKNOWN", "REFUTED: wrong-slice", MORE),
        ("REFUTED", "LIMIT: TooLong", NO_TIME),
        ("TIMEOUT", "PROVED: ", NO_TIME),
        ("PROVED", "CRASH: KeyError(1)", CRASH),
        ("CRASH", "PROVED: ", CRASH),
    ],
)
def test_what_two_verdicts_are_to_each_other(verdict, told, found):
    assert compared(verdict, told) == found


def test_lines_that_were_asked_in_one_way_have_no_table():
    assert of_ways([Line("plans", 3, 1, "mlp", "drop", "killed", "REFUTED", "differ", "", "", "", 0.1)]) == ""


def test_pairs_are_asked_once_each_and_only_where_they_are_named(tmp_path):
    assert COUNTS["pairs"] == len(PAIRS) > 60
    assert "pairs" not in ENDLESS
    halves = [list(numbers((shard, 2), len(PAIRS))) for shard in (0, 1)]
    assert sorted(halves[0] + halves[1]) == list(range(len(PAIRS)))
    place = list(PAIRS).index("family: mlp tp4")
    line = asked(maker("pairs", SEED, (), (), (EXHAUSTIVE, WALK))(), SEED, place, tmp_path)
    assert (line.verdict, line.truth, line.outcome) == ("PROVED", AGREE, "equivalent")
    assert counted([line]) == {EXHAUSTIVE: {SAME: 1}, WALK: {SAME: 1}}
