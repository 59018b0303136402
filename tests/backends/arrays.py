"""Meanings of operators on arrays of floats, for the tests of generated plans only: plain numpy, by hand.

FORWARD: op -> (inputs, attrs) -> outputs. GRADIENT: op -> (grads, inputs, attrs) -> gradients of all the inputs.
"""

import numpy as np


def unbroadcast(grad, shape):
    while grad.ndim > len(shape):
        grad = grad.sum(axis=0)
    for axis, size in enumerate(shape):
        if size == 1 and grad.shape[axis] != 1:
            grad = grad.sum(axis=axis, keepdims=True)
    return grad


def other(inputs, attrs):
    return inputs[1] if len(inputs) == 2 else attrs["other"]


def embedding(inputs, attrs):
    ids, weight = inputs
    held = (ids >= attrs["start"]) & (ids < attrs["stop"])
    return (np.where(held[..., None], weight[np.where(held, ids - attrs["start"], 0)], 0.0),)


def embedding_grad(grads, inputs, attrs):
    ids, weight = inputs
    held = (ids >= attrs["start"]) & (ids < attrs["stop"])
    found = np.zeros_like(weight)
    np.add.at(found, ids[held] - attrs["start"], grads[0][held])
    return None, found


def create_mask(inputs, attrs):
    size = inputs[0].shape[1]
    return (np.triu(np.full((size, size), -np.inf), 1)[None, None],)


def rotate(x, freqs):
    pairs = (x[..., 0::2] + 1j * x[..., 1::2]) * freqs[None, :, None, :]
    return np.stack([pairs.real, pairs.imag], axis=-1).reshape(x.shape)


def softmax(x):
    weights = np.exp(x - x.max(axis=-1, keepdims=True))
    return weights / weights.sum(axis=-1, keepdims=True)


def softmax_grad(grads, inputs, attrs):
    y = softmax(inputs[0])
    return (y * (grads[0] - (grads[0] * y).sum(axis=-1, keepdims=True)),)


def matmul_grad(grads, inputs, attrs):
    a, b = inputs
    return grads[0] @ np.swapaxes(b, -1, -2), np.swapaxes(a, -1, -2) @ grads[0]


def linear_grad(grads, inputs, attrs):
    x, w = inputs
    return grads[0] @ w, grads[0].reshape(-1, w.shape[0]).T @ x.reshape(-1, w.shape[1])


def mul_grad(grads, inputs, attrs):
    x, y = inputs
    return unbroadcast(grads[0] * y, x.shape), unbroadcast(grads[0] * x, y.shape)


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def silu_grad(grads, inputs, attrs):
    s = sigmoid(inputs[0])
    return (grads[0] * (s + inputs[0] * s * (1 - s)),)


def mean(inputs, attrs):
    return (inputs[0].mean(axis=attrs["dim"], keepdims=attrs["keepdim"]),)


def mean_grad(grads, inputs, attrs):
    count = np.prod([inputs[0].shape[axis] for axis in attrs["dim"]])
    return (np.broadcast_to(grads[0] / count, inputs[0].shape),)


def same(inputs, attrs):
    return (inputs[0],)


def same_grad(grads, inputs, attrs):
    return (grads[0],)


FORWARD = {
    "embedding": embedding,
    "create_mask": create_mask,
    "apply_mask": lambda i, a: (i[0] + i[1],),
    "float": same,
    "to": same,
    "contiguous": same,
    "multiref": lambda i, a: (i[0],) * a["times"],
    "pow": lambda i, a: (i[0] ** a["exponent"],),
    "mean": mean,
    "add": lambda i, a: (i[0] + a["alpha"] * other(i, a),),
    "mul": lambda i, a: (i[0] * i[1],),
    "div": lambda i, a: (i[0] / a["other"],),
    "rsqrt": lambda i, a: (1 / np.sqrt(i[0]),),
    "linear": lambda i, a: (i[0] @ i[1].T,),
    "view": lambda i, a: (i[0].reshape(a["size"]),),
    "transpose": lambda i, a: (np.swapaxes(i[0], a["dim0"], a["dim1"]),),
    "apply_rotary_emb": lambda i, a: (rotate(i[0], i[2]), rotate(i[1], i[2])),
    "softmax": lambda i, a: (softmax(i[0]),),
    "matmul": lambda i, a: (i[0] @ i[1],),
    "silu": lambda i, a: (i[0] * sigmoid(i[0]),),
    "relu": lambda i, a: (np.maximum(i[0], 0.0),),
    "sum": lambda i, a: (i[0].sum().reshape(1),),
}

GRADIENT = {
    "embedding": embedding_grad,
    "apply_mask": lambda g, i, a: (g[0], None),
    "float": same_grad,
    "to": same_grad,
    "contiguous": same_grad,
    "multiref": lambda g, i, a: (sum(g),),
    "pow": lambda g, i, a: (g[0] * a["exponent"] * i[0] ** (a["exponent"] - 1),),
    "mean": mean_grad,
    "add": lambda g, i, a: (g[0], g[0] * a["alpha"])[: len(i)],
    "mul": mul_grad,
    "div": lambda g, i, a: (g[0] / a["other"],),
    "rsqrt": lambda g, i, a: (-0.5 * g[0] * i[0] ** -1.5,),
    "linear": linear_grad,
    "view": lambda g, i, a: (g[0].reshape(i[0].shape),),
    "transpose": lambda g, i, a: (np.swapaxes(g[0], a["dim0"], a["dim1"]),),
    "apply_rotary_emb": lambda g, i, a: (rotate(g[0], i[2].conj()), rotate(g[1], i[2].conj()), None),
    "softmax": softmax_grad,
    "matmul": matmul_grad,
    "silu": silu_grad,
    "relu": lambda g, i, a: (g[0] * (i[0] > 0),),
    "sum": lambda g, i, a: (np.broadcast_to(g[0].reshape(()), i[0].shape),),
}
