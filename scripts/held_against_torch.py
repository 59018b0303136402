"""Hold what operators mean to us against PyTorch's own database of operators with sample arguments (OpInfo).

    python scripts/held_against_torch.py [--only TEXT] [--types fib] [--samples 4] [--reference] [--in-place]

Each operator is called with samples that PyTorch's tests call it with. A program that makes the call, and asks for the
gradients of a weighted sum of what comes out, is recorded; its plan is run by our interpreter on the same numbers. What
comes out, and every gradient, must be what PyTorch computes. Nothing of the samples or of the truth is ours.

The table says how many samples are equal, and of which there is nothing to compare: operators without a rule, what is
refused, complex and sparse tensors. The exit status is 1 where a number differs that none of ALLOWED explains.
"""

import json
import os
import signal
import sys
import traceback
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import click
import numpy as np
import torch
from torch.testing._internal.common_methods_invocations import op_db
from torch.utils import _pytree as pytree

from verdict.backends.torch.assemble import plan_of
from verdict.backends.torch.program import Program
from verdict.backends.torch.record import record
from verdict.comparison import Faulty
from verdict.concrete.execute import execute
from verdict.errors import NoRuleError, ShapeError, VerdictError
from verdict.graph import Plan
from verdict.semantics import full, itself

TYPES = {
    "f": torch.float64, "g": torch.float32, "i": torch.int64, "s": torch.int32, "u": torch.uint8, "b": torch.bool
}  # fmt: skip
CLOSE = {torch.float64: 1e-6, torch.float32: 1e-4}
"""What rounding may come to, relative to values greater than one."""
MOST_ELEMENTS, SECONDS = 3_000, 60
"""Greater samples are left out: our interpreter takes its time. And what one operator may take."""
ALLOWED = {
    **dict.fromkeys(("bfloat16", "half", "cat"), "casts between floats change no value"),
    **dict.fromkeys(("kthvalue", "topk", "median", "mode"), "which of equal elements it is"),
    **dict.fromkeys(("copysign", "signbit"), "nothing has no sign"),
    **dict.fromkeys(("div", "floor_divide", "remainder", "__rmod__"), "rounding next to a whole number"),
    **dict.fromkeys(("byte", "char", "short", "int", "long"), "floats beyond the integers of a type"),
    **dict.fromkeys(("rsqrt", "digamma", "masked"), "at a pole"),
    **dict.fromkeys(("linalg.eigh", "linalg.svd", "svd"), "which of two signs vectors have"),
    "__rpow__": "a negative power of nothing is no number",
}
"""Differences that no proof rests on, or that reports name as assumptions: of which operators, and what they are."""


@dataclass(frozen=True)
class Row:
    """What came of one sample. outcome: equal, differs, or why nothing was compared."""

    operator: str
    kind: str
    sample: str
    outcome: str
    why: str = ""


@dataclass(frozen=True)
class Sample:
    """A call. leaves: all its arguments, in the order of `spec`; tensors: the places of those that are tensors."""

    info: Any
    kind: str
    leaves: list[Any]
    spec: Any
    in_place: bool

    @property
    def tensors(self) -> dict[int, torch.Tensor]:
        """The arguments that are tensors, by their places."""
        return {k: x for k, x in enumerate(self.leaves) if isinstance(x, torch.Tensor)}

    def fresh(self) -> dict[int, torch.Tensor]:
        """Copies of the tensors; floats are weights."""
        made = {k: x.detach().clone() for k, x in self.tensors.items()}
        for x in made.values():
            x.requires_grad_(self.info.supports_autograd and x.is_floating_point())
        return made

    def call(self, tensors: dict[int, torch.Tensor]) -> list[torch.Tensor]:
        """What the operator makes of such tensors."""
        leaves = [tensors.get(k, x) for k, x in enumerate(self.leaves)]
        args, kwargs = pytree.tree_unflatten(leaves, self.spec)
        if self.in_place:
            args = (args[0].clone(), *args[1:])
        made = (self.info.inplace_variant if self.in_place else self.info.op)(*args, **kwargs)
        return [x for x in pytree.tree_leaves(made) if isinstance(x, torch.Tensor)]

    @property
    def words(self) -> str:
        """The shapes and numbers of the call."""
        told = [tuple(x.shape) if isinstance(x, torch.Tensor) else x for x in self.leaves]
        return str(told)[:160]


