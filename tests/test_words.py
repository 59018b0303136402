"""Words for ranks and lists, and findings that become one."""

from verdict.graph import Place
from verdict.graph.names import alike, patterned
from verdict.outcome import Finding, Mismatch, Refuted, Spot, joined
from verdict.words import listed, ranks_text


def test_ranks_in_a_row_are_a_range():
    assert ranks_text([3]) == "rank 3"
    assert ranks_text([0, 1]) == "ranks 0, 1"
    assert ranks_text([0, 1, 2, 5]) == "ranks 0 to 2, 5"
    assert ranks_text([0, 1, 2, 5], "-") == "ranks 0-2, 5"
    assert ranks_text([1, 0]) == "ranks 1, 0", "in the order of the group"


def test_long_lists_end_in_dots():
    assert ranks_text(range(0, 40, 2)).endswith("12, 14, ...")
    assert listed(["a", "b"], 2) == "a, b"
    assert listed(["a", "b", "c"], 2, "; ") == "a; b; ..."


def test_layers_are_alike():
    assert alike("layers.0.wo") == alike("layers.12.wo") != alike("layers.0.wq")


def test_findings_of_one_cause_become_one():
    places = [Place(device, 0, f"relu_{device}", "relu") for device in (2, 0)]
    both = [Finding("code", f"title {p.device}", p.spelled, ranks=(p.device,), evidence=p) for p in places]
    found = joined(both[0], both[1:], ["a note"])
    assert (found.title, found.where, found.extent) == ("title 2", "relu relu_2 on rank 2", 2)
    assert (found.ranks, found.notes, found.also) == ((0, 2), ("a note",), (places[1],))


def test_the_members_that_are_wrong_are_told_by_their_goals():
    wrong = [Mismatch(Spot(member, 0, 1), (0,), 1.0, 2.0) for member in (3, 1, 3)]
    assert Refuted((), tuple(wrong)).members == {1, 3}
    assert str(wrong[0].goal) == "member 3 column 0 output 1"


def test_names_that_differ_in_numbers_alone_are_one_pattern():
    names = ("gradient of layers.0.norm.weight", "gradient of layers.1.norm.weight", "gradient of head.weight", "w1")
    assert patterned(names) == ["gradient of layers.*.norm.weight", "gradient of head.weight", "w1"]
    assert patterned(("layers.0.w", "layers.0.w")) == ["layers.0.w"]
    assert patterned(("w1", "w2")) == ["w1", "w2"]
