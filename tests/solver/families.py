"""Parallelisms written out by hand, each right and with faults put in.

A family is a function of `fault`: the empty string builds the right obligation, any name in FAULTS a wrong
one. The two sides use other formulas on purpose, which is harder than what the verifier meets.
"""

from fractions import Fraction

import numpy as np

from tests.solver.build import (
    HALF,
    MINUS_INFINITY,
    array,
    each,
    erf,
    exp,
    ids,
    largest,
    obligation,
    positive,
    power,
    rows,
    sigmoid,
    softmax,
    step,
)
from verdict.solver import Terms

EPSILON = Fraction(1, 100_000)


def linear_columns(fault, parts=2):
    terms = Terms()
    x, w, dy = array(terms, "x", 3, 4), array(terms, "w", 4 * parts, 4), array(terms, "dy", 3, 4 * parts)
    cut = [slice(4 * i, 4 * i + 4) for i in range(parts)]
    shards = [x @ w[s].T for s in cut]
    if fault == "swapped":
        shards.reverse()
    dx = sum(dy[:, s] @ w[s] for s in (cut[:-1] if fault == "missing reduction" else cut))
    return obligation(terms, ("y", x @ w.T, np.concatenate(shards, 1)), ("dx", dy @ w, dx))


def linear_rows(fault, parts=2):
    terms = Terms()
    x, w, bias = array(terms, "x", 2, 4 * parts), array(terms, "w", 3, 4 * parts), array(terms, "b", 3)
    cut = [slice(4 * i, 4 * i + 4) for i in range(parts)]
    partial = [x[:, s] @ w[:, s].T for s in cut]
    if fault == "bias everywhere":
        partial = [part + bias for part in partial[:-1]] + partial[-1:]
    if fault == "reduced twice":
        partial = [2 * part for part in partial]
    return obligation(terms, ("y", x @ w.T + bias, sum(partial[1:], partial[0]) + bias))


def linear_partial_premise(fault):
    terms = Terms()
    s, w = array(terms, "s", 2), array(terms, "w", 2)
    p = [array(terms, f"p{i}", 2, parallel=True) for i in range(3)]
    premises = [(sum(part[i] for part in p), s[i]) for i in range(2)]
    used = p[:2] if fault == "part left out" else p
    return obligation(terms, ("y", s * w, sum(part * w for part in used)), premises=premises)


def swiglu(fault):
    terms = Terms()
    g, u, dy = (array(terms, name, 4) for name in ("g", "u", "dy"))
    s = sigmoid(g)
    t = exp(g) / (1 + exp(g))
    silu = t if fault == "silu without x" else g * t
    dg = dy * u * t if fault == "short gradient" else dy * u * (t + g * t * (1 - t))
    return obligation(terms, ("y", g * s * u, silu * u), ("dg", dy * u * s * (1 + g * (1 - s)), dg))


def gelu(fault):
    terms = Terms()
    a, b = array(terms, "a", 4), array(terms, "b", 4)
    x, y = a + b, b + a

    def apply(v):
        return HALF * v * (1 + erf(v * terms.constant(2).power(-HALF)))

    return obligation(terms, ("y", apply(x), apply(a) + apply(b) if fault == "before the sum" else apply(y)))


def rms_norm(fault, width=4):
    terms = Terms()
    x, w, dy = (array(terms, name, width) for name in ("x", "w", "dy"))
    half = width // 2
    inverse = ((x * x).sum() / width + EPSILON).power(-HALF)
    inner = (dy * w * x).sum()
    dx = inverse * dy * w - x * inverse * inverse * inverse * inner / width
    squares = [(x[s] * x[s]).sum() for s in (slice(half), slice(half, None))]
    total = squares[0] if fault == "local statistic" else squares[0] + squares[1]
    mean = total / (half if fault == "wrong divisor" else width)
    other = 1 / (mean + EPSILON).power(HALF)
    normal = x * other
    shared = (dy * w * normal)[:half].sum() + (dy * w * normal)[half:].sum()
    dx_parallel = other * (dy * w - normal * shared / width)
    return obligation(terms, ("y", x * inverse * w, normal * w), ("dx", dx, dx_parallel))


def layer_norm(fault, width=4):
    terms = Terms()
    x = array(terms, "x", width)
    half = width // 2
    mean = x.sum() / width
    centred = x - mean
    single = centred * ((centred * centred).sum() / width + EPSILON).power(-HALF)
    sums = [(x[s].sum(), (x[s] * x[s]).sum()) for s in (slice(half), slice(half, None))]
    first, second = (a + b for a, b in zip(*sums, strict=True))
    variance = second / width - (0 if fault == "mean not subtracted" else first * first / width**2)
    parallel = (x - first / width) / (variance + EPSILON).power(HALF)
    return obligation(terms, ("y", single, parallel))


