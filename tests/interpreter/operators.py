"""The own operators by their meanings in docs/operators.md, on torch tensors of 64 bits. Gradients are autograd's."""

import math

import torch


def _where(condition, x):
    return torch.where(condition, x, torch.zeros((), dtype=x.dtype))


def _hits(ids, start, size):
    """[ids = start + v], v last."""
    return (ids[..., None] == start + torch.arange(size)).double()


def embedding(ids, weight, start=0, stop=None, padding_idx=None):
    span(len(weight), start, stop)
    if padding_idx is not None:
        if not 0 <= padding_idx < len(weight):
            raise ValueError(f"row {padding_idx}")
        rows = torch.arange(len(weight)) == padding_idx
        weight = torch.where(rows[:, None], weight.detach(), weight)
    return _hits(ids, start, len(weight)) @ weight


def one_hot(ids, start=0, stop=None):
    return _hits(ids, start, stop - start)


def take_ids(x, ids, start=0, stop=None):
    span(x.shape[-1], start, stop)
    return _where(_hits(ids, start, x.shape[-1]) > 0, x).sum(-1)


def create_mask(tokens, h, start_pos=0):
    size = tokens.shape[1]
    place = torch.arange(size)
    later = place[None, :] > place[:, None] + start_pos
    return torch.where(later, -math.inf, 0.0).double()[None, None]


def binary(combine):
    def run(*tensors, other=None, reflected=False, alpha=1, rounding_mode=None):
        if rounding_mode is not None:
            raise ValueError("rounded")
        if len(tensors) == 2 and (other is not None or reflected):
            raise ValueError("two tensors and a number")
        x, y = tensors if len(tensors) == 2 else (tensors[0], torch.tensor(other, dtype=torch.float64))
        return combine(*((y, x) if reflected else (x, y)), alpha)

    return run


def _dims(x, dim):
    dim = tuple(range(x.ndim)) if dim is None or dim == () else dim if isinstance(dim, tuple) else (dim,)
    return tuple(range(x.ndim)[d] if x.ndim else d for d in dim)


def reduction(function):
    """Reduced over everything, without keepdim, there is one element."""

    def run(x, dim=None, keepdim=False, count=None):
        along = _dims(x, dim)
        return function(x, along, keepdim, count or math.prod(x.shape[d] for d in along))

    return run


def floating(dtype):
    known = None if dtype is None else getattr(torch, dtype, None)
    if dtype is not None and not (isinstance(known, torch.dtype) and known.is_floating_point):
        raise ValueError(f"{dtype} is no floating-point type")


def span(rows, start, stop):
    if start < 0 or (stop is not None and stop - start != rows):
        raise ValueError(f"{rows} rows from {start} to {stop}")


def softmax(x, dim, dtype=None):
    floating(dtype)
    powers = torch.exp(x - x.detach().amax(dim, keepdim=True))
    return powers / powers.sum(dim, keepdim=True)


def logsumexp(x, dim, keepdim=False):
    greatest = x.detach().amax(dim, keepdim=True)
    found = torch.log(torch.exp(x - greatest).sum(dim, keepdim=True)) + greatest
    return found if keepdim else found.squeeze(dim)


def log_softmax(x, dim, dtype=None):
    floating(dtype)
    return x - logsumexp(x, dim, True)


def gelu(x, approximate="none"):
    if approximate != "none":
        raise ValueError("approximate")
    return x / 2 * (1 + torch.erf(x / math.sqrt(2)))


def layernorm(x, weight, bias, normalized_shape, eps=1e-5, count=None):
    along = tuple(range(x.ndim - len(normalized_shape), x.ndim))
    count = count or math.prod(normalized_shape)
    centred = x - x.sum(along, keepdim=True) / count
    variance = (centred**2).sum(along, keepdim=True) / count
    return centred / torch.sqrt(variance + eps) * weight + bias


def cross_entropy(x, targets, ignore_index=None, label_smoothing=0.0, reduction="mean", classes=None):
    counted = torch.ones(targets.shape, dtype=torch.float64) if ignore_index is None else targets != ignore_index
    inside = (targets >= 0) & (targets < x.shape[-1])
    if bool((~inside & (counted != 0)).any()):
        raise ValueError("a target is no class")
    losses = logsumexp(x, -1) - (1 - label_smoothing) * take_ids(x, targets)
    if label_smoothing:
        losses = losses - label_smoothing / (classes or x.shape[-1]) * x.sum(-1)
    losses = _where(counted != 0, losses)
    if reduction == "none":
        return losses
    return losses.sum() if reduction == "sum" else losses.sum() / counted.sum()


