"""Programs whose layers move rows on, each by one: `build_home_<n>` is right where n layers have done so."""

import torch
from torch import nn

from verdict.torch import Program

LAYERS, SIZE, ROWS = 18, 4, 24


def joined(rows, by):
    return torch.cat((rows[-by:], rows[:-by]))


def program(moves, home):
    """moves: by how many rows each layer moves them on, one after another. home: by how many they are at the end."""
    torch.manual_seed(0)
    ups = nn.ParameterList(nn.Parameter(torch.randn(SIZE, 2 * SIZE)) for _ in range(LAYERS))
    downs = nn.ParameterList(nn.Parameter(torch.randn(2 * SIZE, SIZE)) for _ in range(LAYERS))
    x, target = torch.randn(ROWS, SIZE), torch.randn(ROWS, SIZE)

    def step():
        at, beside = x, torch.tanh(x)
        for up, down in zip(ups, downs, strict=True):
            at = at + torch.tanh(at @ up) @ down
            for by in moves:
                beside = torch.roll(beside, by, 0)
        loss = (at * (joined(beside, home) if home else beside) - target).square().sum()
        loss.backward()
        return loss

    return Program(inputs={"x": x, "target": target}, params=nn.ModuleDict({"ups": ups, "downs": downs}), step=step)


def build_single(ctx):
    return program((), 0)


def build_there_and_back(ctx):
    return program((1, -1), 0)


def build_home_8(ctx):
    return program((1,), ROWS - 8)


def build_home_9(ctx):
    return program((1,), ROWS - 9)


def build_home_10(ctx):
    return program((1,), ROWS - 10)


def build_home_18(ctx):
    return program((1,), ROWS - LAYERS)
