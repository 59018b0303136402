"""Which single-device nodes a parallel node may be the counterpart of."""

from verdict.graph import Node
from verdict.lineage.counterparts import NONE, Alike, in_turn


def node(number: int) -> Node:
    return Node("add", (number,), (number + 1,), (), f"add {number}")


def test_the_node_in_the_same_place_comes_first_and_each_once() -> None:
    nodes = [node(number) for number in range(4)]
    for place in range(6):
        expected = [*nodes[place : place + 1], *nodes[:place], *nodes[place + 1 :]]
        assert list(in_turn(Alike(nodes, place))) == expected
    assert not list(in_turn(NONE))
