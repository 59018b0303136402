"""A perceptron with gradients and SGD, data and tensor parallel: `verdict jax examples/jax/mlp.py`."""

import jax
import jax.numpy as jnp
from jax.sharding import AxisType, NamedSharding
from jax.sharding import PartitionSpec as P


def step(weights, x, target):
    def loss(weights):
        return jnp.mean((jnp.tanh(x @ weights["in"]) @ weights["out"] - target) ** 2)

    value, gradients = jax.value_and_grad(loss)(weights)
    return value, jax.tree.map(lambda weight, gradient: weight - 0.1 * gradient, weights, gradients)


def build():
    mesh = jax.make_mesh((2, 4), ("data", "model"), axis_types=(AxisType.Auto,) * 2)
    weights = {"in": NamedSharding(mesh, P(None, "model")), "out": NamedSharding(mesh, P("model"))}
    rows = NamedSharding(mesh, P("data"))
    shapes = {"in": (4, 8), "out": (8, 4)}
    given = {name: jax.ShapeDtypeStruct(shape, jnp.float32) for name, shape in shapes.items()}
    x = jax.ShapeDtypeStruct((4, 4), jnp.float32)
    return jax.jit(step, in_shardings=(weights, rows, rows)), (given, x, x)
