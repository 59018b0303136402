"""Operators that write where they read something else, beside twins that read first."""

import torch

from verdict.torch import Program

ROWS, SIZE = 4, 3


def program(make):
    """`make` changes a copy of x, which is the output."""
    x, w, made = torch.randn(ROWS, SIZE), torch.randn(SIZE, requires_grad=True), {}

    def step():
        loss = (x * w).sum()
        loss.backward()
        made["rows"] = make(x.clone())
        return loss

    return Program({"x": x}, {"w": w}, step, outputs=lambda: made)


def read_first(x):
    rows = x.unbind(0)
    return torch.stack([one + other for one, other in zip(rows, rows[::-1], strict=True)])


def lists(x):
    """What was added to is added again: the lists hold one memory twice."""
    rows = list(x.unbind(0))
    torch._foreach_add_(rows, rows[::-1])
    return torch.stack(rows)


def same(x):
    """Each element reads what it writes, and nothing else of it."""
    x.mul_(x)
    rows = list(x.unbind(0))
    torch._foreach_mul_(rows, rows)
    torch.add(x, x, out=x)
    return x


def build_lists_single(ctx):
    return program(read_first)


def build_lists(ctx):
    return program(lists)


def build_column_single(ctx):
    return program(lambda x: x * x[:, :1].clone())


def build_column(ctx):
    """The first column is multiplied by itself before the others are multiplied by it."""
    return program(lambda x: x.mul_(x[:, :1]))


def build_turned_single(ctx):
    return program(lambda x: x[:, :2] + x[:, :2].flip(0))


def build_turned(ctx):
    return program(lambda x: x[1:, :2].add_(x[:-1, :2]))


def build_product_single(ctx):
    return program(lambda x: x[:SIZE] @ x[:SIZE])


def build_product(ctx):
    """A product is written over what it is a product of."""
    return program(lambda x: torch.mm(x[:SIZE], x[:SIZE], out=x[:SIZE]))


def build_same_single(ctx):
    return program(lambda x: 2 * x**4)


def build_same(ctx):
    return program(same)
