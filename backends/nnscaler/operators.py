"""From nnScaler's operator signatures to the vocabulary: a table, one line an operator.

What the table does not know in full (a signature, a keyword, a tensor where a constant is expected) becomes
the operator "unknown:<signature>", whose meaning nobody claims; nothing is dropped but what `ignored` names.
"""

from collections.abc import Hashable, Mapping, Sequence
from typing import Any, NamedTuple

from verdict.backends.nnscaler.records import IRSubTensor
from verdict.graph import Attrs

Value = Hashable


class Form(NamedTuple):
    """How one signature is written.

    parameters: the positional parameters, "x" for a tensor, "name=" for a constant that becomes an attribute,
        "x|name=" for either; those after the last given argument are absent.
    keywords: keyword -> attribute name.
    ignored: keyword -> the values for which it has no meaning; any other value makes the operator unknown.
    always: attributes that the signature implies.
    """

    op: str
    parameters: tuple[str, ...] = ("x",)
    keywords: Mapping[str, str] = {}
    ignored: Mapping[str, tuple[Value, ...]] = {}
    always: Attrs = ()


_DIMS = {"dim": "dim", "keepdim": "keepdim"}
_BINARY = ("x|reflected=", "y|other=")
_SAME = {"inplace": (False,)}
_IN_TRAINING = "self.training"
"""The text of a flag of the generated module, which is True in a training step."""
_GATE = ("score_func", "n_groups", "topk_groups", "topk", "route_scale")
_EXPERTS = ("n_routed_experts", "local_expert_start", "local_expert_end")

_FUNCTIONS: dict[str, Form] = {
    "nnscaler.runtime.function.embedding": Form(
        "embedding",
        ("ids", "weight"),
        {"start": "start", "stop": "stop", "padding_idx": "padding_idx"},
    ),
    "nnscaler.runtime.function.multiref": Form("multiref", ("x",), {"times": "times"}),
    "nnscaler.runtime.function.identity": Form("identity"),
    "nnscaler.runtime.function.to": Form("to", ("x",), {"dtype_or_device": "dtype"}),
    "nnscaler.runtime.function.layer_norm": Form(
        "layernorm", ("x", "weight", "bias"), {"normalized_shape": "normalized_shape", "eps": "eps"}
    ),
    "torch.Tensor.float": Form("float", always=(("dtype", "float32"),)),
    "torch.Tensor.contiguous": Form("contiguous"),
    "torch.Tensor.view": Form("view", ("x",), {"size": "size"}),
    "torch.transpose": Form("transpose", ("x",), {"dim0": "dim0", "dim1": "dim1"}),
    "torch.add": Form("add", _BINARY, {"alpha": "alpha"}),
    "torch.sub": Form("sub", _BINARY, {"alpha": "alpha"}),
    "torch.mul": Form("mul", _BINARY),
    "torch.div": Form("div", _BINARY, {"rounding_mode": "rounding_mode"}),
    "torch.pow": Form("pow", ("x", "exponent=")),
    "torch.mean": Form("mean", ("x",), _DIMS, always=(("dim", None), ("keepdim", False))),
    "torch.sum": Form("sum", ("x",), _DIMS, always=(("dim", None), ("keepdim", False))),
    "torch.matmul": Form("matmul", ("x", "y")),
    "torch.nn.functional.linear": Form("linear", ("x", "weight", "bias"), ignored={"bias": (None,)}),
    "torch.nn.functional.softmax": Form("softmax", ("x",), {"dim": "dim", "dtype": "dtype"}, {"_stacklevel": (3,)}),
    "torch.nn.functional.silu": Form("silu", ignored=_SAME),
    "torch.nn.functional.relu": Form("relu", ignored=_SAME),
    "torch.nn.functional.dropout": Form("dropout", ("x",), {"p": "p", "training": "training"}, _SAME),
    "torch.nn.functional.gelu": Form("gelu", ignored={"approximate": ("none",)}),
    "torch.sigmoid": Form("sigmoid"),
    "torch.tanh": Form("tanh"),
    "torch.exp": Form("exp"),
    "torch.neg": Form("neg"),
    "torch.sqrt": Form("sqrt"),
    "torch.rsqrt": Form("rsqrt"),
    "examples.nlp.blocks.attention.self_attention": Form(
        "self_attention", ("x", "w", "b", "out"), {name: name for name in ("h", "scale", "dropout_p", "mask")}
    ),
    "examples.nlp.blocks.mlp.feedforward": Form(
        "feedforward", ("x", "w1", "b1", "w2"), {name: name for name in ("dropout", "is_training")}
    ),
}

