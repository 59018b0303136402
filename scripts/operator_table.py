"""Write docs/operators.md from the rules themselves: python scripts/operator_table.py [--check].

The index axes of each operator are what its rule says of an example node; a rule without an example, or an
example without a rule, is an error. With --check nothing is written and the exit status tells whether the
file is up to date.
"""

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from scripts.page import write_or_check  # noqa: E402
from verdict.graph import Shape  # noqa: E402
from verdict.ops import RULES, Axes, Dim, Law, OpRule  # noqa: E402
from verdict.ops.aten.form import PLACEMENT  # noqa: E402

PAGE = ROOT / "docs" / "operators.md"


class Example(NamedTuple):
    """A node whose index axes are shown, and the names of its inputs."""

    names: tuple[str, ...]
    shapes: tuple[Shape, ...]
    attrs: Mapping[str, Any] = {}


_ONE = Example(("x",), ((2, 3),))
_TWO = Example(("x", "y"), ((2, 3), (3,)))
EXAMPLES: Mapping[str, Example] = {
    "embedding": Example(("ids", "weight"), ((2, 8), (16, 4))),
    "create_mask": Example(("tokens", "h"), ((2, 8), (2, 8, 4))),
    "apply_mask": Example(("scores", "mask"), ((2, 3, 8, 8), (1, 1, 8, 8))),
    "multiref": _ONE._replace(attrs={"times": 2}),
    "accumulate": Example(("x_1", "x_2"), ((2, 3), (2, 3))),
    "pow": _ONE._replace(attrs={"exponent": 2}),
    "sum": _ONE._replace(attrs={"dim": (1,)}),
    "mean": _ONE._replace(attrs={"dim": (1,)}),
    "linear": Example(("x", "w"), ((2, 8), (4, 8))),
    "matmul": Example(("a", "b"), ((2, 4, 8), (2, 8, 3))),
    "view": Example(("x",), ((2, 32),), {"size": (2, 4, 8)}),
    "transpose": Example(("x",), ((2, 3, 4),), {"dim0": 1, "dim1": 2}),
    "softmax": _ONE._replace(attrs={"dim": 1}),
    "apply_rotary_emb": Example(("q", "k", "freqs"), ((2, 8, 4, 6), (2, 8, 4, 6), (8, 3))),
    "layernorm": Example(("x", "weight", "bias"), ((2, 8), (8,), (8,)), {"normalized_shape": (8,)}),
    "gate": Example(("x", "w"), ((2, 8), (6, 8)), {"score_func": "sigmoid", "topk": 2}),
    "moe_gmm": Example(
        ("x", "indices", "weights", "w1", "w3", "w2"),
        ((2, 8), (2, 2), (2, 2), (6, 4, 8), (6, 4, 8), (6, 8, 4)),
        {"n_routed_experts": 6, "local_expert_start": 0, "local_expert_end": 6},
    ),
    "dropout": _ONE._replace(attrs={"p": 0.5}),
    "self_attention": Example(
        ("x", "w", "b", "out"),
        ((8, 2, 4), (24, 4), (24,), (4, 8)),
        {"h": 4, "scale": 0.5, "dropout_p": 0.2},
    ),
    "feedforward": Example(("x", "w1", "b1", "w2"), ((2, 4), (8, 4), (8,), (4, 8)), {"dropout": 0.2}),
    "log_softmax": _ONE._replace(attrs={"dim": 1}),
    "logsumexp": _ONE._replace(attrs={"dim": 1}),
    "one_hot": Example(("ids",), ((2, 3),), {"start": 8, "stop": 16}),
    "take_ids": Example(("x", "ids"), ((2, 3, 8), (2, 3)), {"start": 8, "stop": 16}),
    "cross_entropy": Example(("x", "targets"), ((6, 8), (6,)), {"reduction": "sum"}),
    "amax": _ONE._replace(attrs={"dim": 1}),
    "clamp": _ONE._replace(attrs={"max": 1}),
    "concatenate": Example(("x_1", "x_2"), ((2, 4), (2, 6)), {"dim": 1}),
    "split": Example(("x",), ((2, 6),), {"dim": 1, "sizes": (2, 4)}),
    "narrow": Example(("x",), ((2, 6),), {"dim": 1, "start": 2, "length": 2}),
    "pad": Example(("x",), ((2, 6),), {"dim": 1, "before": 0, "after": 2}),
    "select_blocks": Example(("x",), ((2, 8),), {"dim": 1, "blocks": 4, "index": (0, 3)}),
    "sgd": Example(("w", "g"), ((2, 3), (2, 3)), {"lr": 0.1}),
    **dict.fromkeys(("adamw", "adam"), Example(("w", "g", "m", "v"), ((2, 3),) * 4, {"lr": 0.1, "step": 1})),
    "keyed_dropout": _ONE._replace(attrs={"p": 0.5, "key": 1, "offset": (0, 3)}),
    **dict.fromkeys(("maximum", "minimum"), _TWO),
    **dict.fromkeys(("add", "sub", "mul", "div"), _TWO),
    **dict.fromkeys(("float", "to", "identity", "contiguous"), _ONE),
    **dict.fromkeys(("neg", "exp", "log", "abs", "sqrt", "rsqrt", "sigmoid", "tanh", "silu", "relu", "gelu"), _ONE),
}

