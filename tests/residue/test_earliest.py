"""Of doubtful cut points, those that say how wrong they are: none that rests on another one, not of its own island; and
islands in the order in which they rest on one another.
"""

from types import SimpleNamespace

import pytest

from tests.values.outline import plans
from verdict.residue.islands import Island, column_of
from verdict.residue.wrong import earliest_of, in_turn, resting_on

TEXT = """
  x input [4]
  a = silu(x)
  b = exp(a)
  c = add(b, a)
  loss = sum(c)
  loss loss
"""


@pytest.mark.parametrize(
    ("given", "doubtful", "earliest"),
    [("xb", "ac", "a"), ("xb", "c", "c"), ("x", "ac", "ac"), ("xb", "a", "a")],
    ids=["through what is given", "nothing before it", "computed in the island", "the first"],
)
def test_what_rests_on_a_doubtful_value_says_nothing_of_itself(given, doubtful, earliest):
    plan, _ = plans(TEXT, TEXT)
    tensors = {plan.logicals[tensor.logical].name: (0, k) for k, tensor in enumerate(plan.tensors)}
    names = {point: name for name, point in tensors.items()}
    value = {name: (SimpleNamespace(base=name),) for name in tensors}
    column = column_of(plan)
    events = [event for event in column.events if event.nodes[0][1].op in ("silu", "exp", "add")]
    if "b" in given:
        events = [event for event in events if event.nodes[0][1].op != "exp"]
    points = {"given": given, "due": "ac"}
    held = {key: {tensors[name]: value[name] for name in listed} for key, listed in points.items()}
    island = Island(tuple(events), held["given"], held["due"])
    found = earliest_of({0: [tensors[name] for name in doubtful]}, [island], column)
    assert {names[point] for point in found} == set(earliest)


def test_islands_are_asked_in_turn():
    plan, _ = plans(TEXT, TEXT)
    point = {plan.logicals[tensor.logical].name: (0, k) for k, tensor in enumerate(plan.tensors)}
    value = {name: (SimpleNamespace(base=name),) for name in point}

    def island(given, due):
        return Island((), {point[given]: value[given]}, {point[due]: value[due]})

    column = column_of(plan)
    last, first, second = islands = [island("b", "c"), island("x", "a"), island("a", "b")]
    assert [islands[k] for k in in_turn(islands, column)] == [first, second, last]
    assert resting_on({1: [point["a"]]}, islands, column) == {point[name] for name in ("a", "b", "c", "loss")}
    assert resting_on({2: [point["b"]]}, islands, column) == {point[name] for name in ("b", "c", "loss")}
