"""Forms that libraries use: products on memory that is not read, groups of a backend and devices that are not here."""

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard

from verdict.torch import Program, cuda_as_cpu, mean, partial, shard

ROWS, SIZE = 4, 3


def program(ctx, product, group=None):
    """Data parallel by hand: gradients are averaged over a group."""
    torch.manual_seed(0)
    weight, x = nn.Parameter(torch.randn(1, SIZE, SIZE)), torch.randn(1, ROWS // ctx.world, SIZE)

    def step():
        loss = product(x, weight).square().mean()
        loss.backward()
        if ctx.world > 1:
            dist.all_reduce(weight.grad, op=dist.ReduceOp.SUM, group=group)
            weight.grad /= ctx.world
        return loss

    specs = {"x": shard(1, ctx.rank, ctx.world)}
    return Program(inputs={"x": x}, params={"w": weight}, step=step, specs=specs, loss=mean(ctx.rank, ctx.world))


def unread(x, weight):
    """As Megatron-Core's attention computes its scores."""
    return torch.baddbmm(torch.empty(1, x.shape[1], SIZE), x, weight, beta=0.0, alpha=0.5)


def read(x, weight):
    return torch.baddbmm(torch.empty(1, x.shape[1], SIZE), x, weight, beta=1.0, alpha=0.5)


def build_unread_single(ctx):
    return program(ctx, unread)


def build_unread_right(ctx):
    return program(ctx, unread)


def build_unread(ctx):
    """The product is added to memory that holds anything."""
    return program(ctx, read)


def build_group_single(ctx):
    return program(ctx, torch.matmul)


def build_group_right(ctx):
    return program(ctx, torch.matmul, dist.new_group(backend="nccl"))


def build_group(ctx):
    """A group for each rank."""
    groups = [dist.new_group([rank], backend="nccl") for rank in range(ctx.world)]
    return program(ctx, torch.matmul, groups[ctx.rank])


def viewed(x, weight, factor=2):
    """As Megatron-Core's loss does: a view without gradients, of what is written in place with them."""
    made = x @ weight
    with torch.no_grad():
        view = made.view(-1)
    made.mul_(factor)
    with torch.no_grad():
        kept = view + 1
    return made * kept.view_as(made)


def build_viewed_single(ctx):
    return program(ctx, viewed)


def build_viewed_right(ctx):
    return program(ctx, viewed)


def build_viewed(ctx):
    """It is multiplied by another number."""
    return program(ctx, lambda x, weight: viewed(x, weight, 3))


def on_a_gpu(x, weight):
    """As libraries that are written for GPUs alone place what they make."""
    with cuda_as_cpu():
        table = torch.arange(SIZE, device="cuda").to(torch.cuda.current_device()) * torch.ones([], device="cuda").cuda()
        assert weight.type() == "torch.cuda.FloatTensor"
        return x @ weight * table.to("cuda:0")


def build_gpu_single(ctx):
    return program(ctx, on_a_gpu)


def build_gpu_right(ctx):
    return program(ctx, on_a_gpu)


def build_gpu(ctx):
    """Its table begins with one."""
    return program(ctx, lambda x, weight: x @ weight * torch.arange(1, SIZE + 1))


def divided(ctx, own):
    """FSDP2 that adds gradients. own: whether each rank divides its loss by its own rows and not by all of them."""
    model, x = nn.Linear(SIZE + 1, SIZE + 1), torch.randn(ROWS // ctx.world, SIZE + 1)
    if ctx.world > 1:
        fully_shard(model, mesh=init_device_mesh("cpu", (ctx.world,)))
        model.set_gradient_divide_factor(1.0)

    def step():
        loss = model(x).square().sum() / (len(x) if own else ROWS)
        loss.backward()
        return loss

    share = mean(ctx.rank, ctx.world) if own else partial(ctx.rank, ctx.world)
    return Program(inputs={"x": x}, params=model, step=step, specs={"x": shard(0, ctx.rank, ctx.world)}, loss=share)


def build_divided_single(ctx):
    return divided(ctx, own=False)


def build_divided_right(ctx):
    return divided(ctx, own=False)


def build_divided(ctx):
    """The mean of each rank, of which the gradients are added."""
    return divided(ctx, own=True)


def narrow(ctx, factor):
    """FSDP2 that computes in 16 bits and reduces in 32, then AdamW."""
    model, x = nn.Linear(SIZE + 1, SIZE + 1), torch.randn(ROWS // ctx.world, SIZE + 1)
    if ctx.world > 1:
        types = MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32)
        fully_shard(model, mesh=init_device_mesh("cpu", (ctx.world,)), mp_policy=types)
        model.set_gradient_divide_factor(factor)
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)

    def step():
        loss = model(x).square().mean()
        loss.backward()
        optimizer.step()
        return loss

    given = {"inputs": {"x": x}, "params": model, "optimizer": optimizer, "loss": mean(ctx.rank, ctx.world)}
    return Program(step=step, specs={"x": shard(0, ctx.rank, ctx.world)}, **given)


def build_narrow_single(ctx):
    return narrow(ctx, 1.0)


def build_narrow_right(ctx):
    return narrow(ctx, float(ctx.world))


def build_narrow(ctx):
    """Gradients are added where their mean is due."""
    return narrow(ctx, 1.0)


def fused(ctx, one_operator, rate):
    """Two steps of AdamW, with one operator for all weights or without."""
    torch.manual_seed(0)
    model, x = nn.Linear(SIZE, SIZE), torch.randn(ROWS // ctx.world, SIZE)
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01, weight_decay=0.1, betas=(0.9, rate), fused=one_operator)

    def step():
        for _ in range(2):
            optimizer.zero_grad()
            loss = model(x).square().mean()
            loss.backward()
            for param in model.parameters() if ctx.world > 1 else ():
                dist.all_reduce(param.grad, op=dist.ReduceOp.AVG)
            optimizer.step()
        return loss

    given = {"inputs": {"x": x}, "params": model, "optimizer": optimizer, "loss": mean(ctx.rank, ctx.world)}
    return Program(step=step, specs={"x": shard(0, ctx.rank, ctx.world)}, **given)


def build_fused_single(ctx):
    return fused(ctx, False, 0.99)


def build_fused_right(ctx):
    return fused(ctx, True, 0.99)


def build_fused(ctx):
    """Another beta."""
    return fused(ctx, True, 0.98)


def before(ctx, start):
    """A state of the optimizer that is made like the weights, before the step and before these are named."""
    torch.manual_seed(0)
    model, x = nn.Linear(SIZE, SIZE), torch.randn(ROWS // ctx.world, SIZE)
    optimizer = torch.optim.Adagrad(model.parameters(), lr=0.01, initial_accumulator_value=start)
    scale = torch.ones_like(model.bias) + 2 * torch.zeros_like(model.bias)

    def step():
        loss = (model(x) * scale).square().mean()
        loss.backward()
        for param in model.parameters() if ctx.world > 1 else ():
            dist.all_reduce(param.grad, op=dist.ReduceOp.AVG)
        optimizer.step()
        return loss

    given = {"inputs": {"x": x}, "params": model, "optimizer": optimizer, "loss": mean(ctx.rank, ctx.world)}
    return Program(step=step, specs={"x": shard(0, ctx.rank, ctx.world)}, **given)


def build_before_single(ctx):
    return before(ctx, 0.5)


def build_before_right(ctx):
    return before(ctx, 0.5)


def build_before(ctx):
    """The state begins with another number."""
    return before(ctx, 0.25)


class OnAGpu(torch.autograd.Function):
    """As libraries place what they make on the way back."""

    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, gradient):
        return torch.empty(gradient.shape, device=torch.cuda.current_device()).copy_(gradient) * 2


def sharded(ctx, how):
    """Gradients of two weights are scattered in one call, and their sums are gathered again."""
    weights = {name: nn.Parameter(torch.randn(SIZE + 1, SIZE + 1)) for name in ("a", "b")}
    x = torch.randn(ROWS // ctx.world, SIZE + 1)

    def step():
        with cuda_as_cpu():
            loss = (OnAGpu.apply(x @ weights["a"]) @ weights["b"]).square().mean()
            loss.backward()
        if ctx.world > 1:
            pieces = [weight.grad.new_empty(len(weight) // ctx.world, SIZE + 1) for weight in weights.values()]
            with dist._coalescing_manager():
                for piece, weight in zip(pieces, weights.values(), strict=True):
                    dist.reduce_scatter_tensor(piece, weight.grad, op=how)
            for piece, weight in zip(pieces, weights.values(), strict=True):
                dist.all_gather_into_tensor(weight.grad, piece / ctx.world)
        return loss

    specs = {"x": shard(0, ctx.rank, ctx.world)}
    return Program(inputs={"x": x}, params=weights, step=step, specs=specs, loss=mean(ctx.rank, ctx.world))


def build_coalesced_single(ctx):
    return sharded(ctx, dist.ReduceOp.SUM)


def build_coalesced_right(ctx):
    return sharded(ctx, dist.ReduceOp.SUM)


def build_coalesced(ctx):
    """Of the gradients the greatest is taken."""
    return sharded(ctx, dist.ReduceOp.MAX)


def layered(ctx, averaged=slice(None)):
    """Data parallel by hand, with a layer that torch computes as one operator of another library where it may.

    averaged: which of the parameters' gradients are.
    """
    model, x = nn.LSTM(SIZE, 2, batch_first=True), torch.randn(ROWS // ctx.world, 2, SIZE)

    def step():
        loss = model(x)[0].square().mean()
        loss.backward()
        for weight in list(model.parameters())[averaged] if ctx.world > 1 else ():
            dist.all_reduce(weight.grad)
            weight.grad /= ctx.world
        return loss

    return Program({"x": x}, model, step, specs={"x": shard(0, ctx.rank, ctx.world)}, loss=mean(ctx.rank, ctx.world))


def build_layered_single(ctx):
    return layered(ctx)


def build_layered_right(ctx):
    return layered(ctx)


def build_layered(ctx):
    return layered(ctx, slice(1, None))


def ignoring(ctx, ignored):
    """Every rank has the whole batch, of which targets of one class may be ignored, all of them too."""
    model, x, target = nn.Linear(SIZE, 4), torch.randn(ROWS, SIZE), torch.zeros(ROWS, dtype=torch.int64)

    def step():
        loss = nn.functional.cross_entropy(model(x), target, ignore_index=ignored)
        loss.backward()
        return loss

    return Program({"x": x, "target": target}, model, step, ranges={"target": (0, 3)})


def build_ignoring_single(ctx):
    return ignoring(ctx, 0)


def build_ignoring_right(ctx):
    return ignoring(ctx, 0)


def build_ignoring(ctx):
    return ignoring(ctx, -100)
