"""Gradients that are clipped by the greatest of them in size, or by the sum of their sizes: `norm_type` of
`clip_grad_norm_`, under FSDP2 and in tensor parallelism by hand.
"""

import math

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.nn.functional import linear, mse_loss

from verdict.torch import Program, mean, shard

ROWS, SIZE, WIDE, MOST = 4, 4, 6, 0.1


class Network(nn.Module):
    def __init__(self):
        super().__init__()
        self.up, self.down = nn.Linear(SIZE, WIDE), nn.Linear(WIDE, SIZE)

    def forward(self, x):
        return self.down(torch.relu(self.up(x)))


def program(model, rows, clip, **more):
    x, target = torch.randn(rows, SIZE), torch.randn(rows, SIZE)
    adam = torch.optim.AdamW(model.parameters(), lr=0.01)

    def step():
        loss = mse_loss(model(x), target)
        loss.backward()
        clip(model)
        adam.step()
        return loss

    return Program(inputs={"x": x, "target": target}, params=model, step=step, optimizer=adam, **more)


def clipped(norm_type):
    return lambda model: nn.utils.clip_grad_norm_(model.parameters(), MOST, norm_type=norm_type)


def build_single(ctx):
    return program(Network(), ROWS, clipped(math.inf))


def build_single_sum(ctx):
    return program(Network(), ROWS, clipped(1))


def data_parallel(ctx, clip):
    model, rows = Network(), shard(0, ctx.rank, ctx.world)
    mesh = init_device_mesh("cpu", (ctx.world,))
    fully_shard(model.up, mesh=mesh)
    fully_shard(model, mesh=mesh)
    specs = {"x": rows, "target": rows}
    return program(model, ROWS // ctx.world, clip, specs=specs, loss=mean(ctx.rank, ctx.world))


def build_fsdp2(ctx):
    return data_parallel(ctx, clipped(math.inf))


def build_fsdp2_sum(ctx):
    return data_parallel(ctx, clipped(1))


def build_fsdp2_local(ctx):
    """Each rank clips by the greatest of its own shards."""

    def clip(model):
        parts = [weight.grad.to_local() for weight in model.parameters()]
        norm = nn.utils.get_total_norm(parts, norm_type=math.inf)
        for part in parts:
            part.mul_(torch.clamp(MOST / (norm + 1e-6), max=1.0))

    return data_parallel(ctx, clip)


class Rejoined(torch.autograd.Function):
    """The sum of all ranks' outputs; its gradient is that of each rank's."""

    @staticmethod
    def forward(ctx, x):
        total = x.clone()
        dist.all_reduce(total)
        return total

    @staticmethod
    def backward(ctx, grad):
        return grad


class Sharded(nn.Module):
    """The network's rows and columns that one rank has, and the last bias, which all have."""

    def __init__(self, world):
        super().__init__()
        self.up, self.down = nn.Linear(SIZE, WIDE // world), nn.Linear(WIDE // world, SIZE)

    def forward(self, x):
        return Rejoined.apply(linear(torch.relu(self.up(x)), self.down.weight)) + self.down.bias


def tensor_parallel(ctx, op):
    """op: how the ranks join what each finds the greatest."""

    def clip(model):
        norm = nn.utils.get_total_norm([weight.grad for weight in model.parameters()], norm_type=math.inf)
        dist.all_reduce(norm, op=op)
        nn.utils.clip_grads_with_norm_(model.parameters(), MOST, norm)

    rows, columns = shard(0, ctx.rank, ctx.world), shard(1, ctx.rank, ctx.world)
    specs = {"up.weight": rows, "up.bias": rows, "down.weight": columns}
    return program(Sharded(ctx.world), ROWS, clip, specs=specs)


def build_tensor(ctx):
    return tensor_parallel(ctx, dist.ReduceOp.MAX)


def build_tensor_summed(ctx):
    """The ranks' greatest sizes are added."""
    return tensor_parallel(ctx, dist.ReduceOp.SUM)
