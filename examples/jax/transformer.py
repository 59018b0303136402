"""A step of a transformer of two layers (or 32) with AdamW, partitioned by XLA in several ways, unrolled and scanned.

    verdict jax examples/jax/transformer.py                  # data parallel
    verdict jax examples/jax/transformer.py:build_tensor     # data x tensor parallel; and the other functions

Rotary positions, a causal mask, root mean square norms, a gated feed-forward, cross entropy over the tokens.
"""

from functools import partial

import jax
import jax.numpy as jnp
import optax
from jax.sharding import AxisType, NamedSharding
from jax.sharding import PartitionSpec as P

LAYERS, HEADS, WIDTH, WIDE, WORDS, ROWS, LENGTH = 2, 4, 8, 4, 8, 8, 4
SHAPES = {
    "query": (WIDTH, WIDTH), "key": (WIDTH, WIDTH), "value": (WIDTH, WIDTH), "out": (WIDTH, WIDTH),
    "gate": (WIDTH, WIDE), "up": (WIDTH, WIDE), "down": (WIDE, WIDTH), "norm": (WIDTH,), "second": (WIDTH,),
}  # fmt: skip
COLUMNS, SUMMED = {"query", "key", "value", "gate", "up"}, {"out", "down"}
OPTIMIZER = optax.adamw(1e-2)
RANGES = {"ids": (0, WORDS - 1), "targets": (0, WORDS - 1), "state[0].count": (0, 1000)}
"""What the integers lie between that the step is given."""


def norm(x, scale):
    return x * jax.lax.rsqrt(jnp.mean(x * x, -1, keepdims=True) + 1e-6) * scale


def rotated(x):
    """Rotary positions; x is rows x length x heads x width of a head."""
    half = x.shape[-1] // 2
    angles = jnp.arange(x.shape[1])[:, None] / 100.0 ** (jnp.arange(half) / half)
    cos, sin = jnp.cos(angles)[:, None], jnp.sin(angles)[:, None]
    one, other = x[..., :half], x[..., half:]
    return jnp.concatenate([one * cos - other * sin, one * sin + other * cos], -1)


def attention(x, layer):
    heads = (*x.shape[:2], HEADS, WIDTH // HEADS)
    query, key = (rotated((x @ layer[name]).reshape(heads)) for name in ("query", "key"))
    scores = jnp.einsum("bqhd,bkhd->bhqk", query, key) / (WIDTH // HEADS) ** 0.5
    causal = jnp.tril(jnp.ones(scores.shape[-2:], bool))
    shares = jax.nn.softmax(jnp.where(causal, scores, -1e30), -1)
    mixed = jnp.einsum("bhqk,bkhd->bqhd", shares, (x @ layer["value"]).reshape(heads))
    return mixed.reshape(x.shape) @ layer["out"]


def block(x, layer, laid):
    x = laid(x + attention(norm(x, layer["norm"]), layer))
    y = norm(x, layer["second"])
    return laid(x + (jax.nn.silu(y @ layer["gate"]) * (y @ layer["up"])) @ layer["down"])


def loss(weights, ids, targets, laid, scanned):
    x = laid(weights["words"][ids])
    if scanned:
        x, _ = jax.lax.scan(lambda x, layer: (block(x, layer, laid), None), x, weights["layers"])
    else:
        for layer in weights["layers"]:
            x = block(x, layer, laid)
    likely = jax.nn.log_softmax(x @ weights["head"], -1)
    return -jnp.mean(jnp.take_along_axis(likely, targets[..., None], -1))


def step(weights, state, ids, targets, laid=lambda x: x, scanned=False):
    value, gradients = jax.value_and_grad(loss)(weights, ids, targets, laid, scanned)
    updates, state = OPTIMIZER.update(gradients, state, weights)
    return value, optax.apply_updates(weights, updates), state


def given(scanned=False, depth=LAYERS):
    """The shapes of all that a step is given."""
    of = partial(jax.ShapeDtypeStruct, dtype=jnp.float32)
    layers = [{name: of(shape) for name, shape in SHAPES.items()} for _ in range(depth)]
    if scanned:
        layers = {name: of((depth, *shape)) for name, shape in SHAPES.items()}
    weights = {"words": of((WORDS, WIDTH)), "layers": layers, "head": of((WIDTH, WORDS))}
    ids = jax.ShapeDtypeStruct((ROWS, LENGTH), jnp.int32)
    return weights, jax.eval_shape(OPTIMIZER.init, weights), ids, ids


def sharded(sizes, rows, spec, laid=None, scanned=False, depth=LAYERS):
    """The step on a mesh. rows: how ids and targets lie. spec: how a weight lies, by its name and rank; laid: how what
    flows between layers does, if that is said.
    """
    mesh = jax.make_mesh(tuple(sizes.values()), tuple(sizes), axis_types=(AxisType.Auto,) * len(sizes))

    def placed(path, value):
        names = [key.key for key in path if isinstance(key, jax.tree_util.DictKey)]
        lead = (None,) * (scanned and "layers" in names)
        return NamedSharding(mesh, P(*lead, *spec(names[-1], value.ndim - len(lead))) if names else P())

    arguments = given(scanned, depth)
    weights, state = jax.tree_util.tree_map_with_path(placed, arguments[:2])
    where = NamedSharding(mesh, rows)
    held = partial(jax.lax.with_sharding_constraint, shardings=NamedSharding(mesh, laid)) if laid else lambda x: x
    called = partial(step, laid=held, scanned=scanned)
    out = (NamedSharding(mesh, P()), weights, state)
    jitted = jax.jit(called, in_shardings=(weights, state, where, where), out_shardings=out)
    return jitted, arguments, RANGES


def by_model(name, rank):
    """Columns of some weights and rows of others over the axis model; the table of words by its words."""
    if name in COLUMNS or name == "head":
        return (None, "model")
    return ("model", None) if name in SUMMED or name == "words" else (None,) * rank


def build(scanned=False):
    return sharded({"data": 8}, P("data"), lambda name, rank: (None,) * rank, scanned=scanned)


def build_tensor(scanned=False, depth=LAYERS):
    return sharded({"data": 2, "model": 4}, P("data"), by_model, scanned=scanned, depth=depth)


def build_fsdp(scanned=False):
    spec = lambda name, rank: (None, "data") if name == "down" else ("data",)  # noqa: E731
    return sharded({"data": 8}, P("data"), spec, P("data"), scanned=scanned)


def build_sequence(scanned=False):
    return sharded({"data": 2, "model": 4}, P("data", "model"), by_model, P("data", "model"), scanned=scanned)


build_scanned = partial(build, True)
build_tensor_scanned = partial(build_tensor, True)
build_tensor_deep = partial(build_tensor, True, 32)
build_fsdp_scanned = partial(build_fsdp, True)
build_sequence_scanned = partial(build_sequence, True)
