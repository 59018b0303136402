"""Positions of lookups along one dimension name elements of that dimension."""

import pytest

from verdict.ops import RULES

LOOKUPS = [
    ("aten.gather", ((3, 5), (3, 2)), {"dim": 1}, 5),
    ("aten.gather", ((3, 5), (2, 5)), {"dim": -2}, 3),
    ("aten.index_select", ((3, 5), (4,)), {"dim": 1}, 5),
    ("aten.scatter.src", ((3, 5), (3, 2), (3, 2)), {"dim": 1}, 5),
    ("aten.scatter.value", ((3, 5), (1, 2)), {"dim": 1, "value": 1}, 5),
    ("aten.scatter_add", ((3, 5), (2, 5), (2, 5)), {"dim": 0}, 3),
    ("aten.gather", ((1, 5), (1, 5)), {"dim": 0}, 1),
]


@pytest.mark.parametrize(("op", "shapes", "attrs", "size"), LOOKUPS)
def test_positions_are_below_the_size_of_their_dimension(op, shapes, attrs, size):
    rule = RULES[op]
    sizes = {atom.name: atom.size for atom in rule.axes(shapes, attrs).atoms}
    assert sizes.get(rule.indices[1], 1) == size
