"""A perceptron of flax (linen) as it is, with its layer norm, and optax's SGD, data parallel.

    verdict jax examples/jax/flax_model.py
    verdict jax examples/jax/flax_model.py:build_tensor    # data x tensor parallel
"""

import jax
import jax.numpy as jnp
import optax
from flax import linen as nn
from jax.sharding import AxisType, NamedSharding
from jax.sharding import PartitionSpec as P

ROWS, WIDTH, WIDE = 8, 4, 8
OPTIMIZER = optax.sgd(0.1, momentum=0.9)
CUT = {"Dense_0": {"kernel": P(None, "model"), "bias": P("model")}, "Dense_1": {"kernel": P("model"), "bias": P()}}


class Perceptron(nn.Module):
    @nn.compact
    def __call__(self, x):
        x = nn.silu(nn.Dense(WIDE)(nn.LayerNorm()(x)))
        return nn.Dense(WIDTH)(x)


def build(sizes=(8, 1)):
    mesh = jax.make_mesh(sizes, ("data", "model"), axis_types=(AxisType.Auto,) * 2)
    x = jax.ShapeDtypeStruct((ROWS, WIDTH), jnp.float32)
    model = Perceptron()
    weights = jax.eval_shape(model.init, jax.random.key(0), x)["params"]
    state = jax.eval_shape(OPTIMIZER.init, weights)

    def step(weights, state, x, target):
        def loss(weights):
            return jnp.mean((model.apply({"params": weights}, x) - target) ** 2)

        value, gradients = jax.value_and_grad(loss)(weights)
        updates, state = OPTIMIZER.update(gradients, state)
        return value, optax.apply_updates(weights, updates), state

    def placed(path, _):
        names = [key.key for key in path if isinstance(key, jax.tree_util.DictKey)]
        return NamedSharding(mesh, CUT.get(names[0], {}).get(names[1], P()))

    rows = NamedSharding(mesh, P("data"))
    held = jax.tree_util.tree_map_with_path(placed, (weights, state))
    out = (NamedSharding(mesh, P()), *held)
    return jax.jit(step, in_shardings=(*held, rows, rows), out_shardings=out), (weights, state, x, x)


def build_tensor():
    return build((2, 4))