def rotary(q, k, freqs):
    cos, sin = freqs.real[:, None, :], freqs.imag[:, None, :]

    def turned(x):
        one, two = x[..., 0::2], x[..., 1::2]
        return torch.stack([one * cos - two * sin, one * sin + two * cos], -1).reshape(x.shape)

    return turned(q), turned(k)


def gate(x, w, *bias, score_func, topk, n_groups=1, topk_groups=1, route_scale=1, slots=None):
    logits = x @ w.T
    scores = softmax(logits, 1) if score_func == "softmax" else 1 / (1 + torch.exp(-logits))
    judged = scores + bias[0] if bias else scores
    rows, size = [], len(w) // n_groups
    for row in judged.tolist():
        order = sorted(range(len(row)), key=lambda e: -row[e])
        worth = [sum(sorted(row[g * size : (g + 1) * size])[-(2 if bias else 1) :]) for g in range(n_groups)]
        kept = sorted(range(n_groups), key=lambda g: -worth[g])[:topk_groups]
        rows.append([e for e in order if e // size in kept][: slots or topk])
    indices = torch.tensor(rows)
    weights = scores.gather(1, indices)
    if score_func == "sigmoid":
        weights = weights / weights.sum(1, keepdim=True)
    return weights * route_scale, indices


def moe_gmm(x, indices, weights, w1, w3, w2, n_routed_experts, local_expert_start, local_expert_end):
    span(len(w1), local_expert_start, local_expert_end)
    if local_expert_end > n_routed_experts:
        raise ValueError(f"{n_routed_experts} experts")
    gates, ups = torch.einsum("edi,ti->etd", w1, x), torch.einsum("edi,ti->etd", w3, x)
    made = torch.einsum("eod,etd->eto", w2, gates / (1 + torch.exp(-gates)) * ups)
    hits = indices[None] == local_expert_start + torch.arange(len(w1))[:, None, None]
    return torch.einsum("et,eto->to", _where(hits, weights[None]).sum(-1), made)


def kept(x, p):
    """A random state that keeps an element or not by its value: the same wherever it is computed."""
    if p in (0, 1):
        return torch.full_like(x, 1 - p)
    return (torch.sin(17 * x.detach()) > -0.3).double() / (1 - p)


def dropout(x, p=0.5, training=True):
    return x * kept(x, p if training else 0)


def keyed_dropout(x, offset, key, p=0.5, training=True):
    if not training or p in (0, 1):
        return x * kept(x, p if training else 0)
    factor = torch.empty(x.shape, dtype=torch.float64)
    for place in torch.cartesian_prod(*(torch.arange(n) for n in x.shape)).reshape(-1, x.ndim).tolist():
        state = key + 1
        for at, start in zip(place, offset, strict=True):
            state = (state * 1_000_003 + at + start + 12_345) % 2_147_483_647
        factor[tuple(place)] = (state * 48_271 % 2_147_483_647) / 2_147_483_647
    return x * factor / (1 - p)


def self_attention(x, w, b, out, h, scale, dropout_p, mask=False):
    length, batch, _ = x.shape
    rows = (x @ w.T + b).reshape(length, batch, h, -1, 3)
    scores = torch.einsum("lnhd,mnhd->nhlm", rows[..., 0], rows[..., 1]) * scale
    if mask:
        place = torch.arange(length)
        scores = torch.where(place[None, :] > place[:, None], -10000.0, scores)
    weights = softmax(scores, 3)
    joined = torch.einsum("nhlm,mnhd->lnhd", weights * kept(weights, dropout_p), rows[..., 2])
    return joined.reshape(length, batch, -1) @ out.T


def feedforward(x, w1, b1, w2, dropout, is_training=True):
    active = gelu(x @ w1.T + b1)
    return active * kept(active, dropout if is_training else 0) @ w2.T


def sgd(w, g, *state, lr, momentum=0, dampening=0, weight_decay=0, nesterov=False):
    if bool(momentum) != bool(state):
        raise ValueError("a momentum and a state belong together")
    g = g + weight_decay * w
    if not state:
        return w - lr * g
    state = momentum * state[0] + (1 - dampening) * g
    return w - lr * (g + momentum * state if nesterov else state), state


def adam(decoupled):
    def run(w, g, m, v, lr, step, beta1=0.9, beta2=0.999, eps=1e-8, weight_decay=0):
        if not isinstance(step, int) or step < 1 or not (0 <= beta1 < 1 and 0 <= beta2 < 1):
            raise ValueError("step")
        before, g = w, g if decoupled else g + weight_decay * w
        m = beta1 * m + (1 - beta1) * g
        v = beta2 * v + (1 - beta2) * g * g
        w = w - lr * (m / (1 - beta1**step)) / (torch.sqrt(v / (1 - beta2**step)) + eps)
        return w - lr * weight_decay * before if decoupled else w, m, v

    return run


def pad(x, dim, before, after):
    zeros = [torch.zeros([*x.shape[:dim], size, *x.shape[dim:][1:]], dtype=x.dtype) for size in (before, after)]
    return torch.cat([zeros[0], x, zeros[1]], dim)


def select_blocks(x, dim, blocks, index):
    pieces = torch.chunk(x, blocks, dim)
    return torch.cat([pieces[k] for k in index], dim)


def _same(x):
    return x.clone()


def cast(x, dtype=None):
    floating(dtype)
    return x.clone()


OPERATORS = {
    "embedding": embedding,
    "one_hot": one_hot,
    "take_ids": take_ids,
    "create_mask": create_mask,
    "apply_mask": lambda scores, mask: scores + mask,
    "float": cast,
    "to": cast,
    "identity": _same,
    "contiguous": _same,
    "wait": _same,
    "multiref": lambda x, times: tuple(x.clone() for _ in range(times)),
    "accumulate": lambda *tensors: sum(tensors[1:], tensors[0]).clone(),
    "neg": lambda x: -x,
    "exp": torch.exp,
    "log": torch.log,
    "abs": lambda x: torch.where(x > 0, x, -x) * (x != 0),
    "sqrt": torch.sqrt,
    "rsqrt": lambda x: 1 / torch.sqrt(x),
    "sigmoid": lambda x: 1 / (1 + torch.exp(-x)),
    "tanh": torch.tanh,
    "silu": lambda x: x / (1 + torch.exp(-x)),
    "relu": lambda x: _where(x > 0, x),
    "gelu": gelu,
    "pow": lambda x, exponent: x**exponent,
    "add": binary(lambda x, y, alpha: x + alpha * y),
    "sub": binary(lambda x, y, alpha: x - alpha * y),
    "mul": binary(lambda x, y, alpha: x * y),
    "div": binary(lambda x, y, alpha: x / y),
    "sum": reduction(lambda x, along, keepdim, count: x.sum(along, keepdim=keepdim)),
    "mean": reduction(lambda x, along, keepdim, count: x.sum(along, keepdim=keepdim) / count),
    "amax": reduction(lambda x, along, keepdim, count: x.amax(along, keepdim=keepdim)),
    "linear": lambda x, w, *b: x @ w.mT + b[0] if b else x @ w.mT,
    "matmul": torch.matmul,
    "view": lambda x, size: x.reshape(size),
    "transpose": lambda x, dim0, dim1: x.transpose(dim0, dim1),
    "softmax": softmax,
    "log_softmax": log_softmax,
    "logsumexp": logsumexp,
    "apply_rotary_emb": rotary,
    "layernorm": layernorm,
    "gate": gate,
    "moe_gmm": moe_gmm,
    "dropout": dropout,
    "keyed_dropout": keyed_dropout,
    "self_attention": self_attention,
    "feedforward": feedforward,
    "cross_entropy": cross_entropy,
    "clamp": lambda x, min=None, max=None: torch.clamp(x, min, max),
    "maximum": torch.maximum,
    "minimum": torch.minimum,
    "concatenate": lambda *tensors, dim: torch.cat(tensors, dim),
    "split": lambda x, dim, sizes: torch.split(x, sizes, dim),
    "narrow": lambda x, dim, start, length: x.narrow(dim, start, length),
    "pad": pad,
    "select_blocks": select_blocks,
    "sgd": sgd,
    "adam": adam(False),
    "adamw": adam(True),
}


def constant(shape, values):
    whole = all(isinstance(value, int) for value in values)
    return torch.tensor(values, dtype=torch.int64 if whole else torch.float64).reshape(shape)


def aten(name, tensors, attrs):
    """An operator of torch.ops: tensors in the order of the schema, other arguments by name."""
    _, packet, *overload = name.split(".")
    func = getattr(getattr(torch.ops.aten, packet), overload[0] if overload else "default")
    left, absent, args, kwargs = list(tensors), set(attrs.get("absent", ())), [], {}
    for argument in func._schema.arguments:
        key = argument.name
        if f"{key}_count" in attrs:
            value = [None if f"{key}.{k}" in absent or not left else left.pop(0) for k in range(attrs[f"{key}_count"])]
        elif key in attrs:
            value = _argument(key, attrs[key])
        elif "Tensor" in str(argument.type) and key not in absent and left:
            value = left.pop(0)
        elif argument.has_default_value():
            value = argument.default_value
        else:
            value = None
        if argument.kwarg_only:
            kwargs[key] = value
        else:
            args.append(value)
    found = func(*args, **kwargs)
    return tuple(found) if isinstance(found, tuple | list) else (found,)


def guard(name, tensors, attrs):
    """torch does not check these indices."""
    if name == "aten.embedding_dense_backward":
        ids, size, beside = tensors[1], attrs["num_weights"], None
    elif name == "aten.nll_loss_backward":
        ids, size, beside = tensors[2], tensors[1].shape[min(tensors[1].ndim - 1, 1)], attrs.get("ignore_index", -100)
    else:
        return
    if any(not 0 <= number < size and number != beside for number in ids.flatten().tolist()):
        raise IndexError(f"an index is not below {size}")


def _argument(name, value):
    if name in ("dtype", "input_dtype") and value is not None:
        found = getattr(torch, value)
        return torch.float64 if found.is_floating_point else found
    return list(value) if isinstance(value, tuple) else value


def forward(op, tensors, attrs):
    """The outputs of an operator."""
    if op == "constant":
        return (constant(**attrs),)
    if op.startswith("aten."):
        if op in ("aten.mean", "aten.mean.dim") and "count" in attrs:
            x, along = tensors[0], attrs.get("dim", tuple(range(tensors[0].ndim)))
            return (x.sum(along, keepdim=attrs.get("keepdim", False)) / attrs["count"],)
        if op == "aten.view":
            return (tensors[0].reshape(attrs["size"]),)
        guard(op, tensors, attrs)
        return tuple(y.double() if y.is_floating_point() else y for y in aten(op, tensors, attrs))
    found = OPERATORS[op](*tensors, **attrs)
    return tuple(found) if isinstance(found, tuple | list) else (found,)


def like(grad, y):
    if grad.shape != y.shape and {tuple(grad.shape), tuple(y.shape)} != {(), (1,)}:
        raise ValueError(f"a gradient of shape {list(grad.shape)} for an output of shape {list(y.shape)}")
    return grad.reshape(y.shape)


def gradient(op, inputs, grads, attrs):
    """For each input the gradient of sum(output * grad); None where nothing can be differentiated."""
    leaves = [x.detach().clone() for x in inputs]
    for leaf in leaves:
        leaf.requires_grad_(leaf.is_floating_point() or leaf.is_complex())
    with torch.enable_grad():
        outputs = forward(op, leaves, attrs)
        pairs = [(y, g) for y, g in zip(outputs, grads, strict=True) if g is not None and y.requires_grad]
        if not pairs:
            return [torch.zeros_like(leaf) if leaf.requires_grad else None for leaf in leaves]
        wanted = [leaf for leaf in leaves if leaf.requires_grad]
        found = torch.autograd.grad([y for y, _ in pairs], wanted, [like(g, y) for y, g in pairs], allow_unused=True)
    by_leaf = dict(zip(map(id, wanted), found, strict=True))
    return [
        None if not leaf.requires_grad else torch.zeros_like(leaf) if by_leaf[id(leaf)] is None else by_leaf[id(leaf)]
        for leaf in leaves
    ]