def samples(info: Any, kind: str, count: int, reference: bool, in_place: bool) -> Iterator[Sample]:
    """The first samples of an operator, the same ones each time."""
    make = info.reference_inputs if reference else info.sample_inputs
    torch.manual_seed(0)
    np.random.seed(0)
    for number, sample in enumerate(make("cpu", TYPES[kind], requires_grad=False)):
        if number == count:
            return
        given = (sample.input, *sample.args), dict(sample.kwargs)
        yield Sample(info, kind, *pytree.tree_flatten(given), in_place)


def weighed(outputs: Sequence[torch.Tensor]) -> torch.Tensor | None:
    """A sum of all that gradients go through, each element with a weight of its own; None where there is nothing."""
    through = [x for x in outputs if x.is_floating_point() and x.requires_grad]
    if not through:
        return None
    weights = [torch.cos(torch.arange(x.numel(), dtype=torch.float64)).reshape(x.shape).to(x.dtype) for x in through]
    return sum(((x * w).sum() for x, w in zip(through, weights, strict=True)), torch.zeros((), dtype=torch.float64))


def truth(sample: Sample) -> dict[str, np.ndarray]:
    """What PyTorch computes: outputs and gradients by name."""
    tensors = sample.fresh()
    outputs = sample.call(tensors)
    found = {f"output{k}": x.detach().clone() for k, x in enumerate(outputs)}
    loss = weighed(outputs)
    if loss is not None:
        loss.backward()
    found |= {f"gradient of x{k}": x.grad for k, x in tensors.items() if x.grad is not None}
    return {name: x.numpy() for name, x in found.items()}


def program(sample: Sample) -> Program:
    """The call as one training step."""
    tensors, box = sample.fresh(), dict[str, torch.Tensor]()
    one = torch.ones(1, dtype=torch.float64, requires_grad=True)
    named = {f"x{k}": x for k, x in tensors.items()}

    def step() -> torch.Tensor:
        outputs = sample.call(tensors)
        box.update({f"output{k}": x.detach() for k, x in enumerate(outputs)})
        found = weighed(outputs)
        loss = one.sum() if found is None else found + one.sum()
        loss.backward()
        return loss

    weights = {name: x for name, x in named.items() if x.requires_grad}
    inputs = {name: x for name, x in named.items() if not x.requires_grad}
    return Program(inputs, {**weights, "one": one}, step, outputs=lambda: box)


def ours(plan: Plan, sample: Sample) -> dict[str, np.ndarray]:
    """What our interpreter computes of the same numbers."""
    places = {logical.name: k for k, logical in enumerate(plan.logicals)}
    numbers = {f"x{k}": x.detach().numpy() for k, x in sample.tensors.items()} | {"one": np.ones(1)}
    given = {
        places[name]: x.astype(np.float64 if x.dtype.kind == "f" else np.int64)
        for name, x in numbers.items()
        if name in places
    }
    run = execute(plan, full(plan), itself(plan), given)
    names = [plan.logicals[tensor.logical].name for tensor in plan.tensors]
    found = {names[tensor]: array for (_, _, tensor), array in run.outputs.items()}
    weights = {held.tensor: plan.logicals[held.weight].name for held in plan.gradients}
    return found | {f"gradient of {weights[tensor]}": array for (_, tensor), array in run.gradients.items()}


def difference(found: np.ndarray | None, due: np.ndarray, close: float) -> str:
    """How numbers differ; empty where they do not. What is no number at one of the two only is a difference."""
    if found is None:
        return "it is not there"
    found, due = (np.asarray(x, dtype=np.float64) for x in (found, due))
    if found.shape != due.shape:
        return f"its shape is {found.shape}, {due.shape} is due"
    both = np.isfinite(found) & np.isfinite(due)
    apart = np.abs(found[both] - due[both]) > close * (1 + np.abs(due[both]))
    if apart.any():
        return f"it is {found[both][apart][:3]}, {due[both][apart][:3]} is due"
    return "" if np.array_equal(found[~both], due[~both], equal_nan=True) else "it is no number where there is one"


