"""Programs that look for overflow, which the single device does not, and such that send bytes. For tests."""

import torch
import torch.distributed as dist

from verdict.torch import Program, mean, shard

ROWS, SIZE = 4, 4


def program(ctx, seen=lambda norm: False, begun=lambda weight: weight, how=dist.ReduceOp.AVG, local=False):
    """A step of gradient descent, which is left out where something is `seen` of the gradient's norm. begun: what the
    weight is replaced by first. local: whether the norm is of the gradient of a rank's own rows.
    """
    torch.manual_seed(2)
    x, weight = torch.randn(ROWS // ctx.world, SIZE), torch.randn(SIZE, SIZE)

    def step():
        own = begun(weight).requires_grad_()
        loss = (x @ own).square().mean()
        loss.backward()
        norms = [own.grad.norm()] if local else []
        if ctx.world > 1:
            dist.all_reduce(own.grad, op=how)
        if not seen(*norms or [own.grad.norm()]):
            with torch.no_grad():
                weight.sub_(own.grad * 0.1)
        return loss

    specs = {"x": shard(0, ctx.rank, ctx.world)} if ctx.world > 1 else {}
    return Program({"x": x}, {"weight": weight}, step, specs=specs, loss=mean(ctx.rank, ctx.world))


def overflown(norm):
    """As libraries ask for it."""
    return bool((~torch.isfinite(norm) | (norm < 0)).any())


def copied(weight):
    return weight.detach().clone()


def build_single(ctx):
    return program(ctx, begun=copied)


def build_looked(ctx):
    return program(ctx, overflown, copied)


def build_looked_summed(ctx):
    """Wrong: gradients are added."""
    return program(ctx, overflown, copied, dist.ReduceOp.SUM)


def marked(norm):
    """Overflow is marked by a number below zero first, as DeepSpeed does."""
    norm = norm.clone()
    norm.masked_fill_(norm.isnan().logical_or(norm.isinf()), torch.tensor(-1.0))
    invalid = ~torch.isfinite(norm) | (norm < 0)
    return overflown(torch.where(invalid, torch.full_like(norm, torch.inf), norm))


def build_marked(ctx):
    return program(ctx, marked, copied)


def build_marked_summed(ctx):
    """Wrong: gradients are added."""
    return program(ctx, marked, copied, dist.ReduceOp.SUM)


def build_under(ctx):
    return program(ctx, lambda norm: not norm < torch.inf or bool(norm <= -torch.inf), copied)


def build_below(ctx):
    return program(ctx, lambda norm: bool(norm < 0), copied)


def build_less(ctx):
    """Whether it is less than a hundred is a choice of data."""
    return program(ctx, lambda norm: not norm < 100, copied)


def build_masked(ctx):
    """What a mask makes infinite is no overflow."""
    return program(ctx, lambda norm: not bool(torch.isfinite(torch.where(norm < 100, norm, -torch.inf))), copied)


def build_masked_under(ctx):
    """The same, asked by an order."""
    return program(ctx, lambda norm: not torch.where(norm < 100, norm, torch.inf) < torch.inf, copied)


def build_asking_single(ctx):
    return program(ctx, overflown, copied)


def build_asking_own(ctx):
    """Wrong: each rank asks for its own gradient, and leaves out the step alone."""
    return program(ctx, overflown, copied, local=True)


def bytes_of(tensor):
    return tensor.view(torch.uint8)


def from_first(weight, scale=1.0):
    """The bytes of what rank 0 begins with, scaled."""
    own = weight.detach() * scale if dist.get_rank() == 0 else torch.zeros_like(weight)
    dist.broadcast(bytes_of(own), 0)
    return own.clone()


def build_bytes(ctx):
    return program(ctx, begun=from_first)


def build_bytes_scaled(ctx):
    """Wrong: it is twice what it should be."""
    return program(ctx, begun=lambda weight: from_first(weight, 2.0))


def build_bytes_apart(ctx):
    """One rank receives bytes, and makes numbers of them: that they are numbers is not followed."""

    def begun(weight):
        if ctx.rank == 0:
            return from_first(weight)
        room = torch.zeros(SIZE, SIZE * 4, dtype=torch.uint8)
        dist.broadcast(room, 0)
        return room.view(torch.float32).clone()

    return program(ctx, begun=begun)


def build_bytes_most(ctx):
    """Bytes are compared, with zeros: of one rank they are a weight's, and of the other those of nothing yet."""

    def begun(weight):
        if ctx.rank == 0:
            own = weight.detach().clone()
            dist.all_reduce(bytes_of(own), op=dist.ReduceOp.MAX)
            return own
        room = torch.zeros(SIZE, SIZE * 4, dtype=torch.uint8)
        dist.all_reduce(room, op=dist.ReduceOp.MAX)
        return room.view(torch.float32).clone()

    return program(ctx, begun=begun)


def build_bytes_gathered(ctx):
    """Each rank has the numbers of rank 0 among the bytes that it gathers."""

    def begun(weight):
        every = torch.zeros(2 * SIZE, SIZE)
        dist.all_gather_into_tensor(bytes_of(every), bytes_of(weight.detach()))
        return every[:SIZE].clone()

    return program(ctx, begun=begun)


def build_bytes_mixed(ctx):
    """The same, in room for bytes."""

    def begun(weight):
        every = torch.zeros(2 * SIZE, SIZE * 4, dtype=torch.uint8)
        dist.all_gather_into_tensor(every, bytes_of(weight.detach()))
        return every.view(torch.float32)[:SIZE].clone()

    return program(ctx, begun=begun)


def build_bytes_changed(ctx):
    """What is computed with bytes has no meaning as numbers."""

    def begun(weight):
        own = weight.detach().clone()
        bytes_of(own).bitwise_xor_(0)
        return own

    return program(ctx, begun=begun)


def agreed(weight):
    """Weights, scaled by what rank 0 sends into a constant of the others."""
    scale = torch.tensor(2.0 if dist.get_rank() == 0 else -1.0)
    dist.broadcast(scale, 0)
    return weight.detach() * scale.item()


def build_twice_single(ctx):
    return program(ctx, begun=lambda weight: weight.detach() * 2.0)


def build_twice(ctx):
    return program(ctx, begun=agreed)


def build_twice_own(ctx):
    """Wrong: each rank goes on with its own constant."""
    return program(ctx, begun=lambda weight: weight.detach() * torch.tensor(2.0 - 3.0 * ctx.rank).item())


def scaled(ctx, fused=False, early=False, how=dist.ReduceOp.AVG):
    """A step under a GradScaler, with a clipped norm. early: the norm is clipped before gradients are unscaled."""
    torch.manual_seed(2)
    x, model = torch.randn(ROWS // ctx.world, SIZE), torch.nn.Linear(SIZE, 2)
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.1, fused=fused)
    scaler = torch.amp.GradScaler("cpu", init_scale=64.0)

    def step():
        loss = model(x).square().mean()
        scaler.scale(loss).backward()
        if ctx.world > 1:
            for param in model.parameters():
                dist.all_reduce(param.grad, op=how)
        if early:
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        if not fused:
            scaler.unscale_(optimizer)
            if not early:
                torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
        return loss

    specs = {"x": shard(0, ctx.rank, ctx.world)} if ctx.world > 1 else {}
    return Program({"x": x}, model, step, optimizer=optimizer, specs=specs, loss=mean(ctx.rank, ctx.world))


def build_scaled_single(ctx):
    return scaled(ctx)


def build_scaled(ctx):
    return scaled(ctx)


def build_scaled_early(ctx):
    """Wrong: scaled gradients are clipped."""
    return scaled(ctx, early=True)


def build_fused_single(ctx):
    return scaled(ctx, fused=True)


def build_fused(ctx):
    return scaled(ctx, fused=True)


def build_fused_summed(ctx):
    """Wrong: gradients are added."""
    return scaled(ctx, fused=True, how=dist.ReduceOp.SUM)