def softmax_split(fault, width=6):
    terms = Terms()
    x, dy = array(terms, "x", width), array(terms, "dy", width)
    half = width // 2
    p = softmax(x)
    dx = p * (dy - (dy * p).sum())
    parts = [x[:half], x[half:]]
    top = [largest(part) for part in parts]
    weights = [exp(part - m) for part, m in zip(parts, top, strict=True)]
    both = top[0].maximum(top[1])
    scale = [1 if fault == "no rescaling" else (m - both).exp() for m in top]
    total = sum(s * w.sum() for s, w in zip(scale, weights, strict=True))
    q = np.concatenate([s * w for s, w in zip(scale, weights, strict=True)]) / total
    inner = (dy * q)[:half].sum() + (0 if fault == "missing reduction" else (dy * q)[half:].sum())
    return obligation(terms, ("y", p, q), ("dx", dx, q * (dy - inner)))


def attention_heads(fault, length=3, heads=2, width=2):
    terms = Terms()
    q, k, v = (array(terms, name, heads, length, width) for name in "qkv")
    mask = np.array([[0 if j <= i else MINUS_INFINITY for j in range(length)] for i in range(length)], object)
    window = np.array(
        [[0 if j in (i, i - 1) else MINUS_INFINITY for j in range(length)] for i in range(length)], object
    )

    def head(h, scale, shape):
        scores = (q[h] * scale) @ k[h].T + shape
        return rows(softmax, scores) @ v[h]

    scale = terms.constant(width).power(-HALF)
    single = np.array([head(h, scale, mask) for h in range(heads)])
    order = [1, 0] if fault == "heads swapped" else [0, 1]
    other = 1 / terms.constant(width).power(HALF)
    if fault == "scale squared":
        other = other * other
    parallel = np.array([head(h, other, window if fault == "window for causal" else mask) for h in order])
    return obligation(terms, ("o", single, parallel))


def ring_attention(fault, length=4):
    terms = Terms()
    scores, v = array(terms, "s", length), array(terms, "v", length)
    half = length // 2
    m, total, out = None, 0, 0
    for block in (slice(half), slice(half, None)):
        top = largest(scores[block])
        new = top if m is None else m.maximum(top)
        weights = exp(scores[block] - new)
        keep = 1 if m is None or fault == "no rescale" else (m - new).exp()
        total = total * keep + weights.sum()
        out = out * keep + (weights * v[block]).sum()
        m = new
    lse = m + total.log()
    single = softmax(scores)
    probability = exp(scores - (m if fault == "lse is max" else lse))
    return obligation(terms, ("o", (single * v).sum(), out / total), ("p", single, probability))


def vocab_cross_entropy(fault, vocab=6):
    terms = Terms()
    x, label = array(terms, "x", vocab), terms.index("label", vocab)
    half = vocab // 2
    hot = np.array([label.indicator(i) for i in range(vocab)])
    p = softmax(x)
    loss = -(hot * np.array([(x[i] - largest(x)) - exp(x - largest(x)).sum().log() for i in range(vocab)])).sum()
    top = largest(x)
    start = 0 if fault == "wrong vocab start" else half
    local = [(label - 0, x[:half]), (label - start, x[half:])]
    picked = sum((np.array([i.indicator(j) for j in range(half)]) * part).sum() for i, part in local)
    total = sum(exp(part - top).sum() for _, part in local)
    parallel = total.log() + (0 if fault == "max not added" else top) - picked
    dx = exp(x - top) / total - hot
    return obligation(terms, ("loss", loss, parallel), ("dx", p - hot, dx))


def embedding_vocab(fault, vocab=4, tokens=3, width=2):
    terms = Terms()
    w, dy, token = array(terms, "w", vocab, width), array(terms, "dy", tokens, width), ids(terms, "id", tokens, vocab)
    half = vocab // 2
    hot = np.array([[t.indicator(i) for i in range(vocab)] for t in token])
    local = [np.array([[(t - half * r).indicator(i) for i in range(half)] for t in token]) for r in range(2)]
    parts = [local[0] @ w[:half], local[1] @ w[half:]]
    dw = hot.T @ dy
    grads = np.concatenate([local[0].T @ dy, local[1].T @ dy])
    if fault == "set instead of add":
        later = [1, 1, 1]
        for i in range(tokens):
            for j in range(i + 1, tokens):
                later[i] = later[i] * (1 - sum(hot[i, v] * hot[j, v] for v in range(vocab)))
        grads = (hot * np.array(later)[:, None]).T @ dy
    return obligation(
        terms, ("y", hot @ w, parts[0] if fault == "missing reduction" else parts[0] + parts[1]), ("dw", dw, grads)
    )


def mean_of_columns(fault):
    terms = Terms()
    x = array(terms, "x", 5)
    small, large = x[:2], x[2:]
    mean = (small.sum() / 2 + large.sum() / 3) / 2
    if fault != "mean of means":
        mean = (small.sum() / 2) * Fraction(2, 5) + (large.sum() / 3) * Fraction(3, 5)
    return obligation(terms, ("loss", x.sum() / 5, mean))


