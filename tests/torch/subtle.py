"""Programs that are wrong in a small way; `build_<what>_right` is the twin of `build_<what>`, SINGLES names their
single-device program. The truth of each is what gloo processes on CPUs compute (tests/torch/truth.py).
"""

import math
from dataclasses import replace

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed._functional_collectives import all_gather_tensor_autograd
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.nn import functional as differentiable
from torch.distributed.tensor import DTensor, Partial, Replicate
from torch.nn import functional
from torch.nn.utils import parameters_to_vector, vector_to_parameters
from torch.utils.checkpoint import checkpoint

from verdict.torch import Program, mean, partial, piece, shard

ROWS, SIZE = 8, 4
SINGLES = {
    **dict.fromkeys(("build_reduced", "build_strided", "build_dealt", "build_copied", "build_early", "build_frozen"),
                    "build_linear_single"),
    **{f"build_{name}": f"build_{name}_single" for name in (
        "normed", "hook", "checkpointed", "entered", "tied", "carried", "shifted", "masked", "varied", "aliased",
        "gathered", "counted", "placed", "numbered", "narrow", "sharded", "attended", "filled", "emptied",
        "rounded", "token", "padded", "bucketed",
    )},
}  # fmt: skip
"""The single-device program of builders that begin so."""


def trained(ctx, model, x, loss_of, reduce=None, loss=None, **more):
    """A step of `model`: `reduce` gets its parameters after the backward pass, where there are other ranks."""

    def step():
        found = loss_of(model, x)
        found.backward()
        if reduce is not None and ctx.world > 1:
            reduce(list(model.parameters()))
        return found

    given = {"specs": {"x": shard(0, ctx.rank, ctx.world)}, "loss": mean(ctx.rank, ctx.world), **more}
    return Program(inputs={"x": x}, params=model, step=step, **({**given, "loss": loss} if loss else given))


