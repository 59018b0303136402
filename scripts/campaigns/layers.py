"""Random layers of small programs as lines of Python, for one device and, where weights are cut, for many."""

import random
from collections.abc import Sequence
from typing import NamedTuple

ACTIVATIONS = ("F.relu", "F.gelu", "F.silu", "torch.tanh")


class Sizes(NamedTuple):
    """Batch, sequence, features, hidden features, vocabulary, heads."""

    b: int
    s: int
    h: int
    f: int
    v: int
    n: int


class Layer(NamedTuple):
    """Weights as (name, shape, dimension that ranks cut or None), and lines of code for x on one device and on many."""

    weights: tuple[tuple[str, str, int | None], ...]
    single: tuple[str, ...]
    many: tuple[str, ...]


def sizes(draw: random.Random) -> Sizes:
    """Small ones, or ones above what Verdict proves at full size."""
    n = draw.choice((2, 4))
    if draw.random() < 0.6:
        h = n * draw.choice((2, 4))
        return Sizes(
            draw.choice((2, 4)), draw.choice((2, 4, 6)), h, 2 * draw.choice((3, 4, 8)), 2 * draw.choice((3, 5)), n
        )
    h = n * draw.choice((8, 16, 32))
    return Sizes(draw.choice((16, 32)), draw.choice((32, 64)), h, 2 * h, 2 * draw.choice((50, 128)), n)


def same(weights: Sequence[tuple[str, str, int | None]], *lines: str) -> Layer:
    """Lines that are the same on all ranks."""
    return Layer(tuple(weights), lines, lines)


def mlp(at: int, draw: random.Random, size: Sizes) -> Layer:
    """Two or three matrices, the hidden features cut."""
    act, gated, bias = draw.choice(ACTIVATIONS), draw.random() < 0.3, draw.random() < 0.5
    w = [(f"l{at}.up", "(FF, H)", 0), (f"l{at}.down", "(H, FF)", 1)]
    w += [(f"l{at}.gate", "(FF, H)", 0)] if gated else []
    w += [(f"l{at}.b1", "(FF,)", 0), (f"l{at}.b2", "(H,)", None)] if bias else []
    plus = (f' + p["l{at}.b1"]', f' + p["l{at}.b2"]') if bias else ("", "")

    def lines(enter: str, leave: str) -> tuple[str, ...]:
        gate = f' * (y @ p["l{at}.gate"].T)' if gated else ""
        down = leave.replace("%s", f'y @ p["l{at}.down"].T')
        return (
            f"y = {enter}",
            f'y = {act}(y @ p["l{at}.up"].T{plus[0]}){gate}',
            f"x = x + {down}{plus[1]}",
        )

    return Layer(tuple(w), lines("x", "%s"), lines("Enter.apply(x)", "Leave.apply(%s)"))


def norm(at: int, draw: random.Random, size: Sizes) -> Layer:
    """A normalisation over the features."""
    eps = draw.choice((1e-5, 1e-3, 0.1))
    weights = [(f"l{at}.g", "(H,)", None)]
    kind = draw.choice(("rms", "layer", "fused"))
    if kind == "rms":
        return same(weights, f'x = x * torch.rsqrt((x * x).mean(-1, keepdim=True) + {eps}) * p["l{at}.g"]')
    if kind == "fused":
        return same(weights, f'x = F.rms_norm(x, (H,), p["l{at}.g"], {eps})')
    weights.append((f"l{at}.o", "(H,)", None))
    return same(weights, f'x = F.layer_norm(x, (H,), p["l{at}.g"], p["l{at}.o"], {eps})')


