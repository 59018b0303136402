"""What a rule says of the types that an operator makes, against torch, over all types of its inputs."""

import numpy as np
import pytest

pytest.importorskip("torch", reason="torch is what the rules are held against; it is not installed")

import torch

from tests.ops.aten_cases import NODES
from verdict.backends.torch.arguments import decode, operator
from verdict.ops import RULES
from verdict.ops.types import kind

TYPES = (torch.float64, torch.float32, torch.bfloat16, torch.int64, torch.int32, torch.uint8, torch.bool)


def typed(node):
    """The inputs of a node in many types: all of one, or one of them."""
    arrays = [np.asarray(x) for x in node.inputs(0)]
    plain = [torch.from_numpy(x.copy()) for x in arrays]
    other = [torch.from_numpy(np.asarray(np.abs(x), dtype=np.float64)) for x in arrays]
    yield plain
    for dtype in TYPES:
        yield [x.to(dtype) for x in other]
        for place in range(len(plain)):
            yield [*plain[:place], other[place].to(dtype), *plain[place + 1 :]]


def made(node, inputs):
    """What torch makes; None where it refuses these types."""
    func = operator(node.op)
    args, kwargs = decode(func, [x.clone() for x in inputs], node.attrs)
    try:
        found = func(*args, **kwargs)
    except (RuntimeError, TypeError, IndexError, ValueError):
        return None
    return [found] if isinstance(found, torch.Tensor) else list(found)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("node", NODES, ids=lambda node: f"{node.op}{node.shapes}")
def test_torch_makes_a_type_that_the_rule_allows(node):
    types, asked = RULES[node.op].types, 0
    for inputs in typed(node):
        found = made(node, inputs)
        if found is None:
            continue
        asked += 1
        allowed = types([kind(x.dtype) for x in inputs], node.attrs)
        for place, y in enumerate(found):
            known = allowed[min(place, len(allowed) - 1)]
            assert known is None or kind(y.dtype) in known, (y.dtype, known, [x.dtype for x in inputs])
    assert asked


def test_what_is_known_is_worth_something():
    """Of arithmetic of floats it is known that it makes floats, of comparisons that they make truth values."""
    named = {"add.Tensor": "float", "exp": "float", "lt.Tensor": "bool", "argmax": "int64", "clone": "float"}
    for op, expected in named.items():
        assert RULES[f"aten.{op}"].types(["float", "float"], {}) == (frozenset({expected}),)
    silent = {name for name, rule in RULES.items() if rule.types(["float"] * 3, {"dim": 0})[0] is None}
    assert len(silent) < len(RULES) / 2


@pytest.mark.parametrize("name", ["embedding", "create_mask", "moe_gmm", "one_hot", "take_ids", "cross_entropy"])
def test_own_operators_that_read_integers_say_what_they_make(name):
    rule = RULES[name]
    counts = {"embedding": 2, "create_mask": 2, "moe_gmm": 6, "one_hot": 1, "take_ids": 2, "cross_entropy": 2}
    integers = set(rule.indices) | ({0} if name == "create_mask" else set())
    kinds = ["int64" if place in integers else "float" for place in range(counts[name])]
    (made,) = rule.types(kinds, {})
    assert made is not None
    assert "float" in made
    assert not made & {"int32", "uint8", "bool"}
