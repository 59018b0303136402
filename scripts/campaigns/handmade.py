"""Random small training programs as Python text: random layers, a loss, an optimizer, and a parallelization by hand.

Each text has `build_single` and `build`, for `verdict torch` and for real runs. STYLES names the parallelizations;
those that torch's own tools do are in modules.py.
"""

import random
from collections.abc import Sequence
from typing import NamedTuple

from scripts.campaigns.layers import LAYERS, attention, mlp, same, sizes

STYLES = ("dp", "tp", "sp", "zero1")
HELPERS = """
class Enter(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.clone()

    @staticmethod
    def backward(ctx, grad):
        grad = grad.contiguous()
        dist.all_reduce(grad)
        return grad


class Leave(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        x = x.contiguous()
        dist.all_reduce(x)
        return x

    @staticmethod
    def backward(ctx, grad):
        return grad


def weights():
    return {name: torch.randn(shape) * 0.4 for name, shape in SHAPES.items()}
"""


class Text(NamedTuple):
    """A program: its text, how many ranks it has, and words on what is in it."""

    text: str
    world: int
    told: str
    real: bool = False


def _loss(draw: random.Random, style: str) -> tuple[str, tuple[str, ...], tuple[str, ...], bool]:
    """The kind of the targets ("ids" or "numbers"), lines on one device and on many, and whether it is a mean."""
    match draw.choice(("mse", "huber", "weighted", "entropy", "entropy", "counted")):
        case "mse":
            mean = draw.random() < 0.6
            line = f'loss = F.mse_loss(x, t, reduction="{"mean" if mean else "sum"}")'
            return "numbers", (line,), (line,), mean
        case "huber":
            line = f"loss = F.huber_loss(x, t, delta={draw.choice((0.5, 1.0))})"
            return "numbers", (line,), (line,), True
        case "weighted":
            ramp = draw.choice(("torch.arange(H) + 1.0", "(torch.arange(H) + 1.0).sqrt()", "torch.linspace(0, 1, H)"))
            line = f"loss = ((x - t) ** 2 * ({ramp})).mean()"
            return "numbers", (line,), (line,), True
        case "entropy":
            plain = ('loss = F.cross_entropy((x @ p["head"].T).flatten(0, 1), t.flatten())',)
            return "ids", plain, VOCABULARY if style == "tp" else plain, True
        case _:
            one = (
                'each = F.cross_entropy((x @ p["head"].T).flatten(0, 1), t.flatten(), reduction="none")',
                "kept = (t.flatten() != 0).to(each.dtype)",
                "count = kept.sum()",
            )
            end = ("loss = (each * kept).sum() / count.clamp(min=1)",)
            if style == "tp":
                return "ids", one + end, one + end, True
            return "ids", one + end, (*one, "dist.all_reduce(count)", *end), False


VOCABULARY = (
    "part = V // world",
    'logits = Enter.apply(x) @ p["head"].T',
    "top = logits.detach().amax(-1)",
    "dist.all_reduce(top, op=dist.ReduceOp.MAX)",
    "logits = logits - top.unsqueeze(-1)",
    "total = Leave.apply(logits.exp().sum(-1))",
    "ids = t - rank * part",
    "mine = (ids >= 0) & (ids < part)",
    "found = logits.gather(-1, ids.clamp(0, part - 1).unsqueeze(-1)).squeeze(-1)",
    "loss = (total.log() - Leave.apply(torch.where(mine, found, 0.0))).mean()",
)
TABLE = (
    "part = V // world",
    "ids = x - rank * part",
    "mine = (ids >= 0) & (ids < part)",
    'x = Leave.apply(F.embedding(ids.clamp(0, part - 1), p["table"]) * mine.unsqueeze(-1))',
)
OPTIMIZERS = {
    "none": ("", ()),
    "by hand": ("", ("for w in p.values():", "    w.data.sub_(w.grad * 0.1)")),
    "sgd": ("torch.optim.SGD(p.values(), lr=0.1, momentum=0.9, weight_decay=0.01, foreach=False)", ("opt.step()",)),
    "adamw": ("torch.optim.AdamW(p.values(), lr=0.01, weight_decay=0.1, foreach=False)", ("opt.step()",)),
}


