"""Causal attention over 1,024 positions and a loss over 32,000 words: tensor parallel by heads, by hand.

Proved at reduced shapes: what is looked up, masked, cut off and added up shrinks with its axis.
"""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax.sharding import AxisType, NamedSharding
from jax.sharding import PartitionSpec as P

ROWS, POSITIONS, WORDS, WIDTH, HEADS, DEVICES = 2, 1024, 32_000, 64, 8, 8
SHAPES = {"table": (WORDS, WIDTH), "qkv": (3, WIDTH, WIDTH), "out": (WIDTH, WIDTH)}
SPECS = {"table": P(), "qkv": P(None, None, "model"), "out": P("model")}
GIVEN = {name: jax.ShapeDtypeStruct(shape, jnp.float32) for name, shape in SHAPES.items()}
IDS = jax.ShapeDtypeStruct((ROWS, POSITIONS), jnp.int32)
RANGES = {"ids": (0, WORDS - 1)}


def alone(x):
    return x


class Ways(NamedTuple):
    """How a device goes about it. whole: sums what all devices make. heads: how many it has. late: how many positions
    later than itself the first one is that a position does not see.
    """

    whole: Callable = alone
    heads: int = HEADS
    late: object = 0


def attention(x, weights, ways):
    q, k, v = ((x @ each).reshape(ROWS, POSITIONS, ways.heads, -1) for each in weights["qkv"])
    scores = jnp.einsum("bqhd,bkhd->bhqk", q, k) / jnp.sqrt(WIDTH // HEADS)
    places = jnp.arange(POSITIONS)
    seen = places[:, None] + ways.late >= places
    shares = jax.nn.softmax(jnp.where(seen, scores, -jnp.inf), axis=-1)
    return ways.whole(jnp.einsum("bhqk,bkhd->bqhd", shares, v).reshape(ROWS, POSITIONS, -1) @ weights["out"])


def loss(weights, ids, ways):
    x = weights["table"][ids]
    logits = (x + attention(x, weights, ways))[:, :-1] @ weights["table"].T
    each = jax.nn.log_softmax(logits, axis=-1)
    return -jnp.mean(jnp.take_along_axis(each, ids[:, 1:, None], -1))


def build_single():
    return jax.jit(jax.value_and_grad(partial(loss, ways=Ways()))), (GIVEN, IDS), RANGES


def build():
    return parallel()


def build_wrong_mask():
    """On the last device a position sees the next one, too."""
    return parallel(late=True)


def build_wrong_sum():
    """What the devices make of their heads is not added up."""
    return parallel(whole=False)


def parallel(late=False, whole=True):
    def all_of(x):
        return jax.lax.psum(x, "model") if whole else x

    def on_device(weights, ids):
        last = jax.lax.axis_index("model") == DEVICES - 1
        return loss(weights, ids, Ways(all_of, HEADS // DEVICES, jnp.where(last, 1, 0) if late else 0))

    mesh = jax.make_mesh((DEVICES,), ("model",), axis_types=(AxisType.Auto,))
    mapped = jax.shard_map(on_device, mesh=mesh, in_specs=(SPECS, P()), out_specs=P(), check_vma=whole)
    at = {name: NamedSharding(mesh, spec) for name, spec in SPECS.items()}, NamedSharding(mesh, P())
    return jax.jit(jax.value_and_grad(mapped), in_shardings=at, out_shardings=(at[1], at[0])), (GIVEN, IDS), RANGES
