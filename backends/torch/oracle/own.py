"""The plan format's own operators as torch functions: what docs/operators.md names as the source of each.

A function takes the tensors that the node reads and its attributes, and returns its outputs. Gradients are not
written here: `nodes.py` takes torch's own. A row of zeros stands for an id that a share of a table does not hold.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch.nn import functional

from verdict.backends.torch.oracle import blocks

Attrs = Mapping[str, Any]
Function = Callable[..., Any]
NO_ID = -(2**62)
"""An id that no data has: torch ignores -100 where nothing is said."""


def _local(ids: Any, rows: int, attrs: Attrs) -> tuple[Any, Any]:
    """The row of each id in a table that begins at `start`, and whether the table holds it."""
    start = attrs.get("start", 0)
    if start < 0 or attrs.get("stop", start + rows) - start != rows:
        raise ValueError(f"{rows} rows are not those from {start} to {attrs.get('stop')}")
    row = ids.long() - start
    inside = (row >= 0) & (row < rows)
    return torch.where(inside, row, 0), inside


def _embedding(ids: Any, weight: Any, attrs: Attrs) -> Any:
    row, inside = _local(ids, weight.shape[0], attrs)
    found = functional.embedding(row, weight, padding_idx=attrs.get("padding_idx"))
    return torch.where(inside[..., None], found, torch.zeros((), dtype=found.dtype))


def _one_hot(ids: Any, attrs: Attrs) -> Any:
    rows = attrs["stop"] - attrs.get("start", 0)
    row, inside = _local(ids, rows, attrs)
    return (functional.one_hot(row, rows) * inside[..., None]).double()


def _take_ids(x: Any, ids: Any, attrs: Attrs) -> Any:
    row, inside = _local(ids, x.shape[-1], attrs)
    found = torch.gather(x, -1, row[..., None])[..., 0]
    return torch.where(inside, found, torch.zeros((), dtype=found.dtype))


def _create_mask(tokens: Any, _: Any, attrs: Attrs) -> Any:
    size = tokens.shape[1]
    full = torch.full((size, size), float("-inf"), dtype=torch.float64)
    return torch.triu(full, diagonal=1 + attrs.get("start_pos", 0))[None, None]


def _operands(tensors: tuple[Any, ...], attrs: Attrs) -> tuple[Any, Any]:
    if len(tensors) == 2:
        if "other" in attrs or attrs.get("reflected", False):
            raise ValueError("there are two tensors and a number")
        return tensors[0], tensors[1]
    constant = torch.tensor(attrs["other"], dtype=torch.float64)
    return (constant, tensors[0]) if attrs.get("reflected", False) else (tensors[0], constant)


def _binary(function: Function, *names: str) -> Function:
    def run(*tensors: Any, attrs: Attrs) -> Any:
        one, other = _operands(tensors, attrs)
        return function(one, other, **{name: attrs[name] for name in names if name in attrs})

    return run


def _reduction(function: Function) -> Function:
    def run(x: Any, attrs: Attrs) -> Any:
        dim = attrs.get("dim")
        along = tuple(range(x.ndim)) if dim is None or dim == () else dim
        return function(x, along, keepdim=attrs.get("keepdim", False))

    return run


def _mean(x: Any, attrs: Attrs) -> Any:
    if attrs.get("count") is None:
        return _reduction(torch.mean)(x, attrs)
    return _reduction(torch.sum)(x, attrs) / attrs["count"]


def _layernorm(x: Any, weight: Any, bias: Any, attrs: Attrs) -> Any:
    shape, eps = attrs["normalized_shape"], attrs.get("eps", 1e-5)
    if tuple(x.shape[-len(shape) :]) != tuple(shape):
        raise ValueError(f"{list(x.shape)} does not end in {list(shape)}")
    if attrs.get("count") is None:
        return functional.layer_norm(x, shape, weight, bias, eps)
    along, count = tuple(range(-len(shape), 0)), attrs["count"]
    centred = x - x.sum(along, keepdim=True) / count
    return centred * ((centred * centred).sum(along, keepdim=True) / count + eps) ** -0.5 * weight + bias


def _cross_entropy(x: Any, targets: Any, attrs: Attrs) -> Any:
    """In torch the classes come second, and are counted by the shape: `classes` rescales what smoothing adds."""
    smoothing, classes = attrs.get("label_smoothing", 0.0), x.shape[-1]
    ignored = attrs.get("ignore_index")
    flat, ids = x.reshape(-1, classes), targets.reshape(-1).long()
    more: dict[str, Any] = {"ignore_index": NO_ID if ignored is None else ignored}
    if smoothing and attrs.get("classes", classes) != classes:
        losses = functional.cross_entropy(flat, ids, reduction="none", **more) * (1 - smoothing)
        counted = torch.ones_like(losses) if ignored is None else (ids != ignored).double()
        losses = losses + counted * smoothing * (torch.logsumexp(flat, -1) - flat.sum(-1) / attrs["classes"])
    else:
        losses = functional.cross_entropy(flat, ids, reduction="none", label_smoothing=smoothing, **more)
    match attrs.get("reduction", "mean"):
        case "none":
            return losses.reshape(targets.shape)
        case "sum":
            return losses.sum()
        case _:
            return losses.sum() / (ids.numel() if ignored is None else (ids != ignored).sum())


def _pad(x: Any, attrs: Attrs) -> Any:
    along = range(x.ndim)[attrs["dim"]]
    return functional.pad(x, (0, 0) * (x.ndim - 1 - along) + (attrs["before"], attrs["after"]))


def _select_blocks(x: Any, attrs: Attrs) -> Any:
    along = range(x.ndim)[attrs["dim"]]
    blocks_of = x.unflatten(along, (attrs["blocks"], x.shape[along] // attrs["blocks"]))
    return torch.index_select(blocks_of, along, torch.tensor(attrs["index"])).flatten(along, along + 1)


def _plain(function: Function, *names: str) -> Function:
    """A torch function that takes these attributes under their own names; others are for other houses."""

    def run(*tensors: Any, attrs: Attrs) -> Any:
        return function(*tensors, **{name: attrs[name] for name in names if name in attrs})

    return run


def _same(x: Any, attrs: Attrs) -> Any:
    return x.clone()


def _floating(function: Function) -> Function:
    """Of an operator that casts to floating-point types alone."""

    def run(x: Any, attrs: Attrs) -> Any:
        dtype = getattr(torch, attrs.get("dtype") or "float32", None)
        if not isinstance(dtype, torch.dtype) or not dtype.is_floating_point:
            raise ValueError(f"{attrs['dtype']} is no floating-point type")
        return function(x, attrs=attrs)

    return run


def _positional(function: Function) -> Function:
    return lambda *tensors, attrs: function(*tensors, attrs)


OWN: Mapping[str, Function] = {
    "embedding": _positional(_embedding),
    "one_hot": _positional(_one_hot),
    "take_ids": _positional(_take_ids),
    "create_mask": _positional(_create_mask),
    "apply_mask": _plain(torch.add),
    **{name: _floating(_positional(_same)) for name in ("float", "to", "identity", "contiguous")},
    "multiref": lambda x, attrs: tuple(x.clone() for _ in range(attrs["times"])),
    "accumulate": lambda *tensors, attrs: torch.stack(tensors).sum(0),
    **{name: _plain(getattr(torch, name)) for name in ("neg", "exp", "log", "abs", "sqrt", "rsqrt")},
    **{name: _plain(getattr(torch, name)) for name in ("sigmoid", "tanh", "relu", "maximum", "minimum")},
    "silu": _plain(functional.silu),
    "gelu": _plain(functional.gelu, "approximate"),
    "pow": _plain(torch.pow, "exponent"),
    "add": _binary(torch.add, "alpha"),
    "sub": _binary(torch.sub, "alpha"),
    "mul": _binary(torch.mul),
    "div": _binary(torch.div, "rounding_mode"),
    "sum": _positional(_reduction(torch.sum)),
    "mean": _positional(_mean),
    "amax": _positional(_reduction(torch.amax)),
    "logsumexp": _plain(torch.logsumexp, "dim", "keepdim"),
    "clamp": _plain(torch.clamp, "min", "max"),
    "linear": _plain(functional.linear),
    "matmul": _plain(torch.matmul),
    "view": lambda x, attrs: x.reshape(attrs["size"]),
    "transpose": _plain(torch.transpose, "dim0", "dim1"),
    "softmax": _floating(lambda x, attrs: torch.softmax(x, attrs["dim"])),
    "log_softmax": _floating(lambda x, attrs: torch.log_softmax(x, attrs["dim"])),
    "layernorm": _positional(_layernorm),
    "cross_entropy": _positional(_cross_entropy),
    "concatenate": lambda *tensors, attrs: torch.cat(tensors, attrs["dim"]),
    "split": lambda x, attrs: torch.split(x, attrs["sizes"], attrs["dim"]),
    "narrow": lambda x, attrs: torch.narrow(x, attrs["dim"], attrs["start"], attrs["length"]),
    "pad": _positional(_pad),
    "select_blocks": _positional(_select_blocks),
    **blocks.BLOCKS,
}
"""Every own operator but `constant`, which nodes.py makes."""

_SPAN, _ADAM = "start stop", "lr beta1 beta2 eps weight_decay step"
NAMES: Mapping[str, frozenset[str]] = {
    op: frozenset(names.split())
    for op, names in {
        "embedding": f"{_SPAN} padding_idx",
        "one_hot": _SPAN,
        "take_ids": _SPAN,
        "create_mask": "start_pos",
        "float": "dtype",
        "to": "dtype",
        "multiref": "times",
        "gelu": "approximate",
        "pow": "exponent",
        "add": "other reflected alpha",
        "sub": "other reflected alpha",
        "mul": "other reflected",
        "div": "other reflected rounding_mode",
        "sum": "dim keepdim",
        "mean": "dim keepdim count",
        "amax": "dim keepdim",
        "logsumexp": "dim keepdim",
        "clamp": "min max",
        "view": "size",
        "transpose": "dim0 dim1",
        "softmax": "dim dtype",
        "log_softmax": "dim dtype",
        "layernorm": "normalized_shape eps count",
        "concatenate": "dim",
        "split": "dim sizes",
        "cross_entropy": "ignore_index label_smoothing reduction classes",
        "narrow": "dim start length",
        "pad": "dim before after",
        "select_blocks": "dim blocks index",
        "dropout": "p training",
        "gate": "score_func n_groups topk_groups topk route_scale slots",
        "moe_gmm": "n_routed_experts local_expert_start local_expert_end",
        "keyed_dropout": "p key offset training",
        "self_attention": "h scale dropout_p mask",
        "feedforward": "dropout is_training",
        "sgd": "lr momentum dampening weight_decay nesterov",
        "adam": _ADAM,
        "adamw": _ADAM,
    }.items()
}
"""The attributes that an operator may have; any other is refused."""
REDUCTIONS = frozenset({"sum", "mean", "amax", "logsumexp", "cross_entropy"})
"""Of these, what is reduced over everything is one element of shape [1]."""


def own(op: str, tensors: Sequence[Any], attrs: Attrs) -> Any:
    """What an own operator makes. Raises a KeyError where there is none, a ValueError where it does not fit."""
    unknown = set(attrs) - NAMES.get(op, frozenset())
    if unknown:
        raise ValueError(f"{op} has no attribute {min(unknown)}")
    made = OWN[op](*tensors, attrs=attrs)
    return made.reshape(1) if op in REDUCTIONS and not made.ndim and tensors[0].ndim else made
