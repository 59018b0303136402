"""Programs of parts of unlike sizes: sequences that are packed by their lengths, nodes of a graph with their edges,
labels of a sequence that is cut and ends, halos. Each beside twins that are wrong.
"""

import torch
import torch.distributed as dist
from torch import nn
from torch.nn import functional
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from verdict.torch import Program, mean, partial, piece, shard

LENGTHS, TIME, CLASSES = (3, 2, 2, 1), 3, 3
FROM, TO, NODES, SIZE = (0, 1, 2, 3, 0, 2, 1, 3), (1, 2, 3, 0, 2, 0, 3, 1), 4, 2


def summed(params, world, divisor=1):
    for param in params if world > 1 else ():
        dist.all_reduce(param.grad)
        param.grad /= divisor


def packed(ctx, counts=True, shifted=0):
    """The mean over all tokens of all ranks. counts: whether ranks add up how many they have. shifted: by how many
    sequences a rank is wrong about which lengths are its own.
    """
    rows = 4 // ctx.world
    first = (ctx.rank * rows + shifted) % 4
    lengths = torch.tensor(LENGTHS[first : first + rows])
    network = nn.GRU(2, 2, batch_first=True)
    head = nn.Linear(2, CLASSES)
    x, labels = torch.randn(rows, TIME, 2), torch.randint(0, CLASSES, (rows, TIME))

    def step():
        found, _ = pad_packed_sequence(network(pack_padded_sequence(x, lengths, True))[0], True, total_length=TIME)
        each = functional.cross_entropy(head(found).flatten(0, 1), labels.flatten(), reduction="none").view(rows, TIME)
        mask = torch.arange(TIME) < lengths[:, None]
        count = mask.sum().to(each.dtype)
        if ctx.world > 1 and counts:
            dist.all_reduce(count)
        loss = (each * mask).sum() / count
        loss.backward()
        summed([*network.parameters(), *head.parameters()], ctx.world)
        return loss

    cut = shard(0, ctx.rank, ctx.world)
    params = nn.ModuleDict({"network": network, "head": head})
    specs = {"x": cut, "labels": cut}
    return Program({"x": x, "labels": labels}, params, step, specs=specs, loss=partial(ctx.rank, ctx.world))


class Gather(torch.autograd.Function):
    """The features of all nodes; gradients of what other ranks read go home, where they do."""

    @staticmethod
    def forward(context, own, home):
        context.home = home
        found = [torch.empty_like(own) for _ in range(dist.get_world_size())]
        dist.all_gather(found, own.contiguous())
        return torch.cat(found)

    @staticmethod
    def backward(context, grad):
        grad = grad.clone()
        if context.home:
            dist.all_reduce(grad)
        return grad.chunk(dist.get_world_size())[dist.get_rank()], None


def graph(ctx, home=True, ends=TO, learns=True):
    """Messages along edges, each rank with its nodes and the edges that end there; two layers."""
    rows = NODES // ctx.world
    first = ctx.rank * rows
    layers = nn.ModuleList([nn.Linear(SIZE, SIZE), nn.Linear(SIZE, SIZE)])
    own = [k for k in range(len(TO)) if first <= ends[k] < first + rows]
    source, target = torch.tensor(FROM)[own], torch.tensor(TO)[own] - first
    target = target % rows
    x, due = torch.randn(rows, SIZE), torch.randn(rows, SIZE)

    def step():
        held = x
        for layer in layers:
            every = Gather.apply(held, home) if ctx.world > 1 else held
            every = every if learns else every.detach()
            held = torch.tanh(held + torch.zeros_like(held).index_add(0, target, layer(every[source])))
        loss = functional.mse_loss(held, due)
        loss.backward()
        summed(layers.parameters(), ctx.world, ctx.world)
        return loss

    cut = shard(0, ctx.rank, ctx.world)
    return Program({"x": x, "due": due}, layers, step, specs={"x": cut, "due": cut}, loss=mean(ctx.rank, ctx.world))


def labelled(ctx, last=TIME):
    """A sequence cut over ranks; the label of its last place, which is none, is left out by a mask of places."""
    size = 2 * 2 // ctx.world
    head, table = nn.Linear(SIZE, CLASSES), nn.Embedding(CLASSES, SIZE)
    ids, labels = torch.randint(0, CLASSES, (2, size)), torch.randint(0, CLASSES, (2, size))

    def step():
        ends = torch.arange(size) + ctx.rank * size >= last
        due = labels.masked_fill(ends, -100).flatten()
        loss = functional.cross_entropy(head(table(ids)).flatten(0, 1), due, reduction="sum") / (2 * TIME)
        loss.backward()
        summed([*head.parameters(), *table.parameters()], ctx.world)
        return loss

    cut = shard(1, ctx.rank, ctx.world)
    params, given = nn.ModuleDict({"head": head, "table": table}), {"ids": ids, "labels": labels}
    return Program(given, params, step, specs=dict.fromkeys(given, cut), loss=partial(ctx.rank, ctx.world))


