"""random_draw: what a generator draws from one state. It has no rule: before a proof it becomes an input.

Kinds are those of `verdict/graph/draws.py`. Every element is drawn alike and independently, so that one number that may
be drawn may be every element of every draw of its law.
"""

from verdict.graph import Node
from verdict.graph.draws import BERNOULLI, INTEGERS, NORMAL, UNIFORM, Draw


def constant(draw: Draw) -> Node:
    """A node that makes what the draw makes, where every element is one number that may be drawn."""
    attrs = (("dtype", draw.made), ("fill_value", _number(draw)), ("size", draw.shape))
    return Node("aten.full", (), (draw.tensor,), attrs, "")


def _number(draw: Draw) -> float:
    match draw.attrs["kind"], draw.parameters:
        case (kind, (_,)) if kind == BERNOULLI:
            return True
        case (kind, (low, high)) if kind == UNIFORM:
            return (low + high) / 2
        case (kind, (mean, deviation)) if kind == NORMAL:
            return mean + deviation
        case (kind, (low, _)) if kind == INTEGERS:
            return int(low)
        case _:
            return 1.0
