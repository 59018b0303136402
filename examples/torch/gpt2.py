"""GPT-2: learned positions, layer norms and linears with biases, fused query, key and value, tied embeddings.

Data parallel by DistributedDataParallel, which needs real tensors:

verdict torch examples/torch/gpt2.py --world 2 --tensors real
"""

import torch
from torch import nn
from torch.nn import functional
from torch.nn.parallel import DistributedDataParallel

from verdict.torch import Program, mean, shard

VOCAB, DIM, HEADS, LAYERS, BATCH, SEQ = 6, 8, 4, 1, 2, 4
WIDTH = DIM // HEADS


def attend(qkv):
    """Causal attention of fused projections [batch, seq, heads * 3 * WIDTH], head by head query, key and value."""
    batch, seq, _ = qkv.shape
    q, k, v = qkv.view(batch, seq, -1, 3 * WIDTH).transpose(1, 2).split(WIDTH, dim=-1)
    mixed = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
    return mixed.transpose(1, 2).reshape(batch, seq, -1)


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.qkv, self.out = nn.Linear(DIM, 3 * DIM), nn.Linear(DIM, DIM)

    def forward(self, x):
        return self.out(attend(self.qkv(x)))


class FeedForward(nn.Module):
    def __init__(self):
        super().__init__()
        self.up, self.down = nn.Linear(DIM, 4 * DIM), nn.Linear(4 * DIM, DIM)

    def forward(self, x):
        return self.down(functional.gelu(self.up(x), approximate="tanh"))


class Block(nn.Module):
    def __init__(self, attention=Attention, feed_forward=FeedForward):
        super().__init__()
        self.first_norm, self.attention = nn.LayerNorm(DIM), attention()
        self.second_norm, self.feed_forward = nn.LayerNorm(DIM), feed_forward()

    def forward(self, x):
        x = x + self.attention(self.first_norm(x))
        return x + self.feed_forward(self.second_norm(x))


class Gpt2(nn.Module):
    """The tokens' embedding is the output's weight, too."""

    def __init__(self, block=Block, embedding=nn.Embedding, vocabulary=VOCAB):
        super().__init__()
        self.tokens, self.positions = embedding(vocabulary, DIM), nn.Embedding(SEQ, DIM)
        self.blocks = nn.ModuleList(block() for _ in range(LAYERS))
        self.norm = nn.LayerNorm(DIM)

    def hidden(self, ids):
        x = self.tokens(ids) + self.positions(torch.arange(ids.shape[1]))
        for block in self.blocks:
            x = block(x)
        return self.norm(x)

    def forward(self, ids):
        return functional.linear(self.hidden(ids), self.tokens.weight)


def token_loss(logits, targets):
    """The mean over all tokens. Unlike cross_entropy it ignores no target, as Megatron's loss does not."""
    return -logits.log_softmax(-1).gather(-1, targets.unsqueeze(-1)).mean()


def program(model, batch=BATCH, loss_of=token_loss, prepare=lambda model: model, **more):
    ids, targets = torch.randint(VOCAB, (batch, SEQ)), torch.randint(VOCAB, (batch, SEQ))
    run, adam = prepare(model), torch.optim.AdamW(model.parameters(), lr=0.01)

    def step():
        loss = loss_of(run(ids), targets)
        loss.backward()
        adam.step()
        return loss

    inputs = {"ids": ids, "targets": targets}
    return Program(inputs=inputs, params=model, step=step, optimizer=adam, **more)


def build_single(ctx):
    return program(Gpt2())


def data_parallel(ctx, prepare=DistributedDataParallel, **more):
    rows = shard(0, ctx.rank, ctx.world)
    specs, loss = {"ids": rows, "targets": rows}, mean(ctx.rank, ctx.world)
    return program(Gpt2(), BATCH // ctx.world, prepare=prepare, specs=specs, loss=loss, **more)


def build(ctx):
    return data_parallel(ctx)


def build_untied(ctx):
    """Wrong: the output has a copy of the embedding, whose gradient goes nowhere."""

    def prepare(model):
        model.forward = lambda ids: functional.linear(model.hidden(ids), model.tokens.weight.detach().clone())
        return DistributedDataParallel(model)

    return data_parallel(ctx, prepare)
