"""A step of a language model with grouped queries, 512 positions and 4,096 words: data x tensor parallel by XLA.

Rotary positions, a causal mask of the least number of the type, gated feed-forward, cross entropy, AdamW; two layers.
Proved at reduced shapes: no axis of this program is as long there.
"""

from functools import partial

import jax
import jax.numpy as jnp
import optax
from jax.sharding import AxisType, NamedSharding
from jax.sharding import PartitionSpec as P

ROWS, POSITIONS, WORDS, WIDTH, HEADS, GROUPS, WIDE, LAYERS = 8, 512, 4096, 64, 8, 4, 256, 2
HEAD = WIDTH // HEADS
LAYER = {
    "first": ((WIDTH,), P()), "second": ((WIDTH,), P()),
    "query": ((WIDTH, HEADS, HEAD), P(None, "model")), "key": ((WIDTH, GROUPS, HEAD), P(None, "model")),
    "value": ((WIDTH, GROUPS, HEAD), P(None, "model")), "out": ((HEADS, HEAD, WIDTH), P("model")),
    "gate": ((WIDTH, WIDE), P(None, "model")), "up": ((WIDTH, WIDE), P(None, "model")),
    "down": ((WIDE, WIDTH), P("model")),
}  # fmt: skip
"""The weights of a layer, and how they are cut."""
MODEL = {"words": ((WORDS, WIDTH), P("model")), "last": ((WIDTH,), P()), "layers": [LAYER] * LAYERS}
OPTIMIZER = optax.adamw(1e-3)
RANGES = {"ids": (0, WORDS - 1), "state[0].count": (0, 1000)}


def of_each(make):
    """The model with something in the place of each weight."""
    return jax.tree.map(lambda each: make(*each), MODEL, is_leaf=lambda each: isinstance(each, tuple))


def norm(x, scale):
    return x * jax.lax.rsqrt(jnp.mean(x * x, -1, keepdims=True) + 1e-6) * scale


def rotated(x):
    """Rotary positions; x is rows x positions x heads x width of a head."""
    angles = jnp.arange(POSITIONS)[:, None] / 10000.0 ** (jnp.arange(0, HEAD, 2) / HEAD)
    cos, sin = jnp.cos(angles)[:, None], jnp.sin(angles)[:, None]
    one, other = jnp.split(x, 2, -1)
    return jnp.concatenate([one * cos - other * sin, other * cos + one * sin], -1)


def block(x, layer, for_each_head):
    y = norm(x, layer["first"])
    query, key, value = (jnp.einsum("bsd,dhk->bshk", y, layer[name]) for name in ("query", "key", "value"))
    key, value = for_each_head(rotated(key)), for_each_head(value)
    scores = jnp.einsum("bqhd,bkhd->bhqk", rotated(query), key) / HEAD**0.5
    seen = jnp.tril(jnp.ones((POSITIONS, POSITIONS), bool))
    shares = jax.nn.softmax(jnp.where(seen, scores, jnp.finfo(scores.dtype).min), -1)
    x = x + jnp.einsum("bhqk,bkhd,hde->bqe", shares, value, layer["out"])
    y = norm(x, layer["second"])
    return x + (jax.nn.silu(y @ layer["gate"]) * (y @ layer["up"])) @ layer["down"]


def loss(weights, ids, for_each_head):
    x = weights["words"][ids[:, :-1]]
    for layer in weights["layers"]:
        x = block(x, layer, for_each_head)
    logits = norm(x, weights["last"]) @ weights["words"].T
    return optax.softmax_cross_entropy_with_integer_labels(logits, ids[:, 1:]).mean()


def repeated(x):
    """The heads of a group, one after the other."""
    return jnp.repeat(x, HEADS // GROUPS, axis=2)


def tiled(x):
    """All groups, and all groups again: query 1 of 8 reads group 1 of 4, not group 0."""
    return jnp.tile(x, (1, 1, HEADS // GROUPS, 1))


def step(weights, state, ids, for_each_head):
    value, gradients = jax.value_and_grad(loss)(weights, ids, for_each_head)
    updates, state = OPTIMIZER.update(gradients, state, weights)
    return value, optax.apply_updates(weights, updates), state


def program(for_each_head):
    mesh = jax.make_mesh((2, jax.device_count() // 2), ("data", "model"), axis_types=(AxisType.Auto,) * 2)
    weights = of_each(lambda shape, _: jax.ShapeDtypeStruct(shape, jnp.float32))
    at = of_each(lambda _, spec: NamedSharding(mesh, spec))
    state, whole = jax.eval_shape(OPTIMIZER.init, weights), NamedSharding(mesh, P())
    beside = optax.tree_map_params(OPTIMIZER, lambda _, own: own, state, at, transform_non_params=lambda _: whole)
    made = jax.jit(
        partial(step, for_each_head=for_each_head),
        in_shardings=(at, beside, NamedSharding(mesh, P("data"))),
        out_shardings=(whole, at, beside),
    )
    return made, (weights, state, jax.ShapeDtypeStruct((ROWS, POSITIONS + 1), jnp.int32)), RANGES


def build():
    return program(repeated)


def build_single():
    return program(repeated)


def build_wrong_heads():
    """Keys and values go to the heads of other groups: REFUTED, with --devices 4, too."""
    return program(tiled)
