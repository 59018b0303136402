"""Experts on 8 devices: each token goes to the expert that its router likes best, by all_to_all, and comes back; with
gradients and AdamW, against all experts on one device.

    verdict jax examples/jax/moe.py
    verdict jax examples/jax/moe.py:build_wrong     # what comes back is not sent back: REFUTED

Each device has one expert and sends each one as many places as it has tokens; a place that no token takes is zero.
"""

from functools import partial

import jax
import jax.numpy as jnp
import optax
from jax.sharding import AxisType, NamedSharding
from jax.sharding import PartitionSpec as P

EXPERTS, TOKENS, WIDTH, WIDE = 8, 16, 4, 4
OPTIMIZER = optax.adamw(1e-2)
SHAPES = {"router": (WIDTH, EXPERTS), "up": (EXPERTS, WIDTH, WIDE), "down": (EXPERTS, WIDE, WIDTH)}
SPECS = {"router": P(), "up": P("expert"), "down": P("expert")}
RANGES = {"state[0].count": (0, 1000)}


def routed(x, router, placed):
    """What the experts make of tokens, each by the one that its router likes best. placed: tokens on their places,
    experts x places x width -> what the experts make of these.
    """
    likes = jax.nn.softmax(x @ router, -1)
    best = (likes == likes.max(-1, keepdims=True)).astype(x.dtype)
    places = best[:, :, None] * jnp.eye(len(x))[:, None, :]
    made = placed(jnp.einsum("tep,tw->epw", places, x))
    return jnp.einsum("tep,epw,te->tw", places, made, likes)


def experts(tokens, weights):
    """tokens: experts x places x width, of the experts whose weights these are."""
    return jnp.einsum("epf,efw->epw", jax.nn.silu(jnp.einsum("epw,ewf->epf", tokens, weights["up"])), weights["down"])


def step(weights, state, x, target, placed, summed):
    """summed: adds up what the devices make. The gradients of its own experts are whole on each device."""

    def loss(weights):
        return jnp.sum((routed(x, weights["router"], partial(placed, weights)) - target) ** 2) / (TOKENS * WIDTH)

    value, gradients = jax.value_and_grad(loss)(weights)
    gradients = {name: summed(each) if name == "router" else each for name, each in gradients.items()}
    updates, state = OPTIMIZER.update(gradients, state, weights)
    return summed(value), optax.apply_updates(weights, updates), state


def given():
    weights = {name: jax.ShapeDtypeStruct(shape, jnp.float32) for name, shape in SHAPES.items()}
    x = jax.ShapeDtypeStruct((TOKENS, WIDTH), jnp.float32)
    return weights, jax.eval_shape(OPTIMIZER.init, weights), x, x


def build_single():
    placed = lambda weights, tokens: experts(tokens, weights)  # noqa: E731
    return jax.jit(partial(step, placed=placed, summed=lambda x: x)), given(), RANGES


def build(sent_back=True):
    mesh = jax.make_mesh((EXPERTS,), ("expert",), axis_types=(AxisType.Auto,))
    swap = partial(jax.lax.all_to_all, axis_name="expert", tiled=True)

    def placed(weights, tokens):
        made = experts(swap(tokens, split_axis=0, concat_axis=1), weights)
        return swap(made, split_axis=1, concat_axis=0) if sent_back else made.reshape(tokens.shape)

    def of(path, _):
        names = [key.key for key in path if isinstance(key, jax.tree_util.DictKey)]
        return SPECS[names[-1]] if names else P()

    arguments = given()
    held = jax.tree_util.tree_map_with_path(of, arguments[:2])
    at = (*held, P("expert"), P("expert"))
    on_device = partial(step, placed=placed, summed=lambda x: jax.lax.psum(x, "expert"))
    mapped = jax.shard_map(on_device, mesh=mesh, in_specs=at, out_specs=(P(), *held), check_vma=False)
    laid = jax.tree.map(lambda spec: NamedSharding(mesh, spec), at)
    return jax.jit(mapped, in_shardings=laid), arguments, RANGES


def build_wrong():
    return build(sent_back=False)
