"""A mixture of experts by grouped products, its rows sorted by expert, on each rank's rows alone. For tests."""

import torch
import torch.distributed as dist

from verdict.torch import Program, mean, shard

EXPERTS, ROWS, SIZE = 3, 10, 4


def mixed(x, router, up, back=lambda sorting: sorting.argsort(), ends=lambda counts: counts.cumsum(0), put=None):
    """Each row by the expert that the router chooses for it. put: what puts rows back, given how they were sorted."""
    weight, chosen = (x @ router).softmax(-1).max(-1)
    sorting = chosen.argsort(stable=True)
    counts = torch.histc(chosen.to(x.dtype), bins=EXPERTS, min=0, max=EXPERTS - 1)
    rows = torch._grouped_mm(x[sorting], up, offs=ends(counts).to(torch.int32))
    inverse = torch.empty_like(sorting)
    inverse[sorting] = torch.arange(len(sorting))
    home = rows[inverse if back is None else back(sorting)] if put is None else put(rows, sorting)
    return home * weight.unsqueeze(-1)


def program(ctx, scale=1.0, **how):
    torch.manual_seed(2)
    x, router, up = torch.randn(ROWS, SIZE), torch.randn(SIZE, EXPERTS), torch.randn(EXPERTS, SIZE, SIZE)
    x = x[: ROWS // ctx.world].clone()
    params = {"router": router.requires_grad_(), "up": up.requires_grad_()}

    def step():
        loss = mixed(x, *params.values(), **how).square().mean()
        (loss * scale).backward()
        for param in params.values():
            if ctx.world > 1:
                dist.all_reduce(param.grad, op=dist.ReduceOp.AVG)
        return loss

    rows = {"x": shard(0, ctx.rank, ctx.world)}
    return Program({"x": x}, params, step, specs=rows, loss=mean(ctx.rank, ctx.world))


def build_single(ctx):
    return program(ctx)


def build(ctx):
    return program(ctx)


def build_inverse(ctx):
    """The way back is put into memory that nothing was written to."""
    return program(ctx, back=None)


def build_copied(ctx):
    """Rows are copied to their places."""
    return program(ctx, put=lambda rows, sorting: torch.zeros_like(rows).index_copy_(0, sorting, rows))


def build_copied_turned(ctx):
    """Wrong: to the places that they would be sorted to."""
    return program(ctx, put=lambda rows, sorting: torch.zeros_like(rows).index_copy(0, sorting.argsort(), rows))


def build_scaled(ctx):
    """Wrong: divided by the ranks again."""
    return program(ctx, scale=1 / ctx.world)


def build_not_back(ctx):
    """Wrong: sorted once more in the place of back."""
    return program(ctx, back=lambda sorting: sorting)


def build_turned(ctx):
    """Wrong: how many rows each expert has, from the last."""
    return program(ctx, ends=lambda counts: counts.flip(0).cumsum(0))