def program(draw: random.Random, style: str) -> Text:
    """A random program that is parallelized by hand in one of STYLES."""
    size = sizes(draw)
    kinds = _kinds(draw, style)
    made = [kind(at, draw, size) for at, kind in enumerate(kinds)]
    looked_up = draw.random() < 0.4
    kind, loss, losses, mean = _loss(draw, style)
    weights = [w for layer in made for w in layer.weights]
    weights += [("table", "(V, H)", 0)] if looked_up else []
    weights += [("head", "(V, H)", 0 if losses == VOCABULARY else None)] if kind == "ids" else []
    if not weights:
        weights = [("bias", "(H,)", None)]
        made.append(same(weights, 'x = x + p["bias"]'))
    optimizer = draw.choice([name for name in OPTIMIZERS if style != "zero1" or name == "none"])
    clip = optimizer != "none" and style == "dp" and draw.random() < 0.3
    one = [line for layer in made for line in layer.single]
    many = [line for layer in made for line in (layer.many if style == "tp" else layer.single)]
    start = ('x = F.embedding(x, p["table"])',) if looked_up else ()
    starts = TABLE if looked_up and style == "tp" else start
    told = f"{style} {', '.join(kind.__name__ for kind in kinds)} {optimizer} {kind}"
    cuts = {name: dim for name, _, dim in weights if dim is not None and style == "tp"}
    updated = "by hand" if style == "zero1" else optimizer
    ids = [*(["x"] if looked_up else []), *(["t"] if kind == "ids" else [])]
    lines = [
        '"""A random program."""', "", "import torch", "import torch.distributed as dist",
        "from torch.nn import functional as F", "", "from verdict.torch import Program, mean, partial, shard", "",
        f"B, S, H, FF, V, N = {size.b}, {size.s}, {size.h}, {size.f}, {size.v}, {size.n}",
        "SHAPES = {", *(f'    "{name}": {shape},' for name, shape, _ in weights), "}",
        f"CUTS = {cuts}",
        f"RANGES = {{{', '.join(f'{name!r}: (0, V - 1)' for name in ids)}}}",
        HELPERS,
        "def forward_single(p, x, t):", "    first = 0", *_indented((*start, *one, *loss)), "    return loss", "", "",
        "def forward(p, x, t, rank, world):", f"    first = {'rank * (S // world)' if style == 'sp' else '0'}",
        *_indented((*starts, *many, *losses)), "    return loss", "", "",
        "def data():",
        f"    x = {'torch.randint(0, V, (B, S))' if looked_up else 'torch.randn(B, S, H)'}",
        f"    return x, {'torch.randint(0, V, (B, S))' if kind == 'ids' else 'torch.randn(B, S, H)'}", "", "",
        *_single(updated, clip), "", "", *_parallel(style, optimizer, clip, mean), "",
    ]  # fmt: skip
    return Text("\n".join(lines), 2, told)


def _kinds(draw: random.Random, style: str) -> list:
    chosen = [draw.choice(LAYERS) for _ in range(draw.randint(1, 4))]
    return [kind for kind in chosen if not (style == "sp" and kind is attention)] or [mlp]


def _indented(lines: Sequence[str], by: int = 4) -> list[str]:
    return [" " * by + line for line in lines]


def _update(optimizer: str, clip: bool) -> list[str]:
    lines = OPTIMIZERS[optimizer][1]
    return [*(("torch.nn.utils.clip_grad_norm_(p.values(), 0.5, foreach=False)",) if clip else ()), *lines]


def _optimizer(optimizer: str) -> list[str]:
    made = OPTIMIZERS[optimizer][0]
    return [f"opt = {made}"] if made else []


def _single(optimizer: str, clip: bool) -> list[str]:
    more = ", optimizer=opt" if OPTIMIZERS[optimizer][0] else ""
    return [
        "def build_single(ctx):",
        "    p = {k: w.requires_grad_() for k, w in weights().items()}",
        "    x, t = data()",
        *_indented(_optimizer(optimizer)),
        "",
        "    def step():",
        "        loss = forward_single(p, x, t)",
        "        loss.backward()",
        *_indented(_update(optimizer, clip), 8),
        "        return loss",
        "",
        f'    return Program(inputs={{"x": x, "t": t}}, params=p, step=step, ranges=RANGES{more})',
    ]


ZERO = (
    "for k, w in p.items():",
    "    dist.all_reduce(w.grad, op=dist.ReduceOp.%s)",
    "    if w.ndim == 0 or w.shape[0] % ctx.world:",
    "        w.data.sub_(w.grad * 0.1)",
    "        continue",
    "    rows = w.shape[0] // ctx.world",
    "    own = w.data[ctx.rank * rows : (ctx.rank + 1) * rows] - 0.1 * w.grad[ctx.rank * rows : (ctx.rank + 1) * rows]",
    "    parts = [torch.empty_like(own) for _ in range(ctx.world)]",
    "    dist.all_gather(parts, own.contiguous())",
    "    w.data.copy_(torch.cat(parts))",
)


def _parallel(style: str, optimizer: str, clip: bool, mean: bool) -> list[str]:
    more = ", optimizer=opt" if OPTIMIZERS[optimizer][0] else ""
    how = "AVG" if mean else "SUM"
    dim = 1 if style == "sp" else 0
    cut = [f"x, t = (v.chunk(ctx.world, {dim})[ctx.rank].contiguous() for v in (x, t))"] if style != "tp" else []
    reduce = ["for w in p.values():", f"    dist.all_reduce(w.grad, op=dist.ReduceOp.{how})"]
    after = {"tp": [], "zero1": [line.replace("%s", how) for line in ZERO]}.get(style, reduce)
    share = f"{'mean' if mean else 'partial'}(ctx.rank, ctx.world)"
    data = f'"x": shard({dim}, ctx.rank, ctx.world), "t": shard({dim}, ctx.rank, ctx.world)' if style != "tp" else ""
    return [
        "def build(ctx):",
        "    p = {}",
        "    for k, w in weights().items():",
        "        if k in CUTS:",
        "            w = w.chunk(ctx.world, CUTS[k])[ctx.rank].contiguous()",
        "        p[k] = w.requires_grad_()",
        "    x, t = data()",
        *_indented(cut),
        *_indented(_optimizer(optimizer)),
        "",
        "    def step():",
        "        loss = forward(p, x, t, ctx.rank, ctx.world)",
        "        loss.backward()",
        *_indented(after, 8),
        *_indented(_update(optimizer, clip), 8),
        "        return loss",
        "",
        f"    specs = {{{data}}} | {{k: shard(d, ctx.rank, ctx.world) for k, d in CUTS.items()}}",
        f'    return Program(inputs={{"x": x, "t": t}}, params=p, step=step, specs=specs, ranges=RANGES{more}'
        f"{'' if style == 'tp' else f', loss={share}'})",
    ]
