"""Rotary embeddings by complex numbers, data parallel or tensor parallel over heads, and what else is done to such."""

import torch
import torch.distributed as dist
from torch.nn.functional import scaled_dot_product_attention

from verdict.torch import Program, partial, shard

ROWS, SEQ, HEADS, DIM = 4, 3, 2, 4


def angles(inverse, scale=1.25, first=0):
    """Of each position and frequency, on the circle."""
    found = torch.arange(first, first + SEQ).float()[:, None] * inverse
    return torch.polar(torch.ones_like(found), found) * scale


def turned(x, turns):
    """x (rows, positions, heads, features): neighbours are the parts of a number, which is turned."""
    pairs = torch.view_as_complex(x.float().reshape(*x.shape[:-1], -1, 2))
    return torch.view_as_real(pairs * turns[:, None]).flatten(3).type_as(x)


def rotary(ctx, turns_of=angles, reduced=("q", "k")):
    """Each rank has its rows; gradients are summed. turns_of: of the frequencies. reduced: weights whose are."""
    x = torch.randn(ROWS // ctx.world, SEQ, HEADS * DIM)
    weights = {name: torch.randn(HEADS * DIM, HEADS * DIM, requires_grad=True) for name in ("q", "k")}
    params = {**weights, "inverse": torch.randn(DIM // 2)}

    def step():
        turns = turns_of(params["inverse"])
        q, k = (turned((x @ weights[name]).unflatten(-1, (HEADS, DIM)), turns).transpose(1, 2) for name in ("q", "k"))
        loss = scaled_dot_product_attention(q, k, q, is_causal=True).square().sum()
        loss.backward()
        for name in reduced if ctx.world > 1 else ():
            dist.all_reduce(weights[name].grad)
        return loss

    specs = {"x": shard(0, ctx.rank, ctx.world)}
    return Program({"x": x}, params, step, specs=specs, loss=partial(ctx.rank, ctx.world))


def build_single(ctx):
    return rotary(ctx)


def build(ctx):
    return rotary(ctx)


def build_conjugated(ctx):
    """Wrong: turned the other way round."""
    return rotary(ctx, lambda inverse: angles(inverse).conj())


def build_unscaled(ctx):
    return rotary(ctx, lambda inverse: angles(inverse, 1.0))


def build_unreduced(ctx):
    return rotary(ctx, reduced=("q",))


def by_heads(ctx, late=0):
    """Each rank has some heads, and all rows. late: by how many positions rank 1 turns otherwise."""
    x, of = torch.randn(ROWS, SEQ, HEADS * DIM), ctx.world
    columns = HEADS * DIM // of
    weight = torch.randn(HEADS * DIM, columns, requires_grad=True)
    params = {"weight": weight, "inverse": torch.randn(DIM // 2)}

    def step():
        q = turned((x @ weight).unflatten(-1, (HEADS // of, DIM)), angles(params["inverse"], first=ctx.rank * late))
        loss = q.pow(3).sum()
        loss.backward()
        return loss

    specs = {"weight": shard(1, ctx.rank, of)}
    return Program({"x": x}, params, step, specs=specs, loss=partial(ctx.rank, of))


def build_heads_single(ctx):
    return by_heads(ctx)


def build_heads(ctx):
    return by_heads(ctx)


def build_heads_shifted(ctx):
    """Wrong: rank 1 counts positions from one."""
    return by_heads(ctx, 1)


def many(ctx, sign=1.0, last=lambda z: z):
    """What is known of pairs, one behind the other. last: what makes the final numbers."""
    x, w = torch.randn(ROWS // ctx.world, 2, 4), torch.randn(2, 4, requires_grad=True)

    def step():
        z, y = torch.view_as_complex((x * w).reshape(-1, 2, 2, 2)), torch.complex(w[:, :2], w[:, 2:])
        z = torch.cat([z + y, z - y.conj(), -z / 2], 1).transpose(1, 2)[:, :, 1:].contiguous()
        z = (z.unsqueeze(1).expand(-1, 2, -1, -1) * z[:, None, 0:1].conj().clone()).permute(0, 3, 1, 2)
        z = last(z.to(torch.complex128).reshape(z.shape[0], -1) * sign)
        loss = (z.sum(1).imag * z.real[:, 0]).sum()
        loss.backward()
        if ctx.world > 1:
            dist.all_reduce(w.grad)
        return loss

    specs = {"x": shard(0, ctx.rank, ctx.world)}
    return Program({"x": x}, {"w": w}, step, specs=specs, loss=partial(ctx.rank, ctx.world))


def build_many_single(ctx):
    return many(ctx)


def build_many(ctx):
    return many(ctx)


def build_many_conjugated(ctx):
    """Wrong: the last numbers are conjugated."""
    return many(ctx, last=lambda z: z.conj())


def build_many_turned(ctx):
    """Wrong: minus one of two factors, and of the other: as it should be. The square of a sign is 1."""
    return many(ctx, sign=-1.0)


def written_to(z):
    z.mul_(2)
    return z / 2


def build_written(ctx):
    """Right, but what writes to complex numbers is not followed."""
    return many(ctx, last=written_to)


def build_sized(ctx):
    """Right, but the size of a complex number has no rule."""
    return many(ctx, last=lambda z: z * (z.abs() / z.abs()))


def replaced(inverse):
    """Real parts are written to in their memory."""
    turns = angles(inverse)
    torch.view_as_real(turns)[:, :, 0] *= 3
    return turns


def build_replaced_single(ctx):
    return rotary(ctx, lambda inverse: torch.complex(3 * angles(inverse).real, angles(inverse).imag))


def build_replaced(ctx):
    return rotary(ctx, replaced)
