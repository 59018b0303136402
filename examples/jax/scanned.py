"""Layers by `lax.scan` inside `shard_map`, data x tensor parallel by hand, with gradients and SGD with momentum,
against the scan on one device: proved by induction over the layers, in a time that does not depend on their number.

    verdict jax examples/jax/scanned.py
    verdict jax examples/jax/scanned.py:build_wrong_sum      # no sum over the columns in a layer: REFUTED
    verdict jax examples/jax/scanned.py:build_wrong_layer    # the last layer is left out: REFUTED
"""

from functools import partial

import jax
import jax.numpy as jnp
import optax
from jax.sharding import AxisType
from jax.sharding import PartitionSpec as P

LAYERS, ROWS, WIDTH, WIDE = 8, 4, 4, 8
OPTIMIZER = optax.sgd(0.1, momentum=0.9)
SHAPES = {"in": (LAYERS, WIDTH, WIDE), "out": (LAYERS, WIDE, WIDTH)}


def layers(weights, x, summed, count):
    def layer(x, own):
        return x + summed(jnp.tanh(x @ own["in"]) @ own["out"]), None

    return jax.lax.scan(layer, x, jax.tree.map(lambda each: each[:count], weights))[0]


def step(weights, state, x, target, summed=lambda x: x, rows=lambda x: x, count=LAYERS):
    """summed: adds up what parts of a layer make; rows: what parts of the batch do."""

    def loss(weights):
        return rows(jnp.sum((layers(weights, x, summed, count) - target) ** 2)) / (ROWS * WIDTH)

    value, gradients = jax.value_and_grad(loss)(weights)
    updates, state = OPTIMIZER.update(gradients, state, weights)
    return value, optax.apply_updates(weights, updates), state


def given():
    weights = {name: jax.ShapeDtypeStruct(shape, jnp.float32) for name, shape in SHAPES.items()}
    x = jax.ShapeDtypeStruct((ROWS, WIDTH), jnp.float32)
    return weights, jax.eval_shape(OPTIMIZER.init, weights), x, x


def build_single():
    return jax.jit(step), given()


def build(summed=lambda x: jax.lax.psum(x, "model"), count=LAYERS, varying=True):
    mesh = jax.make_mesh((2, 4), ("data", "model"), axis_types=(AxisType.Auto,) * 2)
    specs = {"in": P(None, None, "model"), "out": P(None, "model")}
    arguments = given()

    def placed(path, value):
        return specs[path[-1].key] if value.ndim == 3 else P("data")

    at = jax.tree_util.tree_map_with_path(placed, arguments[:2])
    on_device = partial(step, summed=summed, rows=lambda x: jax.lax.psum(x, "data"), count=count)
    out = (P(), *at)
    mapped = jax.shard_map(on_device, mesh=mesh, in_specs=(*at, P("data"), P("data")), out_specs=out, check_vma=varying)
    return jax.jit(mapped), arguments


build_wrong_sum = partial(build, summed=lambda x: jax.lax.pcast(x, "model", to="varying"), varying=False)
build_wrong_layer = partial(build, count=LAYERS - 1)