HEAD = """# Operators

Generated from the rules by `python scripts/operator_table.py`; do not edit.

Each operator has one rule in `verdict/ops`: shape rule, forward, gradient, and the laws of its index axes
("atoms"). The same forward and gradient run on floats (held against torch and autograd), on exact rationals
and on solver terms. `op.grad` in a plan is the gradient of the rule `op`. Attributes that a rule does not
list are refused.

Index axes are shown for an example node. A dimension `(h, d)` is a product, slowest first; `1` is a dimension
of size one. Laws: axes without a mark are EACH (index by index), `k: sum` adds up over disjoint intervals,
`k: whole` is computed along and needs all of it, `k: unused` has no influence. `>= n` is the fewest elements
that a reduced shape keeps. The gradient of an input is summed over the axes that the input does not have.
"""

FOOT = """
## Notes

- Element types are known to `verdict/ops/numbers.py` alone. On rationals a result is exact where an exact one
  exists (0 under exp, erf and tanh, integer powers, rational roots), else the nearest float.
- `mean` and `layernorm` divide by the full number of elements also at reduced shapes (`count`); the law `sum`
  of a mean speaks of the divisor of the whole.
- `linear` with a bias: `k` is whole, because the bias would be added by every share.
- `view`: where the two shapes have no common factor, the dimensions are `whole` and are never reduced.
- `apply_rotary_emb`: the heads of q and k share the axis h, their greatest common divisor; with fewer heads
  in k, what is left of q's is `whole`.
- `embedding`: `start` and `stop` say which rows of the vocabulary the weight holds, other ids give zeros;
  `padding_idx` is a row of the given weight, and only the gradient of that row is affected, as in torch.
- `create_mask` with a `start_pos` keeps its full size.
- `gate`: on terms, whether slot k holds expert e is an unknown function of the token's scores, with the groups
  as arguments. Nothing else of the choice is used, so experts and slots are reduced; groups that cannot matter
  (all are kept, or without a bias at least as many as there are slots) count as none.
- `dropout`, and within `self_attention` and `feedforward`: on terms, the factor of an element is an unknown
  function of the element and p; elements of a stage are expressions of their own, so each has its own factor.
  Nodes that draw for the same input cannot be told apart and are never compared. The mask of `self_attention`
  is -10000, as its source has it, and not minus infinity.
- `random_draw` (of recorded programs) has no rule: before a proof every draw becomes an input, named by the state that
  it is drawn from, its kind and shape, or a region of one (docs/soundness.md, Random numbers of recorded programs).
- `moe_gmm`: the weights hold the experts from `local_expert_start` to `local_expert_end`; slots that name
  another expert add nothing. Experts, slots and hidden features are summed over, each can be cut.
- What is reduced over everything without `keepdim`, and the `sum` and `mean` of `cross_entropy`, is one element of
  shape [1]. An attribute that is absent has the value that it has in torch: `eps` is 1e-5 in `layernorm` and 1e-8 in
  `adam` and `adamw`, `beta1` 0.9, `beta2` 0.999, `p` 0.5, `reduction` "mean", what is added or decays 0.
- `cross_entropy` counts all targets where `ignore_index` is absent. A target that is counted is a class.
- `self_attention`: a row of w stands for a head, a feature and one of q, k, v, the last the fastest.
- Of what is not differentiable at a point, the gradient is torch's: relu's is 0 at 0, `amax` divides it among equals.
"""