_MODEL_FUNCTIONS: dict[str, Form] = {
    "create_mask": Form("create_mask", ("tokens", "h", "start_pos="), {"start_pos": "start_pos"}),
    "apply_mask": Form("apply_mask", ("scores", "mask")),
    "apply_rotary_emb": Form("apply_rotary_emb", ("q", "k", "freqs")),
    "gate_fw": Form("gate", ("x", "weight"), {name: name for name in _GATE}, {"bias": (None,)}),
    "nnscaler_moe_gmm": Form(
        "moe_gmm", ("x", "indices", "weights", "w1", "w3", "w2"), {name: name for name in _EXPERTS}
    ),
}

_MODELS = (
    *(f"genmodel.model.{name}.model" for name in ("llama3", "llama3_adpt", "llama3_moe")),
    *(f"Verdict.gen_model.model.{name}.model" for name in ("llama3", "moe", "deepseek_v3")),
    *(f"model.{name}.model" for name in ("llama3", "moe", "deepseek_v3")),
)
"""The modules whose functions of these names are known: the models of the published plans."""

FORMS: dict[str, Form] = {
    **_FUNCTIONS,
    **{f"{model}.{name}": form for model in _MODELS for name, form in _MODEL_FUNCTIONS.items()},
}


def meaning(signature: str, arguments: Sequence[Any], keywords: Mapping[str, Any]) -> tuple[str, Attrs]:
    """The operator and attributes of a call. `arguments` are tensor records and constants in positional order."""
    form = FORMS.get(signature)
    known = None if form is None else _attributes(form, arguments, keywords)
    if form is not None and known is not None:
        return form.op, tuple(sorted(known.items()))
    rest: dict[str, Value] = {name: plain(value) for name, value in keywords.items()}
    for position, argument in enumerate(arguments):
        if type(argument) is not IRSubTensor:
            rest[f"argument{position}"] = plain(argument)
    return f"unknown:{signature}", tuple(sorted(rest.items()))


def plain(value: object) -> Value:
    """A value of the file as an attribute value; what is not plain data becomes a text that says so."""
    if value is None or type(value) in {bool, int, float, str}:
        return value
    if type(value) in {list, tuple}:
        return tuple(plain(element) for element in value)  # type: ignore[attr-defined]
    return f"<{type(value).__name__}>"


def _attributes(form: Form, arguments: Sequence[Any], keywords: Mapping[str, Any]) -> dict[str, Value] | None:
    """The attributes of a call, or None where the call is not of this form."""
    positional, named = _positional(form, arguments), _named(form, keywords)
    if positional is None or named is None:
        return None
    attributes = dict(form.always) | positional | named
    if form.keywords is _DIMS and type(attributes["dim"]) is int:
        attributes["dim"] = (attributes["dim"],)
    return attributes


def _positional(form: Form, arguments: Sequence[Any]) -> dict[str, Value] | None:
    if len(arguments) > len(form.parameters):
        return None
    attributes: dict[str, Value] = {}
    for parameter, argument in zip(form.parameters, arguments, strict=False):
        tensor, _, constant = parameter.rpartition("|")
        if type(argument) is IRSubTensor:
            if not tensor and constant.endswith("="):
                return None
        elif not constant.endswith("=") or not _is_number(argument) or constant[:-1] in attributes:
            return None
        elif constant == "reflected=":
            attributes |= {"reflected": True, "other": argument}
        else:
            attributes[constant[:-1]] = argument
    return attributes


def _named(form: Form, keywords: Mapping[str, Any]) -> dict[str, Value] | None:
    attributes: dict[str, Value] = {}
    for keyword, value in keywords.items():
        if keyword in form.keywords and _is_plain(value):
            attributes[form.keywords[keyword]] = True if value == _IN_TRAINING else plain(value)
        elif not any(value is known or value == known for known in form.ignored.get(keyword, ())):
            return None
    return attributes


def _is_plain(value: object) -> bool:
    if type(value) in {list, tuple}:
        return all(map(_is_plain, value))  # type: ignore[call-overload]
    return value is None or type(value) in {bool, int, float, str}


def _is_number(value: object) -> bool:
    return type(value) in {int, float}
