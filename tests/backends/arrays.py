"""Meanings of operators on arrays of floats, for the tests of generated plans only: plain numpy, by hand.

FORWARD: op -> (inputs, attrs) -> outputs. GRADIENT: op -> (grads, inputs, attrs) -> gradients of all the inputs.
"""

from math import erf, pi, sqrt

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


def linear(inputs, attrs):
    x, w, *bias = inputs
    return (x @ w.T + sum(bias),)


def linear_grad(grads, inputs, attrs):
    x, w, *bias = inputs
    rows = grads[0].reshape(-1, w.shape[0])
    return grads[0] @ w, rows.T @ x.reshape(-1, w.shape[1]), *(rows.sum(axis=0) for _ in bias)


def add_grad(grads, inputs, attrs):
    return tuple(unbroadcast(scale * grads[0], x.shape) for scale, x in zip((1, attrs["alpha"]), inputs, strict=False))


def mul_grad(grads, inputs, attrs):
    x, y = inputs
    return unbroadcast(grads[0] * y, x.shape), unbroadcast(grads[0] * x, y.shape)


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def silu_grad(grads, inputs, attrs):
    s = sigmoid(inputs[0])
    return (grads[0] * (s + inputs[0] * s * (1 - s)),)


def normal_below(x):
    """The probability that a standard normal number is below x."""
    return 0.5 * (1 + np.vectorize(erf)(x / sqrt(2)))


def gelu_grad(grads, inputs, attrs):
    (x,) = inputs
    return (grads[0] * (normal_below(x) + x * np.exp(-x * x / 2) / sqrt(2 * pi)),)


def layernorm(inputs, attrs):
    x, weight, bias = inputs
    assert attrs["normalized_shape"] == x.shape[-1:]
    return (normalised(x, attrs) * weight + bias,)


def normalised(x, attrs):
    return (x - x.mean(axis=-1, keepdims=True)) / np.sqrt(x.var(axis=-1, keepdims=True) + attrs["eps"])


def layernorm_grad(grads, inputs, attrs):
    x, weight, _ = inputs
    y, dy = normalised(x, attrs), grads[0] * weight
    pull = dy - dy.mean(axis=-1, keepdims=True) - y * (dy * y).mean(axis=-1, keepdims=True)
    dx = pull / np.sqrt(x.var(axis=-1, keepdims=True) + attrs["eps"])
    return dx, unbroadcast(grads[0] * y, weight.shape), unbroadcast(grads[0], weight.shape)


def choose(row, attrs):
    """The experts of one token, best first, by its scores with bias: of the groups with the best two experts."""
    groups = np.split(np.arange(len(row)), attrs["n_groups"])
    groups.sort(key=lambda group: -np.sort(row[group])[-2:].sum())
    allowed = np.concatenate(groups[: attrs["topk_groups"]])
    return allowed[np.argsort(-row[allowed])][: attrs["topk"]]


def route(inputs, attrs):
    x, w, bias = inputs
    assert attrs["score_func"] == "sigmoid"
    scores = sigmoid(x @ w.T)
    indices = np.stack([choose(row, attrs) for row in scores + bias])
    return scores, indices, np.take_along_axis(scores, indices, axis=1)


def gate(inputs, attrs):
    _, indices, found = route(inputs, attrs)
    return attrs["route_scale"] * found / found.sum(axis=1, keepdims=True), indices


def gate_grad(grads, inputs, attrs):
    x, w, _ = inputs
    assert grads[1] is None
    scores, indices, found = route(inputs, attrs)
    total = found.sum(axis=1, keepdims=True)
    dfound = grads[0] / total - (grads[0] * found).sum(axis=1, keepdims=True) / total**2
    dscores = np.zeros_like(scores)
    np.put_along_axis(dscores, indices, attrs["route_scale"] * dfound, axis=1)
    dlogits = dscores * scores * (1 - scores)
    return dlogits @ w, dlogits.T @ x, None


def held_slots(indices, attrs):
    """(expert here, tokens, slots) for each expert that is held."""
    for expert in range(attrs["local_expert_start"], attrs["local_expert_end"]):
        yield expert - attrs["local_expert_start"], *np.nonzero(indices == expert)


def moe_gmm(inputs, attrs):
    x, indices, weights, w1, w3, w2 = inputs
    y = np.zeros_like(x)
    for at, token, slot in held_slots(indices, attrs):
        gate, up = x[token] @ w1[at].T, x[token] @ w3[at].T
        np.add.at(y, token, weights[token, slot][:, None] * ((gate * sigmoid(gate) * up) @ w2[at].T))
    return (y,)


def moe_gmm_grad(grads, inputs, attrs):
    x, indices, weights, w1, w3, w2 = inputs
    dx, dweights, dw1, dw3, dw2 = (np.zeros_like(of) for of in (x, weights, w1, w3, w2))
    for at, token, slot in held_slots(indices, attrs):
        rows, dy = x[token], grads[0][token]
        gate, up = rows @ w1[at].T, rows @ w3[at].T
        s = sigmoid(gate)
        hidden = gate * s * up
        dweights[token, slot] = (dy * (hidden @ w2[at].T)).sum(axis=1)
        dmade = weights[token, slot][:, None] * dy
        dhidden = dmade @ w2[at]
        dgate, dup = dhidden * up * (s + gate * s * (1 - s)), dhidden * gate * s
        dw1[at], dw3[at], dw2[at] = dgate.T @ rows, dup.T @ rows, dmade.T @ hidden
        np.add.at(dx, token, dgate @ w1[at] + dup @ w3[at])
    return dx, None, dweights, dw1, dw3, dw2


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
    "linear": linear,
    "layernorm": layernorm,
    "gate": gate,
    "moe_gmm": moe_gmm,
    "gelu": lambda i, a: (i[0] * normal_below(i[0]),),
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
    "add": add_grad,
    "mul": mul_grad,
    "div": lambda g, i, a: (g[0] / a["other"],),
    "rsqrt": lambda g, i, a: (-0.5 * g[0] * i[0] ** -1.5,),
    "linear": linear_grad,
    "layernorm": layernorm_grad,
    "gate": gate_grad,
    "moe_gmm": moe_gmm_grad,
    "gelu": gelu_grad,
    "view": lambda g, i, a: (g[0].reshape(i[0].shape),),
    "transpose": lambda g, i, a: (np.swapaxes(g[0], a["dim0"], a["dim1"]),),
    "apply_rotary_emb": lambda g, i, a: (rotate(g[0], i[2].conj()), rotate(g[1], i[2].conj()), None),
    "softmax": softmax_grad,
    "matmul": matmul_grad,
    "silu": silu_grad,
    "relu": lambda g, i, a: (g[0] * (i[0] > 0),),
    "sum": lambda g, i, a: (np.broadcast_to(g[0].reshape(()), i[0].shape),),
}
