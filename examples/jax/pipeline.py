"""A pipeline of 4 stages x data parallel 2, two microbatches: what a stage makes goes to the next one by ppermute, the
gradients come back the same way; with AdamW, against the layers on one device.

    verdict jax examples/jax/pipeline.py
    verdict jax examples/jax/pipeline.py:build_wrong     # what arrives last is taken for the first: REFUTED

Each device holds the weights of its stage. All stages work at every tick; what flows before the first microbatch is
there, and behind the last one, counts nothing.
"""

from functools import partial

import jax
import jax.numpy as jnp
import optax
from jax.sharding import AxisType, NamedSharding
from jax.sharding import PartitionSpec as P

STAGES, COPIES, MICROBATCHES, ROWS, WIDTH = 4, 2, 2, 4, 4
OPTIMIZER = optax.adamw(1e-2)
SHAPES = {"in": (STAGES, WIDTH, WIDTH), "out": (STAGES, WIDTH, WIDTH)}
RANGES = {"state[0].count": (0, 1000)}


def layer(x, weights):
    return x + jnp.tanh(x @ weights["in"]) @ weights["out"]


def whole(weights, x, target):
    for stage in range(STAGES):
        x = layer(x, jax.tree.map(lambda each, stage=stage: each[stage], weights))
    return jnp.sum((x - target) ** 2) / target.size


def piped(weights, x, target, shift=0):
    """The part of the loss that this device makes; x and target are of its rows."""
    stage = jax.lax.axis_index("stage")
    own = jax.tree.map(lambda each: each[0], weights)
    rows = x.reshape(MICROBATCHES, -1, WIDTH)
    due = target.reshape(MICROBATCHES, -1, WIDTH)
    total, flowing = 0.0, jnp.zeros_like(rows[0])
    for tick in range(MICROBATCHES + STAGES - 1):
        begun = rows[min(tick, MICROBATCHES - 1)]
        made = layer(jnp.where(stage == 0, begun, flowing), own)
        ended = tick - (STAGES - 1)
        if ended >= 0:
            here = jnp.sum((made - due[(ended + shift) % MICROBATCHES]) ** 2) / (target.size * COPIES)
            total += jnp.where(stage == STAGES - 1, here, 0.0)
        flowing = jax.lax.ppermute(made, "stage", [(k, k + 1) for k in range(STAGES - 1)])
    return total


def step(weights, state, x, target, loss, summed, rows):
    """rows: adds up what copies of a stage make; summed: what all devices make."""
    value, gradients = jax.value_and_grad(loss)(weights, x, target)
    updates, state = OPTIMIZER.update(jax.tree.map(rows, gradients), state, weights)
    return summed(value), optax.apply_updates(weights, updates), state


def given():
    weights = {name: jax.ShapeDtypeStruct(shape, jnp.float32) for name, shape in SHAPES.items()}
    x = jax.ShapeDtypeStruct((ROWS, WIDTH), jnp.float32)
    return weights, jax.eval_shape(OPTIMIZER.init, weights), x, x


def build_single():
    return jax.jit(partial(step, loss=whole, summed=lambda x: x, rows=lambda x: x)), given(), RANGES


def build(shift=0):
    mesh = jax.make_mesh((COPIES, STAGES), ("data", "stage"), axis_types=(AxisType.Auto,) * 2)
    arguments = given()
    held = jax.tree.map(lambda each: P("stage") if each.ndim else P(), arguments[:2])
    at = (*held, P("data"), P("data"))
    on_device = partial(
        step,
        loss=partial(piped, shift=shift),
        summed=lambda x: jax.lax.psum(x, ("data", "stage")),
        rows=lambda x: jax.lax.psum(x, "data"),
    )
    mapped = jax.shard_map(on_device, mesh=mesh, in_specs=at, out_specs=(P(), *held), check_vma=False)
    laid = jax.tree.map(lambda spec: NamedSharding(mesh, spec), at)
    return jax.jit(mapped, in_shardings=laid), arguments, RANGES


def build_wrong():
    return build(shift=1)