def clip_global(fault):
    terms = Terms()
    g = array(terms, "g", 4)
    norm = ((g * g).sum() + EPSILON).power(HALF)
    local = [(part * part).sum() for part in (g[:2], g[2:])]
    other = (local[0] + (0 if fault == "local norm" else local[1]) + EPSILON).power(HALF)
    limit = terms.constant(1)
    ratio, other_ratio = (limit / n - limit for n in (norm, other))
    single = g * (1 - (-ratio).maximum(0))
    return obligation(terms, ("g", single, g * (1 - (-other_ratio).maximum(0))))


def norms_of_halves(fault, width=4):
    """Half the norm of all numbers, and the norm of the norms that two ranks have of halves of them."""
    terms = Terms()
    x = array(terms, "x", width)

    def norm(*numbers):
        return sum(each * each for each in numbers).power(HALF)

    scale = 1 if fault == "one in full" else HALF
    ranks = norm(*x[: width // 2] * HALF), norm(*x[width // 2 :] * scale)
    return obligation(terms, ("norm", norm(*x[:1], norm(*x[1:])) * HALF, norm(*ranks)))


def adamw(fault):
    terms = Terms()
    w, m, g1, g2 = (terms.real(name) for name in ("w", "m", "g1", "g2"))
    v, rate, one_minus = (terms.positive(name) for name in ("v", "rate", "one_minus"))
    decay = 1 - one_minus
    gradient = g1 + g2
    square = g1 * g1 + g2 * g2 if fault == "squares summed" else gradient * gradient

    def step_(second, root):
        moment = Fraction(9, 10) * m + Fraction(1, 10) * gradient
        total = (decay * decay * v + one_minus * second) / one_minus
        return w - rate * moment * root(total + EPSILON)

    single = step_(gradient * gradient, lambda x: x.power(-HALF))
    parallel = step_(square, lambda x: x.power(HALF) / x)
    return obligation(terms, ("w", single, parallel))


def rotary(fault, length=4):
    terms = Terms()
    x = array(terms, "x", length, 4)
    angle = array(terms, "a", length, 2)
    sine, cosine = each(lambda a: a.opaque("sin"))(angle), each(lambda a: a.opaque("cos"))(angle)

    def turn(part, s, c):
        left, right = part[:, :2], part[:, 2:]
        return np.concatenate([left * c - right * s, right * c + left * s], 1)

    half = length // 2
    second = slice(0, half) if fault == "positions restart" else slice(half, None)
    parts = [turn(x[:half], sine[:half], cosine[:half]), turn(x[half:], sine[second], cosine[second])]
    return obligation(terms, ("y", turn(x, sine, cosine), np.concatenate(parts)))


def dropout(fault):
    terms = Terms()
    x, seed = array(terms, "x", 4), terms.real("seed")
    mask = np.array([seed.opaque("keep", i) for i in range(4)])
    again = np.array([seed.opaque("keep", i % 2 if fault == "counter restarts" else i) for i in range(4)])
    return obligation(terms, ("y", 2 * x * mask, x * again + again * x))


def relu_gradient(fault):
    terms = Terms()
    a, b, dy = array(terms, "a", 3), array(terms, "b", 3), array(terms, "dy", 3)
    other = 1 - step(-(a + b)) if fault == "one at zero" else step(b + a)
    return obligation(terms, ("dx", dy * step(a + b), other * dy))


def experts(fault, count=3):
    terms = Terms()
    score, y = array(terms, "s", count), array(terms, "y", count)
    hot = positive(terms, "k", count)
    gate = softmax(score) * hot
    single = (gate / gate.sum() * y).sum()
    raw = exp(score - score[0]) * hot
    parts = [raw[i] * y[i] for i in range(count - (fault == "expert left out"))]
    return obligation(terms, ("y", single, sum(parts) / raw.sum()))


def scaled_power(fault):
    terms = Terms()
    x = positive(terms, "x", 3)
    other = power(4 * x, HALF) * HALF * power(x, -1 if fault == "exponent" else -HALF)
    return obligation(terms, ("y", power(x, HALF) / power(x, HALF), other))


FAULTS = {
    linear_columns: ("swapped", "missing reduction"),
    linear_rows: ("bias everywhere", "reduced twice"),
    linear_partial_premise: ("part left out",),
    swiglu: ("silu without x", "short gradient"),
    gelu: ("before the sum",),
    rms_norm: ("local statistic", "wrong divisor"),
    layer_norm: ("mean not subtracted",),
    softmax_split: ("no rescaling", "missing reduction"),
    attention_heads: ("heads swapped", "scale squared", "window for causal"),
    ring_attention: ("no rescale", "lse is max"),
    vocab_cross_entropy: ("wrong vocab start", "max not added"),
    embedding_vocab: ("missing reduction", "set instead of add"),
    mean_of_columns: ("mean of means",),
    clip_global: ("local norm",),
    norms_of_halves: ("one in full",),
    adamw: ("squares summed",),
    rotary: ("positions restart",),
    dropout: ("counter restarts",),
    relu_gradient: ("one at zero",),
    experts: ("expert left out",),
    scaled_power: ("exponent",),
}