class Before(torch.autograd.Function):
    """The last column of the rank before; its gradient goes back."""

    @staticmethod
    def forward(context, ends):
        found = [torch.empty_like(ends) for _ in range(dist.get_world_size())]
        dist.all_gather(found, ends.contiguous())
        return found[dist.get_rank() - 1] if dist.get_rank() else torch.zeros_like(ends)

    @staticmethod
    def backward(context, grad):
        found, behind = [torch.empty_like(grad) for _ in range(dist.get_world_size())], dist.get_rank() + 1
        dist.all_gather(found, grad.contiguous())
        return found[behind] if behind < len(found) else torch.zeros_like(grad)


def causal(ctx, halo=True):
    """A convolution along time, which is cut over ranks. halo: whether ranks have what is before their part."""
    size = 4 // ctx.world
    layers = nn.ModuleList([nn.Conv1d(2, 2, 2), nn.Conv1d(2, 2, 2)])
    x, due = torch.randn(2, 2, size), torch.randn(2, 2, size)

    def step():
        held = x
        for layer in layers:
            ends = held[..., -1:]
            before = Before.apply(ends) if ctx.world > 1 and halo else torch.zeros_like(ends)
            held = layer(torch.cat([before, held], -1))
        loss = functional.smooth_l1_loss(held, due)
        loss.backward()
        summed(layers.parameters(), ctx.world, ctx.world)
        return loss

    cut = shard(2, ctx.rank, ctx.world)
    return Program({"x": x, "due": due}, layers, step, specs={"x": cut, "due": cut}, loss=mean(ctx.rank, ctx.world))


def blocks(ctx, apart=True):
    """Sequences that lie end to end and attend to themselves alone. The second rank has none. apart: whether a rank's
    sequences are told apart.
    """
    own = (3, 1) if ctx.rank == 0 else ()
    tokens = sum(own)
    q, k = (nn.Parameter(torch.randn(2, 2)) for _ in range(2))
    x = torch.randn(tokens, 2)

    def step():
        numbers = torch.cat([torch.full((count,), number) for number, count in enumerate(own or (0,))])
        places = torch.cat([torch.arange(count) for count in own or (0,)])
        seen = places[:, None] >= places
        if apart:
            seen = seen & (numbers[:, None] == numbers)
        scores = ((x @ q) @ (x @ k).T).masked_fill(~seen, float("-inf"))
        loss = (scores.softmax(-1) @ x).square().sum()
        loss.backward()
        summed([q, k], ctx.world)
        return loss

    specs = {"x": piece(0, 4 * ctx.rank, 4 * ctx.rank + tokens, 4)}
    return Program({"x": x}, {"q": q, "k": k}, step, specs=specs, loss=partial(ctx.rank, ctx.world))


def build_blocks_single(ctx):
    return blocks(ctx)


def build_blocks(ctx):
    return blocks(ctx)


def build_blocks_joined(ctx):
    """Wrong: tokens attend to those of other sequences."""
    return blocks(ctx, apart=False)


def build_causal_single(ctx):
    return causal(ctx)


def build_causal(ctx):
    return causal(ctx)


def build_causal_without(ctx):
    return causal(ctx, halo=False)


def build_packed_single(ctx):
    return packed(ctx)


def build_packed(ctx):
    return packed(ctx)


def build_packed_own_count(ctx):
    return packed(ctx, counts=False)


def build_packed_other_lengths(ctx):
    return packed(ctx, shifted=2)


def build_graph_single(ctx):
    return graph(ctx)


def build_graph(ctx):
    return graph(ctx)


def build_graph_kept(ctx):
    return graph(ctx, home=False)


def build_graph_detached(ctx):
    return graph(ctx, learns=False)


def build_graph_other_edges(ctx):
    return graph(ctx, ends=FROM)


def build_labelled_single(ctx):
    return labelled(ctx)


def build_labelled(ctx):
    return labelled(ctx)


def build_labelled_end(ctx):
    return labelled(ctx, last=TIME + 1)
