"""Programs of jax, a few for each opcode, with what they are run on: edges first (starts outside, negative padding)."""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

X = np.arange(24, dtype=np.float32).reshape(4, 6) / 8 - 1.3
Y = np.cos(np.arange(24, dtype=np.float32)).reshape(4, 6)
P = np.abs(X) + np.float32(0.25)
B = np.arange(48, dtype=np.float32).reshape(2, 4, 6) / 16 - 1
IDS = np.array([[0, 3, 9], [-2, 1, 3]], dtype=np.int32)
AT = np.array([5, -7], dtype=np.int32)
GATHER, SCATTER = lax.GatherDimensionNumbers, lax.ScatterDimensionNumbers
MODES = {"clip": lax.GatherScatterMode.CLIP, "drop": lax.GatherScatterMode.FILL_OR_DROP}


def scatter(how, mode=MODES["drop"]):
    numbers = SCATTER(update_window_dims=(1,), inserted_window_dims=(0,), scatter_dims_to_operand_dims=(0,))
    updates = np.arange(18, dtype=np.float32).reshape(3, 6)
    index = np.array([[3], [0], [11]], dtype=np.int32)
    return (lambda x, i, u: how(x, i, u, numbers, mode=mode)), (X, index, updates)


def convolution(padding, strides, base=(1, 1), apart=(1, 1), groups=1, batches=1):
    a = np.cos(np.arange(2 * 5 * 6 * 4, dtype=np.float32)).reshape(2, 5, 6, 4)
    b = np.sin(np.arange(3 * 2 * 4 // groups * 6, dtype=np.float32)).reshape(3, 2, 4 // groups, 6)

    def made(a, b):
        return lax.conv_general_dilated(
            a, b, strides, padding, base, apart, ("NHWC", "HWIO", "NHWC"), groups, batches
        )

    return made, (a, b)


CASES = {
    "add": (lambda x, y: x + y, (X, Y)),
    "subtract and negate": (lambda x, y: -(x - y), (X, Y)),
    "multiply": (lambda x, y: x * y, (X, Y)),
    "divide": (lambda x, y: x / y, (X, P)),
    "maximum, minimum": (lambda x, y: jnp.maximum(x, 0.1) + jnp.minimum(x, y), (X, Y)),
    "power": (lambda x: lax.pow(x, jnp.float32(1.5)), (P,)),
    "abs, sign": (lambda x: jnp.abs(x) + jnp.sign(x), (X,)),
    "exponential": (lambda x: jnp.exp(x) + jnp.expm1(x), (X,)),
    "log": (lambda x: jnp.log(x) + jnp.log1p(x), (P,)),
    "logistic, tanh": (lambda x: jax.nn.sigmoid(x) * jnp.tanh(x), (X,)),
    "erf": (lax.erf, (X,)),
    "sine, cosine": (lambda x: jnp.sin(x) + jnp.cos(x), (X,)),
    "floor, ceil, round": (lambda x: jnp.floor(x) + 2 * jnp.ceil(x) + 4 * jnp.round(x * 4), (X,)),
    "sqrt, rsqrt": (lambda x: jnp.sqrt(x) + lax.rsqrt(x), (P,)),
    "compare, select": (lambda x, y: jnp.where((x < y) | (x >= 1), x, y), (X, Y)),
    "compare, and, not": (lambda x, y: jnp.where(~(x == y) & (y != 0) & (x > -1), x, 2.0), (X, Y)),
    "greatest of rows": (lambda x: (*jax.lax.top_k(x, 3), jax.lax.top_k(-jnp.floor(jnp.abs(x)), 4)[1]), (X,)),
    "in order": (lambda x: (jnp.sort(x, 0), jnp.argsort(x, 1, descending=True), jnp.argsort(jnp.floor(x), 0)), (X,)),
    "in order with others": (lambda x, y: lax.sort((x, y), dimension=0, num_keys=1), (X, Y)),
    "is finite": (lambda x: (jnp.isfinite(jnp.log(x)), jnp.isfinite(1 / (x - x[0, 0])), jnp.isfinite(x)), (X,)),
    "clamp": (lambda x: lax.clamp(jnp.float32(-0.5), x, jnp.float32(0.75)), (X,)),
    "convert": (lambda x: (x * 3).astype(jnp.int32).astype(jnp.float32) + (x > 0).astype(jnp.float32), (X,)),
    "convert beyond the ends": (lambda x: ((x * 3e9).astype(jnp.int32), (x * 200).astype(jnp.uint8)), (X,)),
    "convert integers": (lambda i: (i * 70).astype(jnp.int8).astype(jnp.uint32), (IDS,)),
    "broadcast": (lambda x: jnp.broadcast_to(x[:, None, :], (4, 3, 6)), (X,)),
    "broadcast in dimensions": (lambda x: lax.broadcast_in_dim(x, (4, 5, 6), (0, 2)), (X,)),
    "reshape, transpose": (lambda b: jnp.transpose(b, (2, 0, 1)).reshape(3, 16), (B,)),
    "slice": (lambda x: x[1:4:2, ::3], (X,)),
    "reverse": (lambda b: b[::-1, :, ::-1], (B,)),
    "concatenate": (lambda x, y: jnp.concatenate([x, y, x], 1), (X, Y)),
    "iota": (lambda x: x + lax.broadcasted_iota(jnp.float32, (4, 6), 1), (X,)),
    "pad": (lambda x: lax.pad(x, jnp.float32(7), ((1, 2, 0), (0, 1, 2))), (X,)),
    "pad, negative": (lambda x: lax.pad(x, jnp.float32(7), ((-1, 2, 1), (2, -3, 2))), (X,)),
    "dot": (lambda x, y: x @ y.T, (X, Y)),
    "dot of batches": (lambda b, c: jnp.einsum("bik,bjk->bij", b, c), (B, B)),
    "dot of two contracted": (lambda b, c: jnp.einsum("bik,bjk->ij", b, c), (B, B)),
    "dot, batch behind": (lambda b, c: lax.dot_general(b, c, (((1,), (1,)), ((2,), (2,)))), (B, B)),
    "reduce": (lambda x: jnp.sum(x, 0) + jnp.max(x) + jnp.min(x, 0), (X,)),
    "reduce from": (lambda x: lax.reduce(x, jnp.float32(2), lax.add, (1,)), (X,)),
    "reduce maximum from": (lambda x: lax.reduce(x, jnp.float32(0.5), lax.max, (1,)), (X,)),
    "reduce and, or": (lambda x: jnp.any(x > 1, 1) & jnp.all(x > -9, 1), (X,)),
    "reduce integers": (lambda i: jnp.sum(i, 1) + jnp.max(i), (IDS,)),
    "integers": (lambda i: (i + 5) * 3 - jnp.abs(i), (IDS,)),
    "remainders": (lambda i: (i % 4, i // 4, lax.rem(i, jnp.int32(-3)), jnp.fmod(i, 5)), (IDS - 4,)),
    "integers divided": (lambda i: lax.div(i, jnp.int32(2)), (IDS,)),
    "remainder of known integers": (lambda x: x * lax.rem(jnp.int32(-7), jnp.int32(3)).astype(jnp.float32), (X,)),
    "integers that wrap around": (lambda i: i * jnp.int32(1 << 30) * 3, (IDS,)),
    "dynamic slice": (lambda x, i: lax.dynamic_slice(x, (i[0], i[1]), (2, 3)), (X, AT)),
    "dynamic slice of constant starts": (lambda x: lax.dynamic_slice(x, (3, 5), (2, 3)), (X,)),
    "dynamic update slice": (lambda x, u, i: lax.dynamic_update_slice(x, u, (i[0], i[1])), (X, Y[:2, :3], AT)),
    "dynamic update slice, constant": (lambda x, u: lax.dynamic_update_slice(x, u, (3, 5)), (X, Y[:2, :3])),
    "gather rows, clip": (lambda x, i: jnp.take(x, i, axis=0, mode="clip"), (X, IDS)),
    "gather rows, fill": (lambda x, i: jnp.take(x, i, axis=0, mode="fill", fill_value=0), (X, IDS)),
    "gather along": (lambda x, i: jnp.take_along_axis(x[:2], i, axis=1, mode="clip"), (X, IDS)),
    "gather windows": (
        lambda x, i: lax.gather(x, i, GATHER((1, 2), (), (0, 1)), (2, 3), mode=MODES["clip"]),
        (X, np.array([[0, 1], [3, 9], [-4, 2]], dtype=np.int32)),
    ),
    "gather, window first": (
        lambda x, i: lax.gather(x, i, GATHER((0,), (1,), (1,)), (4, 1), mode=MODES["clip"]),
        (X, np.array([[0], [5], [9]], dtype=np.int32)),
    ),
    "gather of batches": (
        jax.vmap(lambda x, j: jnp.take(x, j, axis=0, mode="clip")),
        (B, IDS),
    ),
    "scatter add": scatter(lax.scatter_add),
    "scatter": scatter(lax.scatter),
    "scatter max": scatter(lax.scatter_max),
    "scatter min": scatter(lax.scatter_min),
    "scatter max twice": (
        lambda x, i, u: x.at[i].max(u),
        (X, np.array([1, 1, 3, 8], dtype=np.int32), np.ones((4, 6), dtype=np.float32)),
    ),
    "scatter add, clip": scatter(lax.scatter_add, MODES["clip"]),
    "scatter add twice": (
        lambda x, i, u: x.at[i].add(u),
        (X, np.array([1, 1, 3, 8], dtype=np.int32), np.ones((4, 6), dtype=np.float32)),
    ),
    "scatter of batches": (
        jax.vmap(lambda x, j, v: x.at[j].add(v)),
        (B, IDS, np.ones((2, 3, 6), dtype=np.float32)),
    ),
    "softmax": (lambda x: jax.nn.softmax(x, axis=-1), (X,)),
    "log softmax and its gradient": (jax.grad(lambda x: jax.nn.log_softmax(x, -1)[:, 1].sum()), (X,)),
    "scan": (lambda b, x: lax.scan(lambda c, w: (jnp.tanh(c * w), c.sum()), x, b), (B, X)),
    "condition that is known": (lambda x: lax.cond(True, lambda y: y + 1, lambda y: y - 1, x), (X,)),
    "switch that is known": (lambda x: lax.switch(7, [lambda y: y + 1, lambda y: y * 2, lambda y: y - 1], x), (X,)),
    "argmax, argmin": (lambda x, y: (jnp.argmax(x, 1), jnp.argmin(y, 0), jnp.argmax(x * 0)), (X, Y)),
    "products": (lambda x: jnp.prod(x, 0) + jnp.prod(x), (X,)),
    "cumulative sums": (lambda x: jnp.cumsum(x, 1) + lax.cumsum(x, 0, reverse=True), (X,)),
    "cumulative maxima, products": (lambda x: lax.cummax(x, 1) + lax.cumprod(x, 0), (X,)),
    "windows": (
        lambda x: (
            lax.reduce_window(x, jnp.float32(0), lax.add, (2, 3), (1, 2), ((1, 0), (0, 2)), (2, 1), (1, 2)),
            lax.reduce_window(x, -jnp.inf, lax.max, (2, 2), (2, 2), "SAME"),
        ),
        (X,),
    ),
    "the gradient of windows": (
        jax.grad(
            lambda x: sum(
                jnp.sum(Y[: h.shape[0], : h.shape[1]] * h)
                for h in (
                    lax.reduce_window(jnp.round(x), -jnp.inf, lax.max, (2, 2), (2, 2), "VALID"),
                    lax.reduce_window(x, -jnp.inf, lax.max, (3, 2), (2, 1), ((1, 1), (0, 1))),
                )
            )
        ),
        (Y * 3,),
    ),
    "a gradient with equal elements": (
        jax.grad(lambda x: jnp.sum(lax.reduce_window(x, -jnp.inf, lax.max, (2, 3), (1, 2), "VALID") ** 2)),
        (np.round(Y * 2),),
    ),
    "convolution": convolution("SAME", (2, 1)),
    "convolution, dilated": convolution(((1, -1), (2, 0)), (1, 2), (2, 1), (1, 2)),
    "convolution in groups of features": convolution("VALID", (1, 1), groups=2),
    "convolution in groups of batches": convolution("VALID", (1, 1), batches=2),
    "gradients of a convolution": (
        jax.grad(lambda a, b: convolution("SAME", (2, 1), groups=2)[0](a, b).sum(), (0, 1)),
        convolution("SAME", (2, 1), groups=2)[1],
    ),
    "random bits of a key": (lambda x: x * jax.random.uniform(jax.random.key(3), (6,)), (X,)),
    "bits of integers": (lambda x: x + (lax.iota(jnp.int32, 6) & 3).astype(jnp.float32), (X,)),
}
"""name -> function and arguments."""