def asked(sample: Sample) -> Row:
    """What comes of one sample."""

    def row(outcome: str, why: object = "") -> Row:
        return Row(name_of(sample.info), sample.kind, sample.words, outcome, str(why)[:300])

    tensors = sample.tensors.values()
    if any(x.is_complex() or x.layout != torch.strided for x in tensors):
        return row("complex or sparse")
    if any(x.numel() > MOST_ELEMENTS for x in tensors):
        return row("too large")
    if not all(x.isfinite().all() for x in tensors):
        return row("given no number")
    try:
        due = truth(sample)
    except (AssertionError, RuntimeError, TypeError, ValueError, IndexError) as error:
        return row("not computed by torch", error)
    if sample.in_place and due["output0"].shape != sample.tensors[0].shape:
        return row("not computed by torch", "what is written has another shape")
    if any(x.dtype.kind == "c" for x in due.values()):
        return row("complex or sparse")
    try:
        plan = plan_of([record(lambda: lambda _: program(sample), 0, 1, "real")], name_of(sample.info))
        with np.errstate(all="ignore"):
            found = ours(plan, sample)
    except (Faulty, VerdictError, NoRuleError, ShapeError) as error:
        return row("no rule, or refused", error)
    close = CLOSE.get(TYPES[sample.kind], CLOSE[torch.float64])
    wrong = {name: difference(found.get(name), x, close) for name, x in due.items()}
    told = "; ".join(f"{name}: {problem}" for name, problem in wrong.items() if problem)
    return row("differs" if told else "equal", told)


def allowed(row: Row) -> str:
    """Why a sample may differ; empty where it may not."""
    names = (row.operator, row.operator.partition(".")[0]) if row.outcome == "differs" else ()
    return next((ALLOWED[name] for name in names if name in ALLOWED), "")


def name_of(info: Any) -> str:
    """The name of an operator and of its variant."""
    return f"{info.name}.{info.variant_test_name}" if info.variant_test_name else str(info.name)


def apart(info: Any, kind: str, count: int, reference: bool, in_place: bool) -> list[Row]:
    """The rows of one operator, from a copy of this process, which may end early."""
    reading, writing = os.pipe()
    copy = os.fork()
    if not copy:
        os.close(reading)
        signal.alarm(SECONDS)
        with os.fdopen(writing, "w") as told:
            for sample in samples(info, kind, count, reference, in_place):
                try:
                    found = asked(sample)
                except Exception:
                    why = traceback.format_exc()[-300:]
                    found = Row(name_of(info), kind, sample.words, "an error of ours", why)
                told.write(json.dumps(asdict(found)) + "\n")
                told.flush()
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as lines:
        rows = [Row(**json.loads(line)) for line in lines]
    os.waitpid(copy, 0)
    return rows


@click.command()
@click.option("--only", multiple=True, help="Operators whose names contain this.")
@click.option("--types", default="fiub", show_default=True, help=f"Of which types: {', '.join(TYPES)}.")
@click.option("--samples", "count", default=4, show_default=True, help="Of each operator and type.")
@click.option("--reference", is_flag=True, help="The many samples with which torch holds operators against numpy's.")
@click.option("--in-place", is_flag=True, help="The operators that write to their first argument.")
@click.option("--out", type=click.Path(path_type=Path), help="All rows, a line of JSON each.")
def main(only: Sequence[str], types: str, count: int, reference: bool, in_place: bool, out: Path | None) -> None:
    """Hold operators against torch."""
    warnings.filterwarnings("ignore")
    torch.set_num_threads(1)
    os.environ.update(RANK="0", WORLD_SIZE="1", LOCAL_RANK="0")
    chosen = [
        (info, kind)
        for info in op_db
        if (not only or any(word in name_of(info) for word in only)) and (info.inplace_variant or not in_place)
        for kind in types
        if TYPES[kind] in info.dtypes
    ]
    rows: list[Row] = []
    with click.progressbar(chosen, label="operators", file=sys.stderr) as every:
        for info, kind in every:
            rows += apart(info, kind, count, reference, in_place)
    if out:
        out.write_text("".join(json.dumps(asdict(row)) + "\n" for row in rows))
    table = Counter(row.outcome for row in rows)
    equal = {row.operator for row in rows if row.outcome == "equal"}
    print(f"{len(rows):,} samples of {len({row.operator for row in rows})} operators, torch {torch.__version__}")
    print("".join(f"  {number:6,}  {outcome}\n" for outcome, number in table.most_common()), end="")
    print(f"  operators with equal samples: {len(equal)}")
    wrong = [row for row in rows if row.outcome in ("differs", "an error of ours")]
    for row in wrong:
        print(f"{row.operator} {TYPES[row.kind]} {row.sample}: {row.why}{f' ({allowed(row)})' if allowed(row) else ''}")
    sys.exit(not all(map(allowed, wrong)))


if __name__ == "__main__":
    main()
