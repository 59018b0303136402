"""What libraries make before a step and beside torch: copies of storages, operators of their own, masks, shards on a
mesh of two axes. Each right program beside wrong ones; the truth of each is what gloo processes compute (truth.py).
"""

import copy

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module

from verdict.torch import Program, mean, shard

ROWS, SIZE, WIDE = 8, 4, 6


@torch.library.custom_op("verdict_tests::doubled_rows", mutates_args=())
def doubled_rows(x: torch.Tensor, rows: torch.Tensor) -> torch.Tensor:
    """Some rows of x, doubled."""
    return x.index_select(0, rows) * 2.0


@doubled_rows.register_fake
def _(x, rows):
    return x.new_empty(len(rows), *x.shape[1:])


def _keep(ctx, inputs, output):
    ctx.save_for_backward(inputs[1])
    ctx.rows = len(inputs[0])


def _backward(ctx, grad):
    return (2.0 * grad).new_zeros(ctx.rows, *grad.shape[1:]).index_add(0, ctx.saved_tensors[0], 2.0 * grad), None


doubled_rows.register_autograd(_backward, setup_context=_keep)


def program(ctx, model, called, average=True, parts=None):
    """Rows of the batch on each data parallel rank. parts: which of how many; default: every rank is one."""
    part = parts or (ctx.rank, ctx.world)
    torch.manual_seed(5)
    x, target = (torch.randn(ROWS, SIZE).chunk(part[1])[part[0]].clone() for _ in range(2))

    def step():
        loss = (called(x) - target).square().mean()
        loss.backward()
        for param in model.parameters() if average and ctx.world > 1 else ():
            dist.all_reduce(param.grad, op=dist.ReduceOp.AVG)
        return loss

    rows = shard(0, *part)
    return Program({"x": x, "target": target}, model, step, specs={"x": rows, "target": rows}, loss=mean(*part))


class Scaled(nn.Module):
    """A buffer that is no parameter, of two dimensions, by which the outputs are multiplied."""

    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(SIZE, SIZE)
        self.register_buffer("table", torch.arange(1.0, 1.0 + SIZE * 2).reshape(2, SIZE), persistent=False)

    def forward(self, x):
        return self.linear(x) * self.table[0] + self.table[1]


def copied(ctx, change=lambda table: None):
    """A copy of the model is trained. change: what is done to the table of the copy in each step."""
    torch.manual_seed(3)
    model = copy.deepcopy(Scaled())

    def called(x):
        change(model.table)
        return model(x)

    return program(ctx, model, called)


def build_copied_single(ctx):
    return copied(ctx)


def build_copied(ctx):
    return copied(ctx)


def build_copied_changed(ctx):
    """Wrong: each rank adds its number to a part of the table."""
    return copied(ctx, lambda table: table[0].add_(float(ctx.rank)))


class Doubled(nn.Module):
    """An operator of the user's own, of rows in another order."""

    def __init__(self, order):
        super().__init__()
        self.linear, self.order = nn.Linear(SIZE, SIZE), order

    def forward(self, x):
        return doubled_rows(self.linear(x), torch.tensor(self.order(len(x))))


def doubled(ctx, order=lambda count: [0, *range(1, count)]):
    torch.manual_seed(3)
    model = Doubled(order)
    return program(ctx, model, model)


def build_doubled_single(ctx):
    return doubled(ctx)


def build_doubled(ctx):
    return doubled(ctx)


def build_doubled_reversed(ctx):
    """Wrong: the rows of each rank are in another order, which forgets none."""
    return doubled(ctx, lambda count: [*range(1, count), 0])


class Routed(nn.Module):
    """The greater of two scores of a row decides whether it is doubled; a mask of truth values counts these rows."""

    def __init__(self, pick):
        super().__init__()
        self.scores, self.linear, self.pick = nn.Linear(SIZE, 2), nn.Linear(SIZE, SIZE), pick

    def forward(self, x):
        scores = self.scores(x).softmax(-1)
        ids = self.pick(scores).unsqueeze(-1)
        chosen = torch.zeros_like(scores, dtype=torch.bool).scatter_(-1, ids, True)
        ends = chosen.sum(0).cumsum(0).tolist()
        order = ids.flatten().argsort(stable=True)
        first, second = x[order[: ends[0]]], x[order[ends[0] : ends[1]]]
        made = torch.cat([self.linear(first), 2.0 * self.linear(second)])
        back = torch.empty_like(made)
        back[order, :] = made
        return back * scores.gather(-1, ids)


def routed(ctx, pick=lambda scores: scores.argmax(-1)):
    torch.manual_seed(3)
    model = Routed(pick)
    return program(ctx, model, model)


def build_routed_single(ctx):
    return routed(ctx)


def build_routed(ctx):
    return routed(ctx)


def build_routed_least(ctx):
    """Wrong: the lesser score decides."""
    return routed(ctx, lambda scores: scores.argmin(-1))


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.up, self.down = nn.Linear(SIZE, WIDE, bias=False), nn.Linear(WIDE, SIZE, bias=False)

    def forward(self, x):
        return self.down(self.up(x).square())


def build_meshed_single(ctx):
    torch.manual_seed(3)
    block = Block()
    return program(ctx, block, block)


def meshed(ctx, sharded=True):
    """FSDP2 x tensor parallel on 2 x 2 ranks: three rows of a weight are shards of two rows and of one."""
    torch.manual_seed(3)
    mesh = init_device_mesh("cpu", (2, 2), mesh_dim_names=("dp", "tp"))
    block = parallelize_module(Block(), mesh["tp"], {"up": ColwiseParallel(), "down": RowwiseParallel()})
    if sharded:
        fully_shard(block, mesh=mesh["dp"])
    return program(ctx, block, block, average=False, parts=(ctx.rank // 2, 2))


def build_meshed(ctx):
    return meshed(ctx)


def build_meshed_unreduced(ctx):
    """Wrong: nobody averages over the data parallel ranks."""
    return meshed(ctx, sharded=False)
