"""Random small programs that torch parallelizes: DistributedDataParallel, FSDP2, and DTensor plans of a module."""

import random

from scripts.campaigns.handmade import Text

STYLES = ("ddp", "fsdp2", "dtensor", "dtensor sp")
BLOCKS = {
    "norm": "nn.LayerNorm(H, eps={eps})",
    "rms": "nn.RMSNorm(H, eps={eps})",
    "linear": "nn.Linear(H, H, bias={bias})",
}
TEXT = '''"""A random program."""

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
{imports}from torch.nn import functional as F

from verdict.torch import Program, mean, partial, shard

B, S, H, FF, V = {b}, {s}, {h}, {f}, {v}


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = {norm}
        self.up = nn.Linear(H, FF, bias={bias})
        self.down = nn.Linear(FF, H, bias={bias})

    def forward(self, x):
        return x + self.down({act}(self.up(self.norm(x)))) * {scale}


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(V, H)
        self.blocks = nn.ModuleList(Block() for _ in range({depth}))
        self.last = {last}
        self.head = nn.Linear(H, V, bias=False)

    def forward(self, ids):
        x = self.table(ids){position}
        for block in self.blocks:
            x = block(x)
        return self.head(self.last(x))


def loss_of(logits, t):
    {loss}


def train(model, rows, wrapped=None, scale=1.0, **more):
    run = wrapped or model
    x, t = torch.randint(0, V, (rows, S)), torch.randint(0, V, (rows, S))
    opt = {optimizer}

    def step():
        loss = loss_of(run(x), t) * scale
        loss.backward()
        {clip}
        opt.step()
        return loss

    ranges = {{"x": (0, V - 1), "t": (0, V - 1)}}
    return Program(inputs={{"x": x, "t": t}}, params=model, step=step, optimizer=opt, ranges=ranges, **more)


def build_single(ctx):
    return train(Model(), B)


def build(ctx):
{build}
'''
BUILDS = {
    "ddp": (
        "from torch.nn.parallel import DistributedDataParallel\n",
        (
            "model = Model()",
            "rows = shard(0, ctx.rank, ctx.world)",
            "wrapped = DistributedDataParallel(model)",
            "specs = {'x': rows, 't': rows}",
            "return train(model, B // ctx.world, wrapped, specs=specs, loss=mean(ctx.rank, ctx.world))",
        ),
    ),
    "fsdp2": (
        "from torch.distributed.fsdp import fully_shard\n",
        (
            "mesh = init_device_mesh('cpu', (ctx.world,), mesh_dim_names=('dp',))",
            "model = Model()",
            "for block in model.blocks:",
            "    fully_shard(block, mesh=mesh, reshard_after_forward=True)",
            "fully_shard(model, mesh=mesh)",
            "rows = shard(0, ctx.rank, ctx.world)",
            "specs = {'x': rows, 't': rows}",
            "return train(model, B // ctx.world, specs=specs, loss=mean(ctx.rank, ctx.world))",
        ),
    ),
    "dtensor": (
        "from torch.distributed.tensor import Replicate\n"
        "from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module\n",
        (
            "mesh = init_device_mesh('cpu', (ctx.world,), mesh_dim_names=('tp',))",
            "model = Model()",
            "ends = {",
            "    'table': RowwiseParallel(input_layouts=Replicate(), output_layouts=Replicate()),",
            "    'head': ColwiseParallel(input_layouts=Replicate(), output_layouts=Replicate()),",
            "}",
            "parallelize_module(model, mesh, ends)",
            "for block in model.blocks:",
            "    parallelize_module(block, mesh, {'up': ColwiseParallel(), 'down': RowwiseParallel()})",
            "return train(model, B)",
        ),
    ),
    "dtensor sp": (
        "from torch.distributed.tensor import Replicate, Shard\n"
        "from torch.distributed.tensor.parallel import (\n    ColwiseParallel,\n    PrepareModuleInput,\n"
        "    RowwiseParallel,\n    SequenceParallel,\n    parallelize_module,\n)\n",
        (
            "mesh = init_device_mesh('cpu', (ctx.world,), mesh_dim_names=('tp',))",
            "model = Model()",
            "ends = {",
            "    'table': RowwiseParallel(input_layouts=Replicate(), output_layouts=Shard(1)),",
            "    'last': SequenceParallel(),",
            "    'head': ColwiseParallel(input_layouts=Shard(1), output_layouts=Replicate()),",
            "}",
            "parallelize_module(model, mesh, ends)",
            "for block in model.blocks:",
            "    plan = {",
            "        'norm': SequenceParallel(),",
            "        'up': ColwiseParallel(input_layouts=Shard(1)),",
            "        'down': RowwiseParallel(output_layouts=Shard(1)),",
            "    }",
            "    parallelize_module(block, mesh, plan)",
            "return train(model, B)",
        ),
    ),
}
LOSSES = (
    "return F.cross_entropy(logits.flatten(0, 1), t.flatten())",
    "return (logits.logsumexp(-1) - logits.gather(-1, t.unsqueeze(-1)).squeeze(-1)).mean()",
    "return F.cross_entropy(logits.flatten(0, 1), t.flatten(), label_smoothing=0.1)",
)
OPTIMIZERS = (
    "torch.optim.SGD(model.parameters(), lr=0.1, foreach=False)",
    "torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, weight_decay=0.01, foreach=False)",
    "torch.optim.AdamW(model.parameters(), lr=0.01, foreach=False)",
)


def program(draw: random.Random, style: str) -> Text:
    """A random program in one of STYLES."""
    large = draw.random() < 0.35
    h = draw.choice((64, 128)) if large else draw.choice((4, 8))
    norm = draw.choice((BLOCKS["norm"], BLOCKS["rms"])).format(eps=draw.choice((1e-5, 1e-2)))
    last = draw.choice((norm, "nn.RMSNorm(H)")) if style == "dtensor sp" else draw.choice((norm, "nn.Identity()"))
    imports, build = BUILDS[style]
    clip = style == "ddp" and draw.random() < 0.4
    text = TEXT.format(
        imports=imports, b=draw.choice((16, 32)) if large else 4, s=32 if large else draw.choice((2, 4)), h=h, f=2 * h,
        v=draw.choice((100, 256)) if large else draw.choice((6, 10)), norm=norm, last=last, bias=draw.random() < 0.5,
        act=draw.choice(("F.relu", "F.gelu", "F.silu")), scale=draw.choice((1.0, 0.5)), depth=draw.choice((1, 2)),
        position=draw.choice(("", "", " * 2.0")), loss=draw.choice(LOSSES), optimizer=draw.choice(OPTIMIZERS),
        clip="torch.nn.utils.clip_grad_norm_(model.parameters(), 0.5, foreach=False)" if clip else "pass",
        build="\n".join(f"    {line}" for line in build),
    )  # fmt: skip
    return Text(text, 2, f"{style}{' large' if large else ''}", real=style == "ddp")
