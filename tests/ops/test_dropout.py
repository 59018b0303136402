"""Dropout against torch's own: with the factors that torch drew, the rules compute what torch computes."""

import numpy as np
import pytest

pytest.importorskip("torch", reason="torch is what the rules are held against; it is not installed")

import torch

from verdict.ops import RULES, numbers

F = torch.nn.functional
P = 0.25


def _torch_feedforward(x, w1, b1, w2):
    return F.dropout(F.gelu(F.linear(x, w1, b1)), P, True) @ w2.T


def _torch_self_attention(x, w, b, out):
    """Two heads, with a causal mask."""
    q, k, v = (F.linear(x, w, b)[..., c::3].unflatten(-1, (2, -1)).permute(1, 2, 0, 3) for c in range(3))
    scores = (0.5 * q @ k.mT).masked_fill(torch.ones(5, 5, dtype=torch.bool).triu(1), -10000.0)
    return (F.dropout(scores.softmax(-1), P, True) @ v).permute(2, 0, 1, 3).flatten(2) @ out.T


CASES = {
    "dropout": ([(40, 3)], {"p": P}, lambda x: F.dropout(x, P, True), (40, 3)),
    "feedforward": ([(40, 3), (4, 3), (4,), (2, 4)], {"dropout": P}, _torch_feedforward, (40, 4)),
    "self_attention": (
        [(5, 3, 4), (12, 4), (12,), (2, 4)],
        {"h": 2, "scale": 0.5, "dropout_p": P, "mask": True},
        _torch_self_attention,
        (3, 2, 5, 5),
    ),
}


@pytest.mark.parametrize("op", CASES)
def test_with_the_factors_that_torch_drew(op, monkeypatch):
    shapes, attrs, function, drawn = CASES[op]
    rng = np.random.default_rng(3)
    leaves = [torch.from_numpy(rng.normal(size=shape)).requires_grad_() for shape in shapes]
    torch.manual_seed(7)
    factors = F.dropout(torch.ones(drawn, dtype=torch.float64), P, True).numpy()
    assert set(factors.ravel()) == {0, 1 / (1 - P)}
    torch.manual_seed(7)
    y = function(*leaves)
    dy = rng.normal(size=y.shape)
    (y * torch.from_numpy(dy)).sum().backward()
    monkeypatch.setattr(numbers, "kept", lambda x, p: factors if p == P else pytest.fail(f"p is {p}"))
    inputs = [leaf.detach().numpy() for leaf in leaves]
    np.testing.assert_allclose(RULES[op].forward(inputs, attrs)[0], y.detach().numpy(), atol=1e-12)
    for found, leaf in zip(RULES[op].gradient(inputs, [dy], attrs), leaves, strict=True):
        np.testing.assert_allclose(found, leaf.grad.numpy(), atol=1e-12)


@pytest.mark.parametrize(("p", "training", "factor"), [(0, True, 1), (0.5, False, 1), (1, True, 0)])
def test_without_chance_nothing_is_drawn(p, training, factor):
    x = np.array([-1.0, 0.0, 2.0])
    for array in (x, x.astype(object)):
        attrs = {"p": p, "training": training}
        assert list(RULES["dropout"].forward([array], attrs)[0]) == list(factor * x)
        assert list(RULES["dropout"].gradient([array], [array], attrs)[0]) == list(factor * x)
