"""Ring attention over 8 devices: each has a piece of the sequence, keys and values go round by ppermute, and a running
softmax takes in one piece after the other; with gradients and AdamW, against causal attention on one device.

    verdict jax examples/jax/ring.py
    verdict jax examples/jax/ring.py:build_wrong_scale     # what was summed is not scaled to the new maximum: REFUTED
    verdict jax examples/jax/ring.py:build_wrong_mask      # the mask takes each piece for the device's own: REFUTED
"""

from functools import partial

import jax
import jax.numpy as jnp
import optax
from jax.sharding import AxisType, NamedSharding
from jax.sharding import PartitionSpec as P

DEVICES, LENGTH, HEADS, WIDTH = 8, 8, 2, 4
OPTIMIZER = optax.adamw(1e-2)
RANGES = {"state[0].count": (0, 1000)}


def heads(x, weight):
    return (x @ weight).reshape(len(x), HEADS, WIDTH // HEADS)


def scores_of(query, key, rows, columns):
    """rows, columns: the positions of queries and keys in the sequence."""
    scores = jnp.einsum("qhd,khd->hqk", query, key) / (WIDTH // HEADS) ** 0.5
    return jnp.where(columns[None, :] <= rows[:, None], scores, -1e30)


def whole(query, key, value):
    shares = jax.nn.softmax(scores_of(query, key, jnp.arange(len(query)), jnp.arange(len(key))), -1)
    return jnp.einsum("hqk,khd->qhd", shares, value)


def ring(query, key, value, scaled=True, moved=True):
    own, length = jax.lax.axis_index("ring"), len(query)
    places = jnp.arange(length)
    most = total = mixed = None
    for turn in range(DEVICES):
        of = (own - turn) % DEVICES if moved else own
        scores = scores_of(query, key, own * length + places, of * length + places)
        here = jax.lax.stop_gradient(scores.max(-1))
        greatest = here if turn == 0 else jnp.maximum(most, here)
        shares = jnp.exp(scores - greatest[..., None])
        summed, made = shares.sum(-1), jnp.einsum("hqk,khd->qhd", shares, value)
        if turn > 0:
            before = jnp.exp(most - greatest)
            summed += total * before
            made += mixed * (before.T[..., None] if scaled else 1.0)
        most, total, mixed = greatest, summed, made
        if turn < DEVICES - 1:
            pairs = [(k, (k + 1) % DEVICES) for k in range(DEVICES)]
            key, value = (jax.lax.ppermute(each, "ring", pairs) for each in (key, value))
    return mixed / total.T[..., None]


def step(weights, state, x, target, attention, summed):
    """summed: adds up what the devices make."""

    def loss(weights):
        mixed = attention(*(heads(x, weights[name]) for name in ("query", "key", "value")))
        return jnp.sum((mixed.reshape(x.shape) @ weights["out"] - target) ** 2) / (LENGTH * WIDTH)

    value, gradients = jax.value_and_grad(loss)(weights)
    updates, state = OPTIMIZER.update(summed(gradients), state, weights)
    return summed(value), optax.apply_updates(weights, updates), state


def given():
    weight = jax.ShapeDtypeStruct((WIDTH, WIDTH), jnp.float32)
    weights = dict.fromkeys(("query", "key", "value", "out"), weight)
    x = jax.ShapeDtypeStruct((LENGTH, WIDTH), jnp.float32)
    return weights, jax.eval_shape(OPTIMIZER.init, weights), x, x


def build_single():
    return jax.jit(partial(step, attention=whole, summed=lambda x: x)), given(), RANGES


def build(**mistake):
    mesh = jax.make_mesh((DEVICES,), ("ring",), axis_types=(AxisType.Auto,))
    on_device = partial(step, attention=partial(ring, **mistake), summed=lambda x: jax.lax.psum(x, "ring"))
    at = (P(), P(), P("ring"), P("ring"))
    mapped = jax.shard_map(on_device, mesh=mesh, in_specs=at, out_specs=P(), check_vma=False)
    laid = tuple(NamedSharding(mesh, spec) for spec in at)
    return jax.jit(mapped, in_shardings=laid), given(), RANGES


build_wrong_scale = partial(build, scaled=False)
build_wrong_mask = partial(build, moved=False)