def rows_of(ctx, width=SIZE):
    return torch.randn(ROWS // ctx.world, width)


def average(params):
    for param in params:
        dist.all_reduce(param.grad)
        param.grad /= dist.get_world_size()


def squared(model, x):
    return model(x).square().mean()


def linear(ctx, reduce):
    torch.manual_seed(0)
    return trained(ctx, nn.Linear(SIZE, SIZE), rows_of(ctx), squared, reduce)


def build_linear_single(ctx):
    return linear(ctx, None)


def build_reduced(ctx):
    """Gradients are reduced to rank 0, and the others use what is left of theirs."""

    def reduce(params):
        for param in params:
            dist.reduce(param.grad, 0)
            param.grad /= ctx.world

    return linear(ctx, reduce)


def build_reduced_right(ctx):
    def reduce(params):
        for param in params:
            dist.reduce(param.grad, 0)
            param.grad /= ctx.world
            dist.broadcast(param.grad, 0)

    return linear(ctx, reduce)


def normed(norm, x):
    return norm(x).pow(3).mean()


def build_normed_single(ctx):
    torch.manual_seed(0)
    return trained(ctx, nn.BatchNorm1d(SIZE), rows_of(ctx), normed)


def build_normed(ctx):
    """Each rank normalises by its own rows."""
    torch.manual_seed(0)
    return trained(ctx, nn.BatchNorm1d(SIZE), rows_of(ctx), normed, average)


def build_normed_right(ctx):
    """Each rank has all rows of its channels."""
    torch.manual_seed(0)
    part, cut = shard(0, ctx.rank, ctx.world), shard(1, ctx.rank, ctx.world)
    specs = {"x": cut, **dict.fromkeys(("weight", "bias", "running_mean", "running_var"), part)}
    norm, x = nn.BatchNorm1d(SIZE // ctx.world), torch.randn(ROWS, SIZE // ctx.world)

    def reduce(params):
        for param in params:
            param.grad /= ctx.world

    return trained(ctx, norm, x, normed, reduce, specs=specs)


def each(ctx, work):
    """A step of a linear layer whose gradients `work` reduces, one after the other."""

    def reduce(params):
        for param in params:
            work(param)
            param.grad /= ctx.world

    return linear(ctx, reduce)


def build_strided(ctx):
    """What is reduced does not lie in one piece, and is taken as it lies."""
    return each(ctx, lambda param: [dist.all_reduce(part) for part in param.grad.chunk(2, -1)])


def build_strided_right(ctx):
    def work(param):
        for part in param.grad.chunk(2, -1):
            room = part.clone(memory_format=torch.contiguous_format)
            dist.all_reduce(room)
            part.copy_(room)

    return each(ctx, work)


def dealt(ctx, order):
    """Rank 0 adds up what it gathers and deals it out; the pieces are gathered again."""

    def work(param):
        flat, own = param.grad.view(-1), torch.empty(param.numel() // ctx.world)
        parts = [torch.empty_like(flat) for _ in range(ctx.world)] if ctx.rank == 0 else None
        dist.gather(flat.clone(), parts, 0)
        pieces = list(sum(parts).chunk(ctx.world))[::order] if ctx.rank == 0 else None
        dist.scatter(own, pieces, 0)
        dist.all_gather_into_tensor(flat, own)

    return each(ctx, work)


def build_dealt(ctx):
    """The pieces are dealt out backwards."""
    return dealt(ctx, -1)


def build_dealt_right(ctx):
    return dealt(ctx, 1)


def build_copied(ctx):
    """A copy of the gradient is reduced."""
    return each(ctx, lambda param: dist.all_reduce(param.grad.reshape(2, -1).t().contiguous().view(-1)))


def build_copied_right(ctx):
    """A view of the gradient is reduced."""
    return each(ctx, lambda param: dist.all_reduce(param.grad.view(-1)))


def build_early(ctx):
    """Gradients are divided while they are reduced."""

    def reduce(params):
        works = [dist.all_reduce(param.grad, async_op=True) for param in params]
        torch._foreach_div_([param.grad for param in params], float(ctx.world))
        for work in works:
            work.wait()

    return linear(ctx, reduce)


def build_early_right(ctx):
    def reduce(params):
        works = [dist.all_reduce(param.grad, async_op=True) for param in params]
        for work in works:
            work.wait()
        torch._foreach_div_([param.grad for param in params], float(ctx.world))

    return linear(ctx, reduce)


def build_frozen(ctx):
    """Rank 1 has no gradient of the weight, and reduces one tensor less."""
    found = linear(ctx, lambda params: average([param for param in params if param.grad is not None]))
    found.params.weight.requires_grad_(ctx.rank == 0)
    return found


def build_frozen_right(ctx):
    return linear(ctx, lambda params: average([param for param in params if param.grad is not None]))


def weights(*names):
    torch.manual_seed(0)
    return nn.ParameterDict({name: nn.Parameter(torch.randn(SIZE, SIZE) * 0.5) for name in names})


def hooked(ctx, op, scale):
    """Two microbatches, whose accumulated gradient a hook reduces after each."""
    model, x, y = weights("w"), rows_of(ctx), rows_of(ctx)
    if ctx.world > 1:
        model["w"].register_post_accumulate_grad_hook(lambda param: dist.all_reduce(param.grad, op=op))

    def step():
        losses = [(part @ model["w"]).square().mean() / 2 for part in (x, y)]
        for loss in losses:
            loss.backward()
        model["w"].grad *= scale
        return sum(losses)

    specs = dict.fromkeys("xy", shard(0, ctx.rank, ctx.world))
    return Program(
        inputs={"x": x, "y": y}, params=model, step=step, specs=specs, loss=mean(ctx.rank, ctx.world)
    )  # fmt: skip


def build_hook_single(ctx):
    return hooked(ctx, None, 1)


def build_hook(ctx):
    """The first microbatch's sum is summed again."""
    return hooked(ctx, dist.ReduceOp.SUM, 1 / ctx.world)


def build_hook_right(ctx):
    """The mean of means is the mean."""
    return hooked(ctx, dist.ReduceOp.AVG, 1)


class Running(nn.Module):
    """A running mean of what a layer makes. once: not where its forward pass is computed again."""

    def __init__(self, once):
        super().__init__()
        self.layer, self.once, self.calls = nn.Linear(SIZE, SIZE), once, 0
        self.register_buffer("running", torch.ones(SIZE))

    def forward(self, x):
        y = self.layer(x)
        self.calls += 1
        if not self.once or self.calls == 1:
            now = y.detach().mean(0)
            dist.all_reduce(now)
            self.running.mul_(0.9).add_(now / dist.get_world_size() * 0.1)
        return y.tanh()


def running(ctx, again, once=False):
    torch.manual_seed(0)
    through = (lambda model, x: checkpoint(model, x, use_reentrant=False)) if again else (lambda model, x: model(x))
    return trained(ctx, Running(once), rows_of(ctx), lambda *given: through(*given).square().mean(), average)


def build_checkpointed_single(ctx):
    return running(ctx, False)


def build_checkpointed(ctx):
    """The forward pass that is computed again moves the running mean again."""
    return running(ctx, True)


def build_checkpointed_right(ctx):
    return running(ctx, True, once=True)


class Enter(torch.autograd.Function):
    """Megatron's f: the gradient is summed; times `scale`."""

    @staticmethod
    def forward(ctx, x, scale):
        ctx.scale = scale
        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad):
        grad = grad * ctx.scale
        dist.all_reduce(grad)
        return grad, None


def entered(ctx, scale):
    """A tensor parallel layer behind another one."""
    torch.manual_seed(0)
    model = nn.ParameterDict({"w": torch.randn(SIZE, SIZE), "up": torch.randn(SIZE, 2 * SIZE // ctx.world)})

    def loss_of(model, x):
        y = torch.relu(Enter.apply(x @ model["w"], scale) @ model["up"])
        return differentiable.all_reduce(y.sum()) / ROWS

    def reduce(params):
        model["up"].grad /= ctx.world
        model["w"].grad /= ctx.world

    specs = {"up": shard(1, ctx.rank, ctx.world)}
    return trained(ctx, model, torch.randn(ROWS, SIZE), loss_of, reduce, specs=specs, loss=mean(0, 1))


def build_entered_single(ctx):
    return entered(ctx, 1.0)


def build_entered(ctx):
    """The gradient is averaged where it must be summed."""
    return entered(ctx, 1 / ctx.world)


def build_entered_right(ctx):
    return entered(ctx, 1.0)


def tied(ctx, unique):
    """One weight under two names, which is reduced, and decayed, with its gradient."""
    model = weights("w", "v")
    names = {"into": model["w"], "between": model["v"], "out": model["w"]}

    def reduce(params):
        for param in unique(names):
            dist.all_reduce(param.grad)
            param.grad.div_(ctx.world).add_(param.detach(), alpha=0.1)

    def loss_of(model, x):
        return (x @ names["into"] @ names["between"] @ names["out"].t()).square().mean()

    program = trained(ctx, model, rows_of(ctx), loss_of)
    inner = program.step

    def step():
        loss = inner()
        reduce(None)
        return loss

    return Program(inputs=program.inputs, params=model, step=step, specs=program.specs, loss=program.loss)


def build_tied_single(ctx):
    return tied(ctx, lambda names: {id(param): param for param in names.values()}.values())


def build_tied(ctx):
    """Once for each name."""
    return tied(ctx, lambda names: names.values())


def build_tied_right(ctx):
    return tied(ctx, lambda names: dict.fromkeys(names.values()))


def sequence(ctx, loss_of, length=8):
    """A sequence that ranks share, and one weight."""
    torch.manual_seed(0)
    model = nn.ParameterDict({"w": torch.randn(SIZE)})
    x = torch.randn(2, length // ctx.world, SIZE)
    return trained(ctx, model, x, loss_of, average, specs={"x": shard(1, ctx.rank, ctx.world)})


def carried(ctx, counts):
    """Sums along the sequence. counts: whether another rank's last sum is added to this one's."""

    def loss_of(model, x):
        sums = (x * model["w"]).cumsum(1)
        lasts = differentiable.all_gather(sums[:, -1].contiguous()) if ctx.world > 1 else ()
        for rank, last in enumerate(lasts):
            sums = sums + last[:, None] * float(counts(rank))
        return sums.square().mean()

    return sequence(ctx, loss_of)


def build_carried_single(ctx):
    return carried(ctx, lambda rank: False)


def build_carried(ctx):
    """The sums of the ranks behind it are added."""
    return carried(ctx, lambda rank: rank > ctx.rank)


def build_carried_right(ctx):
    return carried(ctx, lambda rank: rank < ctx.rank)


def shifted(ctx, at):
    """Each token is mixed with the one before it, of which the first comes from the rank before."""

    def loss_of(model, x):
        edge = torch.zeros(2, SIZE)
        if ctx.rank + 1 < ctx.world:
            dist.send(x[:, at].contiguous(), ctx.rank + 1)
        if ctx.rank:
            dist.recv(edge, ctx.rank - 1)
        before = torch.cat([edge[:, None], x[:, :-1]], 1)
        return (x * model["w"] + before * (1 - model["w"])).square().mean()

    return sequence(ctx, loss_of)


def build_shifted_single(ctx):
    return shifted(ctx, -1)


def build_shifted(ctx):
    """The last but one."""
    return shifted(ctx, -2)


def build_shifted_right(ctx):
    return shifted(ctx, -1)


def masked(ctx, start):
    """Causal attention of own queries to gathered keys. start: the position of a rank's first query."""
    rows = ROWS // ctx.world

    def loss_of(model, x):
        keys, values = (torch.cat(differentiable.all_gather(each)) for each in (x @ model["k"], x))
        seen = torch.arange(rows)[:, None] + start(rows) >= torch.arange(ROWS)
        scores = ((x @ model["q"]) @ keys.t()).masked_fill(~seen, float("-inf"))
        return (scores.softmax(-1) @ values).square().mean()

    return trained(ctx, weights("q", "k"), rows_of(ctx), loss_of, average)


def build_masked_single(ctx):
    return masked(ctx, lambda rows: 0)


def build_masked(ctx):
    """One position too early."""
    return masked(ctx, lambda rows: ctx.rank * (rows - 1))


def build_masked_right(ctx):
    return masked(ctx, lambda rows: ctx.rank * rows)


def build_varied_single(ctx):
    return trained(ctx, weights("w"), rows_of(ctx), lambda model, x: (x @ model["w"]).var(0).square().sum())


def varied(ctx, less):
    """The variance of all rows, from the sums over those of each rank."""

    def loss_of(model, x):
        y = x @ model["w"]
        sums = differentiable.all_reduce(torch.stack([y.sum(0), y.square().sum(0)]))
        return ((sums[1] - sums[0] ** 2 / ROWS) / (ROWS - less)).square().sum()

    return trained(ctx, weights("w"), rows_of(ctx), loss_of, average, loss=mean(0, 1))


def build_varied(ctx):
    """The biased one."""
    return varied(ctx, 0)


def build_varied_right(ctx):
    return varied(ctx, 1)


def aliased(ctx, change):
    """Weights that are views of one vector after the step. change: what becomes of the vector then."""
    model = weights("w", "v")

    def reduce(params):
        average(params)
        update(params)

    def update(params):
        with torch.no_grad():
            vector = parameters_to_vector(params) - 0.1 * parameters_to_vector([param.grad for param in params])
            vector_to_parameters(vector, params)
            change(vector)

    found = trained(ctx, model, rows_of(ctx), lambda model, x: (x @ model["w"] @ model["v"]).square().mean(), reduce)
    inner = found.step

    def alone():
        loss = inner()
        update(list(model.parameters()))
        return loss

    return Program(inputs=found.inputs, params=model, step=inner if ctx.world > 1 else alone, specs=found.specs,
                   loss=found.loss)  # fmt: skip


def build_aliased_single(ctx):
    return aliased(ctx, lambda vector: None)


def build_aliased(ctx):
    """The vector is written to, and with it the weights."""
    return aliased(ctx, lambda vector: vector.mul_(1.5))


def build_aliased_right(ctx):
    return aliased(ctx, lambda vector: vector.clone().mul_(1.5))


def gathered(ctx, whole):
    """Columns of the output are gathered, as rows of what is transposed."""
    torch.manual_seed(0)
    model = nn.ParameterDict({"w": torch.randn(SIZE, SIZE // ctx.world)})

    def loss_of(model, x):
        y = (x @ model["w"]).t().contiguous()
        y = whole(all_gather_tensor_autograd(y, 0, list(range(ctx.world))))
        return (y * torch.arange(1.0, SIZE + 1)).square().mean()

    def reduce(params):
        model["w"].grad /= ctx.world

    specs = {"w": shard(1, ctx.rank, ctx.world)}
    return trained(ctx, model, torch.randn(ROWS, SIZE), loss_of, reduce, specs=specs, loss=mean(0, 1))


def build_gathered_single(ctx):
    return gathered(ctx, torch.t)


def build_gathered(ctx):
    """Seen in another shape where it should be transposed."""
    return gathered(ctx, lambda y: y.reshape(ROWS, SIZE))


def build_gathered_right(ctx):
    return gathered(ctx, torch.t)


class Counted(nn.Linear):
    """Counts its rows, those of `ranks` ranks that have as many."""

    def __init__(self, ranks):
        super().__init__(SIZE, SIZE)
        self.ranks = ranks
        self.register_buffer("count", torch.zeros((), dtype=torch.long))

    def forward(self, x):
        self.count += len(x) * self.ranks
        return super().forward(x)


def counted(ctx, ranks):
    torch.manual_seed(0)
    return trained(ctx, Counted(ranks), rows_of(ctx), squared, average)


def build_counted_single(ctx):
    return counted(ctx, 1)


def build_counted(ctx):
    """Each rank counts its own rows."""
    return counted(ctx, 1)


def build_counted_right(ctx):
    return counted(ctx, ctx.world)


def placed(ctx, placement):
    """A tensor parallel block whose output DTensor puts together."""
    torch.manual_seed(0)
    wide = 2 * SIZE // ctx.world
    model = nn.ParameterDict({"up": torch.randn(SIZE, wide), "down": torch.randn(wide, SIZE)})
    mesh = init_device_mesh("cpu", (ctx.world,))

    def loss_of(model, x):
        y = torch.relu(x @ model["up"]) @ model["down"]
        return DTensor.from_local(y, mesh, [placement]).redistribute(mesh, [Replicate()]).to_local().square().mean()

    cut = {"up": shard(1, ctx.rank, ctx.world), "down": shard(0, ctx.rank, ctx.world)}
    return trained(ctx, model, torch.randn(ROWS, SIZE), loss_of, specs=cut, loss=mean(0, 1))


def build_placed_single(ctx):
    return placed(ctx, Partial())


def build_placed(ctx):
    """Parts of a sum are taken for the whole."""
    return placed(ctx, Replicate())


def build_placed_right(ctx):
    return placed(ctx, Partial())


def numbered(ctx, first):
    """Rows in two groups, each scaled by its number; to the integers of rank 1 is added 1, and 1.0 to what that is."""
    torch.manual_seed(0)
    groups = 2 // ctx.world

    def loss_of(model, x):
        scales = 0.5 ** (first + torch.arange(groups) + 1.0)
        return (model(x).view(groups, -1, SIZE) * scales.view(-1, 1, 1)).square().mean()

    return trained(ctx, nn.Linear(SIZE, SIZE), rows_of(ctx), loss_of, average)


def build_numbered_single(ctx):
    return numbered(ctx, 0)


def build_numbered(ctx):
    return numbered(ctx, 0)


def build_numbered_right(ctx):
    return numbered(ctx, ctx.rank * 1)


def narrow(ctx, dtype):
    """Rows are kept by numbers in a narrow type: below 300 is below 44 in 8 bits, and -1 is 255."""
    torch.manual_seed(0)
    kinds = torch.arange(0, 16 * ROWS, 16, dtype=dtype)
    kinds = kinds.view(ctx.world, -1)[ctx.rank]

    def loss_of(model, x):
        return (model(x) * ((kinds < 300) | (kinds == -1)).unsqueeze(1)).square().mean()

    return trained(ctx, nn.Linear(SIZE, SIZE), rows_of(ctx), loss_of, average)


def build_narrow_single(ctx):
    return narrow(ctx, torch.int16)


def build_narrow(ctx):
    return narrow(ctx, torch.uint8)


def build_narrow_right(ctx):
    return narrow(ctx, torch.int32)


def sharded(ctx, whole):
    """FSDP2 by its own mesh, of the whole model or of one layer of it."""
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(SIZE, SIZE), nn.ReLU(), nn.Linear(SIZE, SIZE))
    if ctx.world > 1:
        fully_shard(model if whole else model[0])
    return trained(ctx, model, rows_of(ctx), squared)


def build_sharded_single(ctx):
    return sharded(ctx, True)


def build_sharded(ctx):
    """Nobody averages the gradients of the layer that is not sharded."""
    return sharded(ctx, False)


def build_sharded_right(ctx):
    return sharded(ctx, True)


def attended(ctx, attention, seen):
    """Attention to the tokens that are no padding. seen: of the ids, which are looked at."""
    torch.manual_seed(0)
    layer = nn.Linear(SIZE, SIZE)
    x, ids = torch.randn(ROWS // ctx.world, 3, SIZE), torch.randint(0, 9, (ROWS // ctx.world, 3))

    def step():
        loss = attention(layer(x), seen(ids)).square().sum()
        loss.backward()
        if ctx.world > 1:
            for param in layer.parameters():
                dist.all_reduce(param.grad)
        return loss

    specs = dict.fromkeys(("x", "ids"), shard(0, ctx.rank, ctx.world))
    loss = partial(ctx.rank, ctx.world)
    return Program(inputs={"x": x, "ids": ids}, params=layer, step=step, specs=specs, loss=loss)


def by_kernel(h, mask):
    h = h[:, None]
    return functional.scaled_dot_product_attention(h, h, h, attn_mask=mask[:, None, None, :])


def by_hand(h, mask):
    """A row that has nothing to attend to is zero."""
    scores = (h @ h.transpose(1, 2)).masked_fill(~mask[:, None, :], float("-inf"))
    return torch.ops.aten._safe_softmax(scores, -1) @ h


def build_attended_single(ctx):
    return attended(ctx, by_kernel, lambda ids: ids != 0)


def build_attended(ctx):
    """The mask of another sequence."""
    return attended(ctx, by_kernel, lambda ids: ids.roll(1, 0) != 0)


def build_attended_right(ctx):
    return attended(ctx, by_kernel, lambda ids: ids != 0)


def build_filled_single(ctx):
    return attended(ctx, by_hand, lambda ids: ids != 0)


def build_filled(ctx):
    """One more id is looked at."""
    return attended(ctx, by_hand, lambda ids: ids >= 0)


def build_filled_right(ctx):
    return attended(ctx, by_hand, lambda ids: ids != 0)


def emptied(ctx, counted):
    """Three rows, all of them on the first rank. counted: by how many rows the loss is divided."""
    torch.manual_seed(0)
    layer = nn.Linear(SIZE, SIZE)
    start, stop = (0, 3) if ctx.rank == 0 else (3, 3)
    x = torch.randn(stop - start, SIZE)

    def step():
        loss = layer(x).square().sum() / counted
        loss.backward()
        if ctx.world > 1:
            for param in layer.parameters():
                dist.all_reduce(param.grad)
        return loss

    return Program(
        inputs={"x": x}, params=layer, step=step, specs={"x": piece(0, start, stop, 3)},
        loss=partial(ctx.rank, ctx.world),
    )  # fmt: skip


def build_emptied_single(ctx):
    return emptied(ctx, 3)


def build_emptied(ctx):
    """An empty rank counts as a row."""
    return emptied(ctx, 3 + ctx.world - 1)


def build_emptied_right(ctx):
    return emptied(ctx, 3)


def counted_rows(ctx, places):
    """A loss on the rows of a table at positions that are counted from `first` on."""
    rows = SIZE // ctx.world
    first, table, x = 256 + ctx.rank * rows, nn.Embedding(264, 1), torch.randn(rows, 1)

    def loss_of(model, x):
        return (model(places(first, first + rows)) * x).sum()

    def reduce(params):
        dist.all_reduce(params[0].grad)

    return trained(ctx, table, x, loss_of, reduce, partial(ctx.rank, ctx.world))


def build_rounded_single(ctx):
    return counted_rows(ctx, torch.arange)


def build_rounded_right(ctx):
    """In 16 bits, of which 11 are significant."""
    return counted_rows(ctx, lambda first, end: torch.arange(first, end).half().long())


def build_rounded(ctx):
    """bfloat16 has no 257: the position is 256, whose row is read twice."""
    return counted_rows(ctx, lambda first, end: torch.arange(first, end, dtype=torch.bfloat16).long())


def build_rounded_cast(ctx):
    """Counted in integers, kept in bfloat16."""
    return counted_rows(ctx, lambda first, end: torch.arange(first, end).bfloat16().long())


def build_rounded_added(ctx):
    """Few positions, which bfloat16 holds, and the rank's first one, added to them in that type."""
    return counted_rows(ctx, lambda first, end: (torch.arange(end - first).bfloat16() + first).long())


def build_rounded_added_right(ctx):
    return counted_rows(ctx, lambda first, end: (torch.arange(end - first).half() + first).long())


def build_rounded_fraction(ctx):
    """In 16 bits 256.875 is 257."""
    return counted_rows(ctx, lambda first, end: (torch.arange(first, end).float() + 0.875).half().floor().long())


def build_rounded_fraction_right(ctx):
    return counted_rows(ctx, lambda first, end: (torch.arange(first, end).float() + 0.875).floor().long())


def build_rounded_quotient(ctx):
    """A 49th of a number, 49 times, is less than the number in 64 bits, or not."""
    return counted_rows(ctx, lambda first, end: (torch.arange(first - 202, end - 202).double() / 49 * 49).long() + 202)


def build_rounded_quotient_right(ctx):
    return counted_rows(ctx, lambda first, end: (torch.arange(first, end).double() / 64 * 64).long())


def build_rounded_compared(ctx):
    """Which positions are beyond the bound that holds all of them, in a type that holds every other one."""
    return counted_rows(ctx, lambda first, end: torch.arange(first, end) - beyond(first, end, torch.bfloat16))


def build_rounded_compared_right(ctx):
    return counted_rows(ctx, lambda first, end: torch.arange(first, end) - beyond(first, end, torch.half))


def beyond(first, end, dtype):
    return ((torch.arange(end - first).to(dtype) + first) >= 260).long()


def bucketed(ctx, begin):
    """Rows of a table at logarithms of positions, as distances have them that are far."""
    rows = 128 // ctx.world
    table, x = nn.Embedding(32, 1), torch.randn(rows, 1)

    def loss_of(model, x):
        places = torch.arange(rows) + begin * rows
        far = 16 + ((places.float().clamp(min=1) / 16).log() / math.log(8) * 16).long()
        return (model(torch.where(places < 16, places, far).clamp(max=31)) * x).sum()

    def reduce(params):
        dist.all_reduce(params[0].grad)

    return trained(ctx, table, x, loss_of, reduce, partial(ctx.rank, ctx.world))


def build_bucketed_single(ctx):
    return bucketed(ctx, 0)


def build_bucketed_right(ctx):
    return bucketed(ctx, ctx.rank)


def build_bucketed(ctx):
    """Each rank counts from its own first position."""
    return bucketed(ctx, 0)


class Token(nn.Module):
    """A row that all have in common."""

    def __init__(self):
        super().__init__()
        self.row = nn.Parameter(torch.randn(1, 1, SIZE))

    def forward(self, x):
        return x * self.row


def tokens(ctx, scale=1.0):
    model, x = Token(), torch.randn(ROWS // ctx.world, 2, SIZE)
    if ctx.world > 1:
        fully_shard(model, mesh=init_device_mesh("cpu", (ctx.world,)))
    return trained(ctx, model, x, lambda model, x: model(x).square().mean() * scale)


def build_token_single(ctx):
    return tokens(ctx)


def build_token_right(ctx):
    """The second rank has no element of the row."""
    return tokens(ctx)


def build_token(ctx):
    return tokens(ctx, scale=1.0 / ctx.world)


def padded(ctx, words):
    """Scores of 8 classes, of which the first 6 are words. words: the classes that are scored."""
    model = nn.Sequential(nn.Linear(SIZE, SIZE), nn.Tanh(), nn.Linear(SIZE, 8))
    x, y = rows_of(ctx), torch.randint(6, (ROWS // ctx.world,))

    def loss_of(model, x):
        return functional.cross_entropy(model(x).masked_fill(torch.arange(8) >= words, float("-inf")), y)

    program = trained(ctx, model, x, loss_of, average)
    part = shard(0, ctx.rank, ctx.world)
    return replace(program, inputs={"x": x, "y": y}, specs={"x": part, "y": part}, ranges={"y": (0, 5)})


def build_padded_single(ctx):
    return padded(ctx, 6)


def build_padded_right(ctx):
    return padded(ctx, 6)


def build_padded(ctx):
    """A class that is no word is scored."""
    return padded(ctx, 7)