def attention(at: int, draw: random.Random, size: Sizes) -> Layer:
    """Attention, the heads cut."""
    weights = tuple((f"l{at}.{name}", "(H, H)", 1 if name == "o" else 0) for name in "qkvo")
    mask = draw.choice(("none", "causal", "window", "slopes"))
    scale = draw.choice(("(H // N) ** -0.5", "0.5", "1 / 3"))
    extra = {
        "none": (),
        "causal": ("a = a.masked_fill(far < 0, float('-inf'))",),
        "window": (f"a = a.masked_fill((far < 0) | (far > {draw.randint(1, 3)}), float('-inf'))",),
        "slopes": ("a = a - far.abs() * slopes.view(-1, 1, 1)",),
    }[mask]

    def lines(enter: str, leave: str, many: bool) -> tuple[str, ...]:
        heads = "N // world" if many else "N"
        slopes = f"slopes = 2.0 ** -({'rank * (N // world) + ' if many else ''}torch.arange({heads}) + 1.0)"
        return (
            f"y = {enter}",
            f'q, k, v = ((y @ p["l{at}." + n].T).unflatten(-1, ({heads}, -1)).transpose(1, 2) for n in "qkv")',
            "far = torch.arange(S).view(-1, 1) - torch.arange(S)",
            *((slopes,) if mask == "slopes" else ()),
            f"a = q @ k.transpose(-1, -2) * ({scale})",
            *extra,
            f'y = (a.softmax(-1) @ v).transpose(1, 2).flatten(2) @ p["l{at}.o"].T',
            f"x = x + {leave}",
        )

    return Layer(weights, lines("x", "y", False), lines("Enter.apply(x)", "Leave.apply(y)", True))


def position(at: int, draw: random.Random, size: Sizes) -> Layer:
    """Something that depends on the position in the sequence."""
    match draw.choice(("learned", "ramp", "waves")):
        case "learned":
            return same([(f"l{at}.pos", "(S, H)", None)], f'x = x + p["l{at}.pos"][first : first + x.shape[1]]')
        case "ramp":
            step = draw.choice((0.01, 0.5, 1.0))
            return same([], f"x = x + (first + torch.arange(x.shape[1])).view(-1, 1) * {step}")
        case _:
            return same(
                [],
                "turn = (first + torch.arange(x.shape[1])).view(-1, 1) * 100.0 ** -(torch.arange(H) / H)",
                draw.choice(("x = x + turn.sin()", "x = x * turn.cos()")),
            )


def pointwise(at: int, draw: random.Random, size: Sizes) -> Layer:
    """Something without weights."""
    c = draw.choice((0.25, 0.5, 1.0, 2.0))
    lines = draw.choice(
        (
            (f"x = x.clamp(-{c}, {2 * c})",),
            (f"x = torch.where(x > {c}, x, {c} * x)",),
            (f"x = x * {c} + {c / 2}",),
            (f"x = F.softplus(x, {c}, {draw.choice((0.5, 20))})",),
            (f"x = F.leaky_relu(x, {c / 10})",),
            (
                f"few = (x > 0).to(x.dtype).sum(-1, keepdim=True).clamp(max={draw.randint(1, size.h)})",
                "x = x * few / H",
            ),
            ("x = x / (1 + x.abs().amax(-1, keepdim=True))",),
            (f"x = x - x.mean(-1, keepdim=True) * {c}",),
            ("x = x.sign() * (x * x + 1).log()",),
            (f"x = x + x.flip(-1) * {c}",),
            (f"x = torch.cat((x[..., {size.h // 2}:], x[..., :{size.h // 2}]), -1)",),
            (f"x = x + x.roll({draw.randint(1, 3)}, -1)",),
        )
    )
    return same([], *lines)


def scaled(at: int, draw: random.Random, size: Sizes) -> Layer:
    """One weight that is not cut."""
    return draw.choice(
        (
            same([(f"l{at}.s", "(H,)", None)], f'x = x * p["l{at}.s"]'),
            same([(f"l{at}.s", "()", None)], f'x = x * p["l{at}.s"]'),
            same([(f"l{at}.w", "(H, H)", None)], f'x = F.linear(x, p["l{at}.w"])'),
        )
    )


LAYERS = (mlp, mlp, norm, attention, position, pointwise, pointwise, scaled)
"""The kinds of layers, some of them more often than others."""
