"""A perceptron with gradients, data and tensor parallel: `verdict jax examples/jax/mlp.py` with SGD.

`:build_adam` takes optax's Adam, whose states and count of steps are given and compared; `:build_explicit` has
shardings in types. `:build_data`, `:build_tensor` and `:build_fsdp`, and each with `_adam`, are sharded otherwise.
"""

from functools import partial

import jax
import jax.numpy as jnp
import optax
from jax.sharding import AxisType, NamedSharding
from jax.sharding import PartitionSpec as P

LAYOUTS = {
    "data x tensor": ({"in": P(None, "model"), "out": P("model")}, P("data")),
    "data": ({"in": P(), "out": P()}, P(("data", "model"))),
    "tensor": ({"in": P(None, ("data", "model")), "out": P(("data", "model"))}, P()),
    "fsdp": ({"in": P("data", "model"), "out": P(("data", "model"))}, P(("data", "model"))),
}
"""How the weights, and with them all states, and the rows of the batch are sharded."""
OPTIMIZERS = {"sgd": optax.sgd(0.1), "adam": optax.adam(0.1)}


def step(weights, state, x, target, optimizer):
    def loss(weights):
        return jnp.mean((jnp.tanh(x @ weights["in"]) @ weights["out"] - target) ** 2)

    value, gradients = jax.value_and_grad(loss)(weights)
    updates, state = OPTIMIZERS[optimizer].update(gradients, state)
    return value, optax.apply_updates(weights, updates), state


def build(optimizer="sgd", kind=AxisType.Auto, layout="data x tensor"):
    mesh = jax.make_mesh((2, 4), ("data", "model"), axis_types=(kind,) * 2)
    specs, batch = LAYOUTS[layout]
    shapes = {"in": (4, 8), "out": (8, 4)}
    weights = {name: jax.ShapeDtypeStruct(shape, jnp.float32) for name, shape in shapes.items()}
    state = jax.eval_shape(OPTIMIZERS[optimizer].init, weights)

    def placed(path, _):
        names = [key.key for key in path if isinstance(key, jax.tree_util.DictKey)]
        return NamedSharding(mesh, specs[names[-1]] if names else P())

    at, rows = jax.tree_util.tree_map_with_path(placed, (weights, state)), NamedSharding(mesh, batch)
    x = jax.ShapeDtypeStruct((8, 4), jnp.float32)
    jitted = jax.jit(
        partial(step, optimizer=optimizer),
        in_shardings=(*at, rows, rows),
        out_shardings=(NamedSharding(mesh, P()), *at),
    )
    return jitted, (weights, state, x, x), {"state[0].count": (0, 1000)} if optimizer == "adam" else {}


build_adam = partial(build, "adam")
build_explicit = partial(build, kind=AxisType.Explicit)
build_data, build_data_adam = (partial(build, name, layout="data") for name in OPTIMIZERS)
build_tensor, build_tensor_adam = (partial(build, name, layout="tensor") for name in OPTIMIZERS)
build_fsdp, build_fsdp_adam = (partial(build, name, layout="fsdp") for name in OPTIMIZERS)
