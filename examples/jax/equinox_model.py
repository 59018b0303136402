"""A perceptron of equinox as it is, and optax's SGD, data parallel: `verdict jax examples/jax/equinox_model.py`.

Run with `:build_old` XLA's older propagation of shardings is asked, instead of Shardy.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jax.sharding import AxisType, NamedSharding
from jax.sharding import PartitionSpec as P

ROWS, WIDTH = 8, 4
OPTIMIZER = optax.sgd(0.1, momentum=0.9)


def build():
    mesh = jax.make_mesh((8,), ("data",), axis_types=(AxisType.Auto,))
    model = eqx.filter_eval_shape(eqx.nn.MLP, WIDTH, WIDTH, 8, 2, activation=jax.nn.silu, key=jax.random.key(0))
    weights, rest = eqx.partition(model, lambda leaf: isinstance(leaf, jax.ShapeDtypeStruct))
    state = jax.eval_shape(OPTIMIZER.init, weights)

    def step(weights, state, x, target):
        def loss(weights):
            return jnp.mean((jax.vmap(eqx.combine(weights, rest))(x) - target) ** 2)

        value, gradients = jax.value_and_grad(loss)(weights)
        updates, state = OPTIMIZER.update(gradients, state)
        return value, eqx.apply_updates(weights, updates), state

    whole, rows = NamedSharding(mesh, P()), NamedSharding(mesh, P("data"))
    x = jax.ShapeDtypeStruct((ROWS, WIDTH), jnp.float32)
    return jax.jit(step, in_shardings=(whole, whole, rows, rows), out_shardings=whole), (weights, state, x, x)


def build_old():
    jax.config.update("jax_use_shardy_partitioner", False)
    return build()
