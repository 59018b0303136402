"""A layer of flax's (linen) own attention, with its biases and layer norms, and optax's AdamW.

    verdict jax examples/jax/flax_attention.py                  # data parallel
    verdict jax examples/jax/flax_attention.py:build_tensor     # tensor parallel: heads and columns are divided
    verdict jax examples/jax/flax_attention.py:build_both       # data x tensor parallel
"""

import jax
import jax.numpy as jnp
import optax
from flax import linen as nn
from jax.sharding import AxisType, NamedSharding
from jax.sharding import PartitionSpec as P

BATCH, LENGTH, WIDTH, HEADS = 2, 4, 8, 2
OPTIMIZER = optax.adamw(1e-2)
BY_HEADS = {"kernel": P(None, "model", None), "bias": P("model", None)}
CUT = {
    **dict.fromkeys(("query", "key", "value"), BY_HEADS),
    "out": {"kernel": P("model", None, None)},
    "Dense_0": {"kernel": P(None, "model"), "bias": P("model")},
    "Dense_1": {"kernel": P("model", None)},
}


class Layer(nn.Module):
    @nn.compact
    def __call__(self, x):
        y = nn.LayerNorm()(x)
        x = x + nn.MultiHeadDotProductAttention(num_heads=HEADS)(y, y)
        y = nn.LayerNorm()(x)
        return x + nn.Dense(WIDTH)(nn.gelu(nn.Dense(WIDTH)(y)))


def build(sizes=(2, 1)):
    mesh = jax.make_mesh(sizes, ("data", "model"), axis_types=(AxisType.Auto,) * 2)
    x = jax.ShapeDtypeStruct((BATCH, LENGTH, WIDTH), jnp.float32)
    model = Layer()
    weights = jax.eval_shape(model.init, jax.random.key(0), x)["params"]
    state = jax.eval_shape(OPTIMIZER.init, weights)

    def step(weights, state, x, target):
        def loss(weights):
            return jnp.mean((model.apply({"params": weights}, x) - target) ** 2)

        value, gradients = jax.value_and_grad(loss)(weights)
        updates, state = OPTIMIZER.update(gradients, state, weights)
        return value, optax.apply_updates(weights, updates), state

    def placed(path, _):
        names = [key.key for key in path if isinstance(key, jax.tree_util.DictKey)]
        cut = next((CUT[name] for name in names if name in CUT), {})
        return NamedSharding(mesh, cut.get(names[-1], P()) if names else P())

    rows = NamedSharding(mesh, P("data"))
    held = jax.tree_util.tree_map_with_path(placed, (weights, state))
    out = (NamedSharding(mesh, P()), *held)
    return jax.jit(step, in_shardings=(*held, rows, rows), out_shardings=out), (weights, state, x, x)


def build_tensor():
    return build((1, 2))


def build_both():
    return build((2, 2))
