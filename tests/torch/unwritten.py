"""Programs that read memory which nothing was written to: right ones, of which it reaches nothing, and wrong ones."""

import torch
import torch.distributed as dist

from verdict.torch import Program, shard

EXPERTS, ROWS, SIZE = 4, 10, 4


class Summed(torch.autograd.Function):
    """The sum over ranks, whose gradient each rank has as it is."""

    @staticmethod
    def forward(ctx, value):
        value = value.clone()
        if dist.is_initialized() and dist.get_world_size() > 1:
            dist.all_reduce(value)
        return value

    @staticmethod
    def backward(ctx, grad):
        return grad


def emptied(rows, outside):
    return rows.masked_fill(outside, 0.0)


def put(rows, sorting):
    home = torch.empty_like(rows)
    home[sorting] = rows
    return home


def program(ctx, empty=emptied, home=put, own=lambda rank: rank, beyond=lambda local, count: local >= count):
    """All rows on each rank, some of the experts: rows of others' experts are sorted behind its own, and emptied."""
    torch.manual_seed(2)
    x, router, up = torch.randn(ROWS, SIZE), torch.randn(SIZE, EXPERTS), torch.randn(EXPERTS, SIZE, SIZE)
    count = EXPERTS // ctx.world
    up = up[ctx.rank * count :][:count].clone()
    params = {"router": router.requires_grad_(), "up": up.requires_grad_()}

    def step():
        weight, chosen = (x @ router).softmax(-1).max(-1)
        local = torch.where(chosen // count == own(ctx.rank), chosen % count, count)
        local, sorting = torch.sort(local)
        counts = torch.histc(local.to(x.dtype), bins=count, min=0, max=count - 0.5)
        rows = torch._grouped_mm(x[sorting], up, offs=counts.cumsum(0).to(torch.int32))
        rows = empty(rows, beyond(local, count).unsqueeze(-1)).relu()
        loss = Summed.apply(home(rows, sorting) * weight.unsqueeze(-1)).square().mean()
        loss.backward()
        if ctx.world > 1:
            dist.all_reduce(router.grad)
        return loss

    return Program({"x": x}, params, step, specs={"up": shard(0, ctx.rank, ctx.world)})


def build_single(ctx):
    return program(ctx)


def build(ctx):
    return program(ctx)


def build_where(ctx):
    return program(ctx, empty=lambda rows, outside: torch.where(outside, torch.zeros(()), rows))


def build_others(ctx):
    """Wrong: each rank takes its experts for those of the other."""
    return program(ctx, own=lambda rank: 1 - rank)


def build_too_many(ctx):
    """Wrong: its last expert's rows are emptied, too."""
    return program(ctx, beyond=lambda local, count: local >= count - 1)


def build_multiplied(ctx):
    """Wrong: what is not written may be NaN, which a product with zero is as well."""
    return program(ctx, empty=lambda rows, outside: rows * (~outside).to(rows.dtype))


def build_not_emptied(ctx):
    return program(ctx, beyond=lambda local, count: local > count)


def build_short(ctx):
    """Wrong: the last row is put nowhere."""

    def short(rows, sorting):
        home = torch.empty_like(rows)
        home[sorting[:-1]] = rows[:-1]
        return home

    return program(ctx, home=short)


def build_by_values(ctx):
    """Wrong: what empties rows is read of them."""
    return program(ctx, empty=lambda rows, outside: rows.masked_fill(rows.isnan(), 0.0))


def alone(step_of):
    def build(ctx):
        torch.manual_seed(2)
        x, weight = torch.randn(SIZE, SIZE), torch.randn(SIZE, SIZE, requires_grad=True)

        def step():
            room = torch.empty(SIZE + 1, SIZE)
            room[:SIZE] = x
            loss = step_of(room, weight)
            loss.backward()
            return loss

        return Program({"x": x}, {"weight": weight}, step)

    return build


LAST = (torch.arange(SIZE + 1) >= SIZE).unsqueeze(1)
build_cut = alone(lambda room, weight: (room @ weight)[:SIZE].sum())
build_masked = alone(lambda room, weight: (room.masked_fill(LAST, 0.0).exp() @ weight).sum())
build_gathered = alone(lambda room, weight: (room.cos()[torch.arange(SIZE)] @ weight).sum())
build_left_out = alone(lambda room, weight: (torch.cat([room, room]).t()[:, :SIZE] @ weight).sum())
build_summed = alone(lambda room, weight: (room @ weight).sum(1)[:SIZE].sum())
build_padded = alone(lambda room, weight: (torch.nn.functional.pad(room, (0, 0, 1, 0))[1:-1] @ weight).sum())
build_summed_down = alone(lambda room, weight: (room @ weight).sum(0).sum())
build_masked_late = alone(lambda room, weight: (room.softmax(0).masked_fill(LAST, 0.0) @ weight).sum())
build_masked_otherwise = alone(lambda room, weight: (room.masked_fill(LAST.flip(0), 0.0) @ weight).sum())
build_masked_by_data = alone(lambda room, weight: (room.masked_fill(room > 0, 0.0) @ weight).sum())
build_no_times = alone(lambda room, weight: (torch.add(weight[0], room[SIZE], alpha=0)).sum())
build_no_times_by_index = alone(
    lambda room, weight: weight.index_add(0, torch.tensor([1]), room[SIZE:], alpha=0)[:SIZE].sum()
)
build_zero_times = alone(lambda room, weight: (room * 0 + 1).sum() * weight.sum())
build_read = alone(lambda room, weight: (weight * (2 if torch.empty(3).sum().item() > 0 else 1)).sum())
build_listed = alone(lambda room, weight: (weight * (2 if torch.empty(3).tolist()[0] > 0 else 1)).sum())
build_sorted = alone(lambda room, weight: (room[room[:, 0].argsort()][:SIZE] @ weight).sum())


def build_in_rows(ctx):
    """Wrong: of the last row on both ranks, which nobody wrote, the sum is sent."""
    made = alone(lambda room, weight: (room @ weight)[:SIZE].sum() + 0 * _sent(room[SIZE]))
    return made(ctx)


def _sent(row):
    total = row.sum().reshape(1)
    dist.all_reduce(total)
    return total.sum() * 0


def exchanged(ctx, room):
    """Rows are sent to the other rank, and received in a room of its own."""
    x, weight = torch.randn(SIZE, SIZE), torch.nn.Parameter(torch.randn(SIZE, SIZE))

    def step():
        rows, received = x @ weight, room()
        peer = 1 - ctx.rank
        sent = dist.P2POp(dist.isend, rows.detach(), peer), dist.P2POp(dist.irecv, received, peer)
        for work in dist.batch_isend_irecv(list(sent)):
            work.wait()
        loss = (rows * received).sum()
        loss.backward()
        return loss

    return Program({"x": x}, {"weight": weight}, step)


def build_upright(ctx):
    return exchanged(ctx, lambda: torch.empty(SIZE, SIZE))


def build_turned(ctx):
    """Refused by back ends: what is received into is not contiguous."""
    return exchanged(ctx, lambda: torch.empty(SIZE, SIZE).T)
