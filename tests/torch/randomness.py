"""Programs that draw random numbers in their steps, right and wrong ones."""

import torch
import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import DTensor, Replicate, Shard
from torch.nn import functional
from torch.utils.checkpoint import checkpoint

from verdict.torch import Program, mean, shard

BATCH, HIDDEN, FFN = 4, 6, 8


class Net(torch.nn.Module):
    """Two layers with dropout between and behind them. count: ranks that have a part of the inner features each."""

    def __init__(self, count=1, again=None, inner=0.0):
        super().__init__()
        self.up = torch.nn.Linear(HIDDEN, FFN // count, bias=False)
        self.down = torch.nn.Linear(FFN // count, HIDDEN, bias=False)
        self.inner = torch.nn.Dropout(inner)
        self.drop = torch.nn.Dropout(0.25)
        self.count, self.again = count, again

    def block(self, x):
        y = functional.relu(self.up(Enter.apply(x) if self.count > 1 else x))
        y = self.down(self.inner(y))
        return self.drop(Leave.apply(y) if self.count > 1 else y)

    def forward(self, x):
        if self.again is None:
            return x + self.block(x)
        return x + checkpoint(self.block, x, use_reentrant=False, preserve_rng_state=self.again)


class Enter(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad):
        grad = grad.clone()
        dist.all_reduce(grad)
        return grad


class Leave(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        x = x.clone()
        dist.all_reduce(x)
        return x

    @staticmethod
    def backward(ctx, grad):
        return grad


def program(model, seed, rows=BATCH, reduce=None, forward=None, **more):
    x, target = torch.randn(rows, HIDDEN), torch.randn(rows, HIDDEN)

    def step():
        if seed is not None:
            torch.manual_seed(seed)
        loss = functional.mse_loss((forward or model)(x), target)
        loss.backward()
        if reduce is not None:
            reduce(model)
        return loss

    return Program(inputs={"x": x, "target": target}, params=model, step=step, **more)


def build_single(ctx):
    return program(Net(), 1)


def build_single_other_seed(ctx):
    return program(Net(), 2)


def build_single_inner(ctx):
    return program(Net(inner=0.5), 1)


def tensor(ctx, seed, again=None, inner=0.0, forward=None):
    torch.manual_seed(ctx.rank)
    specs = {"up.weight": shard(0, ctx.rank, ctx.world), "down.weight": shard(1, ctx.rank, ctx.world)}
    return program(Net(ctx.world, again, inner), seed, specs=specs)


def build_tp(ctx):
    """Right: what is dropped is whole on every rank, and all ranks have one seed."""
    return tensor(ctx, 1)


def build_tp_seeds(ctx):
    """Wrong: copies are dropped by each rank's own mask."""
    return tensor(ctx, 1 + ctx.rank)


def build_tp_unseeded(ctx):
    """Wrong: each rank has another seed from its set-up."""
    return tensor(ctx, None)


def build_checkpointed(ctx):
    """Right: the recomputation restores the state."""
    return program(Net(again=True), 1)


def build_checkpointed_otherwise(ctx):
    """Wrong: the backward pass drops other elements than the forward pass."""
    return program(Net(again=False), 1)


def build_tp_checkpointed(ctx):
    return tensor(ctx, 1, again=True)


def build_tp_checkpointed_otherwise(ctx):
    return tensor(ctx, 1, again=False)


class Tracked(Net):
    """The inner features are dropped from a state of the rank's own, as Megatron's tracker does it."""

    apart = 0

    def block(self, x):
        y = functional.relu(self.up(Enter.apply(x)))
        with torch.random.fork_rng(devices=()):
            torch.manual_seed(100 + self.apart)
            y = self.inner(y)
        return self.drop(Leave.apply(self.down(y)))


def tracked(ctx, apart):
    specs = {"up.weight": shard(0, ctx.rank, ctx.world), "down.weight": shard(1, ctx.rank, ctx.world)}
    model = Tracked(ctx.world, inner=0.5)
    model.apart = apart
    return program(model, 1, specs=specs)


def build_tracked(ctx):
    """Right by law: shards are dropped by masks of their own, copies by one."""
    return tracked(ctx, ctx.rank)


def build_tracked_alike(ctx):
    """Wrong: unlike shards are dropped by one mask."""
    return tracked(ctx, 0)


def data(ctx, seed, average=True, again=None, model=None, forward=None):
    def reduce(model):
        for param in model.parameters():
            dist.all_reduce(param.grad)
            param.grad /= ctx.world

    rows = shard(0, ctx.rank, ctx.world)
    torch.manual_seed(0)
    return program(
        model or Net(again=again), seed, BATCH // ctx.world, reduce if average else None, forward,
        specs={"x": rows, "target": rows}, loss=mean(ctx.rank, ctx.world),
    )  # fmt: skip


def build_dp(ctx):
    """Right by law: each rank's rows are dropped by its own mask."""
    return data(ctx, 10 + ctx.rank)


def build_dp_same(ctx):
    """Wrong: the rows of all ranks are dropped by one mask."""
    return data(ctx, 10)


def build_dp_unreduced(ctx):
    """Wrong, whatever is drawn: nobody adds the gradients."""
    return data(ctx, 10 + ctx.rank, average=False)


def build_dp_checkpointed(ctx):
    return data(ctx, 10 + ctx.rank, again=True)


def build_dp_checkpointed_otherwise(ctx):
    return data(ctx, 10 + ctx.rank, again=False)


def accumulated(ctx, seed, again):
    """Two microbatches, one after the other. again: whether the second is seeded as the first."""
    model = Net()
    size = BATCH // ctx.world // 2
    x, target = torch.randn(2 * size, HIDDEN), torch.randn(2 * size, HIDDEN)

    def step():
        total = 0
        torch.manual_seed(seed)
        for at in range(2):
            if again:
                torch.manual_seed(seed)
            rows = slice(at * size, (at + 1) * size)
            loss = functional.mse_loss(model(x[rows]), target[rows]) / 2
            loss.backward()
            total = total + loss.detach()
        for param in model.parameters():
            dist.all_reduce(param.grad, op=dist.ReduceOp.AVG)
        return total

    rows = shard(0, ctx.rank, ctx.world)
    specs = {"x": rows, "target": rows}
    return Program({"x": x, "target": target}, model, step, specs=specs, loss=mean(ctx.rank, ctx.world))


def build_accumulated(ctx):
    """Right by law: each microbatch of each rank has a mask of its own."""
    return accumulated(ctx, 10 + ctx.rank, False)


def build_accumulated_same(ctx):
    """Wrong: both microbatches of a rank have one mask."""
    return accumulated(ctx, 10 + ctx.rank, True)


def parts(ctx, seed):
    """Each rank draws a whole mask, and uses its rows of it."""
    model = Net()

    def forward(x):
        mask = torch.empty(BATCH, HIDDEN).bernoulli_(0.75)
        return x + model.down(functional.relu(model.up(x))) * (mask.chunk(ctx.world)[ctx.rank] / 0.75)

    return data(ctx, seed, model=model, forward=forward)


def build_parts_of_one(ctx):
    """Right: the mask is the one that one device draws."""
    return parts(ctx, 1)


def build_parts_of_own(ctx):
    """Right by law, and not followed: each rank has a mask of its own."""
    return parts(ctx, 10 + ctx.rank)


def build_unscaled(ctx):
    """Wrong: what is kept is not scaled."""

    def forward(x):
        y = model.down(functional.relu(model.up(x)))
        return x + y * torch.empty_like(y).bernoulli_(0.75)

    model = Net()
    return data(ctx, 10 + ctx.rank, model=model, forward=forward)


def dropped(drop, seed=1):
    """On one device: what `drop` makes of the block's output."""
    model = Net()

    def forward(x):
        return x + drop(model.down(functional.relu(model.up(x))))

    return program(model, seed, forward=forward)


def build_restored(ctx):
    """Right: two draws from one state are one mask."""

    def drop(y):
        state = torch.get_rng_state()
        first = functional.dropout(y, 0.25)
        torch.set_rng_state(state)
        return (first + functional.dropout(y, 0.25)) / 2

    return dropped(drop)


def build_not_restored(ctx):
    """Wrong: the second mask is another one."""
    return dropped(lambda y: (functional.dropout(y, 0.25) + functional.dropout(y, 0.25)) / 2)


def build_squared(ctx):
    """Right: what is drawn is zero or one."""
    return dropped(lambda y: y * (torch.empty_like(y).bernoulli_(0.75) ** 2 / 0.75))


def on_dtensors(ctx, placement):
    """What is dropped is a DTensor on the way: on CPUs each rank draws from its own generator as it stands."""
    model, mesh = Net(), init_device_mesh("cpu", (ctx.world,))

    def forward(x):
        inner = model.down(functional.relu(model.up(x)))
        spread = DTensor.from_local(inner, mesh, [Replicate()]).redistribute(mesh, [placement])
        return x + model.drop(spread).redistribute(mesh, [Replicate()]).to_local()

    return program(model, 1, forward=forward)


def build_dtensor(ctx):
    return on_dtensors(ctx, Replicate())


def build_dtensor_shards(ctx):
    """Wrong: each rank drops its columns by the mask of the first ones."""
    return on_dtensors(ctx, Shard(1))
