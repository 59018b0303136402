"""Ring attention: the sequence is cut over the ranks, keys and values travel round the ring; forward and backward.

The softmax of all scores is put together from the ranks' parts by their greatest scores and sums, as in
Liu et al., "Ring Attention with Blockwise Transformers", 2023. In the backward pass keys, values and their gradients
travel together, and come home after a full round.

verdict torch examples/torch/ring_attention.py --world 2
"""

import torch
import torch.distributed as dist

from verdict.torch import Program, shard

SEQ, WIDTH = 8, 4
SCALE = WIDTH**-0.5


def attention(q, k, v):
    return (q @ k.t() * SCALE).softmax(-1) @ v


def passed_on(tensors, rank, world, wait=True):
    """All tensors go to the next rank; those of the rank before arrive."""
    arrived = [torch.empty_like(tensor) for tensor in tensors]
    sends = [dist.P2POp(dist.isend, tensor.contiguous(), (rank + 1) % world) for tensor in tensors]
    receives = [dist.P2POp(dist.irecv, tensor, (rank - 1) % world) for tensor in arrived]
    for work in dist.batch_isend_irecv([*sends, *receives]):
        if wait:
            work.wait()
    return arrived


class RingAttention(torch.autograd.Function):
    @staticmethod
    def forward(ctx, q, k, v, rank, world, rounds, wait=True):
        ctx.ring = (rank, world, wait)
        own = (k, v)
        greatest, total, mixed = None, None, None
        for step in range(rounds):
            scores = q @ k.t() * SCALE
            local = scores.max(-1, keepdim=True).values
            now = local if greatest is None else torch.maximum(greatest, local)
            weights = (scores - now).exp()
            add_total, add_mixed = weights.sum(-1, keepdim=True), weights @ v
            if greatest is None:
                total, mixed = add_total, add_mixed
            else:
                shrink = (greatest - now).exp()
                total, mixed = total * shrink + add_total, mixed * shrink + add_mixed
            greatest = now
            if step < rounds - 1:
                k, v = passed_on((k, v), rank, world)
        out = mixed / total
        ctx.save_for_backward(q, *own, out, greatest + total.log())
        return out

    @staticmethod
    def backward(ctx, grad):
        q, k, v, out, log_total = ctx.saved_tensors
        rank, world, wait = ctx.ring
        dq, dk, dv = torch.zeros_like(q), torch.zeros_like(k), torch.zeros_like(v)
        delta = (grad * out).sum(-1, keepdim=True)
        for _ in range(world):
            weights = (q @ k.t() * SCALE - log_total).exp()
            dscores = weights * (grad @ v.t() - delta) * SCALE
            dv, dk, dq = dv + weights.t() @ grad, dk + dscores.t() @ q, dq + dscores @ k
            k, v, dk, dv = passed_on((k, v, dk, dv), rank, world, wait)
        return dq, dk, dv, None, None, None, None


def program(ctx, mix):
    rows = SEQ // ctx.world
    names = ("q", "k", "v")
    params = {name: torch.randn(rows, WIDTH, requires_grad=True) for name in names}
    weight = torch.randn(rows, WIDTH)

    def step():
        out = mix(*params.values())
        loss = (out * weight).sum()
        loss.backward()
        if ctx.world > 1:
            loss = loss.detach().clone()
            dist.all_reduce(loss)
        return loss

    part = shard(0, ctx.rank, ctx.world)
    specs = dict.fromkeys((*names, "weight"), part) if ctx.world > 1 else {}
    return Program(inputs={"weight": weight}, params=params, step=step, specs=specs)


def build_single(ctx):
    return program(ctx, attention)


def build(ctx):
    return program(ctx, lambda q, k, v: RingAttention.apply(q, k, v, ctx.rank, ctx.world, ctx.world))


def build_missing_round(ctx):
    """Wrong: the forward pass stops one rank short of the full round."""
    return program(ctx, lambda q, k, v: RingAttention.apply(q, k, v, ctx.rank, ctx.world, ctx.world - 1))


def build_missing_wait(ctx):
    """Wrong: in the backward pass keys, values and gradients are used without waiting for them."""
    return program(ctx, lambda q, k, v: RingAttention.apply(q, k, v, ctx.rank, ctx.world, ctx.world, False))
