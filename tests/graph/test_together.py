"""What hangs together by links, against the same told by reaching from each."""

import random

from verdict.graph.together import together


def reached(links, first):
    """All that can be reached from one."""
    found, waiting = {first}, [first]
    while waiting:
        at = waiting.pop()
        beside = {b for a, b in links if a == at} | {a for a, b in links if b == at}
        waiting.extend(beside - found)
        found |= beside
    return found


def test_groups_are_what_can_be_reached():
    drawn = random.Random(5)
    for _ in range(200):
        links = [(drawn.randrange(12), drawn.randrange(12)) for _ in range(drawn.randrange(10))]
        named = list(dict.fromkeys(each for pair in links for each in pair))
        due = {frozenset(reached(links, each)) for each in named}
        groups = together(links)
        assert {frozenset(group) for group in groups} == due and len(groups) == len(due)
        for group in groups:
            assert group == [each for each in named if each in group], "in the order in which they are named"


def test_a_link_to_itself_is_a_group_of_one():
    assert together([("a", "a"), ("c", "b"), ("b", "d")]) == [["a"], ["c", "b", "d"]]
    assert together([]) == []