RECORDED = ("aten.", "hlo.", "constant")
"""What the names of operators of recorded PyTorch programs begin with."""
ATEN = """
## ATen operators

Operators of XLA's modules are named `hlo.<opcode>`, with `_` for `-`; each is held against jax.

Operators of recorded PyTorch programs are named `aten.<name>`, or `aten.<name>.<overload>` where the overload is
not the default one. Each is held against `torch.ops` of the same name. Inputs are the tensor arguments in the order
of the schema, lists taken apart (`<argument>_count` is the length of one). The other arguments are attributes named
by the schema, left out where they have its default. `absent` names tensor arguments that are None; a number in the
place of a tensor is an attribute. `masks` names the places of truth values among the indices of `index_put`, and
`dtype` says of `add` and `bitwise_not` that they are of truth values, and `count` of a mean or a norm what sums are
divided by, where that is not the number of elements. Gradients are operators of their own. What moves elements only is
marked so. `constant` is a tensor that the recording holds.

| operator | meaning | moves | attributes |
|---|---|---|---|
"""


def page() -> str:
    """The text of docs/operators.md."""
    own = {name: rule for name, rule in RULES.items() if not name.startswith(RECORDED)}
    if set(EXAMPLES) != set(own):
        raise ValueError(f"examples and rules differ: {sorted(set(EXAMPLES) ^ set(own))}")
    rows = "\n".join(_row(rule, EXAMPLES[name]) for name, rule in own.items())
    recorded = "\n".join(_recorded_row(rule) for name, rule in RULES.items() if name not in own)
    trusted = sorted({assumption for rule in RULES.values() for assumption in rule.assumptions}, key=str)
    assumptions = "\n".join(f"- `{assumption.name}`: {assumption.text}." for assumption in trusted)
    sources = "\n".join(f"- `{name}`: {rule.source}" for name, rule in own.items())
    return (
        f"{HEAD}\n| operator | meaning | index axes | laws | attributes | linear in |\n"
        f"|---|---|---|---|---|---|\n{rows}\n\n## Assumptions\n\n{assumptions}\n{FOOT}\n"
        f"## Sources\n\n{sources}\n{ATEN}{recorded}\n"
    )


def _row(rule: OpRule, example: Example) -> str:
    axes = rule.axes(example.shapes, example.attrs)
    read = ", ".join(f"{name} {_dims(dims)}" for name, dims in zip(example.names, axes.inputs, strict=True))
    written = ", ".join(_dims(dims) for dims in axes.outputs)
    linear = sorted(rule.linear_in(len(example.shapes), example.attrs))
    cells = (
        f"`{rule.name}`",
        rule.formula,
        f"{read} -> {written}",
        _laws(axes),
        ", ".join(rule.attributes),
        ", ".join(example.names[position] for position in linear),
    )
    return "| " + " | ".join(cells) + " |"


def _recorded_row(rule: OpRule) -> str:
    shown = [name for name in rule.attributes if name not in PLACEMENT and name != "absent"]
    return f"| `{rule.name}` | {rule.formula} | {'yes' if rule.moves else ''} | {', '.join(shown)} |"


def _dims(dims: Sequence[Dim]) -> str:
    return "[" + ", ".join(_dim(dim) for dim in dims) + "]"


def _dim(dim: Dim) -> str:
    if len(dim) == 1:
        return dim[0]
    return f"({', '.join(dim)})" if dim else "1"


def _laws(axes: Axes) -> str:
    marks = []
    for atom in axes.atoms:
        law = "" if atom.law is Law.EACH else f": {atom.law.value}"
        least = f" >= {atom.least}" if atom.least > 1 else ""
        if law or least:
            marks.append(f"{atom.name}{law}{least}")
    return ", ".join(marks)


if __name__ == "__main__":
    sys.exit(write_or_check(PAGE, page(), sys.argv[1:]))
