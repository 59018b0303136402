"""The same perceptron with its collectives by hand, against the program for one device."""

from functools import partial

import jax
import jax.numpy as jnp
from jax.sharding import AxisType, NamedSharding
from jax.sharding import PartitionSpec as P

ROWS, WEIGHTS = P("data"), {"in": P(None, "model"), "out": P("model")}
SHAPES = {"in": (4, 8), "out": (8, 4)}
GIVEN = {name: jax.ShapeDtypeStruct(shape, jnp.float32) for name, shape in SHAPES.items()}
X = jax.ShapeDtypeStruct((4, 4), jnp.float32)


def step(weights, x, target, reduce, rows):
    """One step; reduce: sums what the columns of the mesh make, rows: what its rows make."""

    def loss(weights):
        made = reduce(jnp.tanh(x @ weights["in"]) @ weights["out"])
        return rows(jnp.sum((made - target) ** 2)) / 16

    value, gradients = jax.value_and_grad(loss)(weights)
    return value, jax.tree.map(lambda weight, gradient: weight - 0.1 * gradient, weights, gradients)


def build_single():
    return jax.jit(partial(step, reduce=lambda x: x, rows=lambda x: x)), (GIVEN, X, X)


def build():
    return parallel("model")


def build_wrong_axis():
    return parallel("data")


def parallel(axis):
    mesh = jax.make_mesh((2, 4), ("data", "model"), axis_types=(AxisType.Auto,) * 2)
    reduce, rows = (lambda x: jax.lax.psum(x, axis)), (lambda x: jax.lax.psum(x, "data"))
    mapped = jax.shard_map(
        partial(step, reduce=reduce, rows=rows), mesh=mesh, in_specs=(WEIGHTS, ROWS, ROWS), out_specs=(P(), WEIGHTS),
        check_vma=axis == "model",
    )
    at = jax.tree.map(lambda spec: NamedSharding(mesh, spec), (WEIGHTS, ROWS, ROWS))
    return jax.jit(mapped, in_shardings=at), (GIVEN, X, X)
