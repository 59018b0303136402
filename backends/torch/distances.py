"""Distances of each row of one tensor to each of another, as norms of differences, and their gradient."""

from typing import Any

import torch


def distances(x: Any, y: Any, p: float, compute_mode: int | None = None) -> Any:
    """The p-norms of all differences, (..., rows of x, rows of y)."""
    return torch.linalg.vector_norm(_differences(x, y), p, -1)


def of_distances(grad: Any, x: Any, y: Any, p: float, made: Any) -> Any:
    """The gradient of x; where a distance is zero, which has no derivative there, it is zero."""
    difference, grad, made = _differences(x, y), grad.unsqueeze(-1), made.unsqueeze(-1)
    if p == 0:
        return torch.zeros_like(x)
    if p == 1:
        return (grad * difference.sign()).sum(-2)
    if p == 2:
        return (grad * (difference / made).masked_fill(made == 0, 0.0)).sum(-2)
    size = difference.abs()
    if p == float("inf"):
        return (grad * difference.sign() * (size == made)).sum(-2)
    steep = difference.sign() * (size / made).masked_fill(made == 0, 0.0).pow(p - 1)
    return (grad * steep).sum(-2)


def _differences(x: Any, y: Any) -> Any:
    return x.unsqueeze(-2) - y.unsqueeze(-3)
