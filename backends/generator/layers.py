"""Layers that models are made of, as operators and crossings on a tape.

With low-rank adapters every linear is y = W x + s B A x, of which A and B alone are trained (Hu et al., LoRA, ICLR
2022). Where the rows of W are split, those of B are, and each tp rank has an addend of the gradient of A; where the
columns are, those of A are, the outputs of B are addends as those of W, and so is the gradient of B.
"""

from collections.abc import Hashable
from zlib import crc32

from verdict.backends.generator.crossings import leave
from verdict.backends.generator.tape import EVERYWHERE, Tape
from verdict.backends.generator.value import Value

KEYS = 1 << 20
"""How many keys of random states there are in a step."""
LORA_SCALE = 2
"""What low-rank adapters' outputs are multiplied by: alpha over rank."""


def elementwise(tape: Tape, op: str, x: Value, name: str, **attrs: Hashable) -> Value:
    """An operator on every element of x."""
    (y,) = tape.op(op, (x,), name, x.shape, split=x.split, addend=x.addend, entered=x.entered, attrs=attrs)
    return y


def add(tape: Tape, x: Value, y: Value, name: str) -> Value:
    """x + y, where y broadcasts to the shape of x."""
    (z,) = tape.op("add", (x, y), name, x.shape, split=x.split, addend=x.addend, entered=x.entered, attrs={"alpha": 1})
    return z


def mul(tape: Tape, x: Value, y: Value, name: str) -> Value:
    """x * y, where y broadcasts to the shape of x."""
    (z,) = tape.op("mul", (x, y), name, x.shape, split=x.split)
    return z


def row_split_linear(
    tape: Tape, x: Value, width: int, name: str, weight: str = "", bias: bool = False, unit: int = 1
) -> Value:
    """x times a weight whose rows, the outputs, the tp ranks divide, plus a bias if there is one. x has entered.

    unit: rows that stay together.
    """
    parameters = [tape.weight(weight or f"{name}.weight", (width, x.shape[-1]), split=0, unit=unit)]
    if bias:
        parameters.append(tape.weight(f"{name}.bias", (width,), split=0, unit=unit))
    shape, where = (*x.shape[:-1], width), {"unit": unit}
    x, *adapted = tape.multiref(x, 2) if tape.sizes.lora else (x,)
    (y,) = tape.op("linear", (x, *parameters), name, shape, split=len(shape) - 1, where=where)
    for handle in adapted:
        down = tape.weight(f"{name}.lora_a", (tape.sizes.lora, x.shape[-1]), adapter=True)
        up = tape.weight(f"{name}.lora_b", (width, tape.sizes.lora), split=0, adapter=True, unit=unit)
        narrow = (*x.shape[:-1], tape.sizes.lora)
        (z,) = tape.op("linear", (handle, down), f"{name}.lora_a.out", narrow, entered=x.entered)
        (u,) = tape.op("linear", (z, up), f"{name}.lora_b.out", shape, split=len(shape) - 1, where=where)
        y = add(tape, y, elementwise(tape, "mul", u, f"{name}.lora", other=LORA_SCALE), f"{name}.adapted")
    return y


def column_split_linear(tape: Tape, x: Value, width: int, name: str, bias: bool = False) -> Value:
    """x, divided along its last axis, times a weight whose columns the tp ranks divide; the sum; then the bias."""
    weight = tape.weight(f"{name}.weight", (width, x.shape[-1]), split=1, unit=x.unit)
    shape, addend = (*x.shape[:-1], width), tape.tp > 1
    x, *adapted = tape.multiref(x, 2) if tape.sizes.lora else (x,)
    (y,) = tape.op("linear", (x, weight), name, shape, addend=addend)
    for handle in adapted:
        down = tape.weight(f"{name}.lora_a", (tape.sizes.lora, x.shape[-1]), split=1, adapter=True, unit=x.unit)
        up = tape.weight(f"{name}.lora_b", (width, tape.sizes.lora), adapter=True)
        narrow = (*x.shape[:-1], tape.sizes.lora)
        (z,) = tape.op("linear", (handle, down), f"{name}.lora_a.out", narrow, addend=addend)
        (u,) = tape.op("linear", (z, up), f"{name}.lora_b.out", shape, addend=addend)
        y = add(tape, y, elementwise(tape, "mul", u, f"{name}.lora", other=LORA_SCALE), f"{name}.adapted")
    y = leave(tape, y)
    return add(tape, y, tape.weight(f"{name}.bias", (width,)), f"{name}.biased") if bias else y


def embedding(tape: Tape, ids: Value, vocab: int, width: int, name: str) -> Value:
    """Rows of a weight whose rows the tp ranks divide: a rank gives zero for the ids that others hold; then the sum."""
    weight = tape.weight(f"{name}.weight", (vocab, width), split=0)
    start, stop = tape.piece(vocab, "tp")
    attrs: dict[str, Hashable] = {"start": start, "stop": stop, "padding_idx": None}
    (y,) = tape.op("embedding", (ids, weight), name, (*ids.shape, width), addend=tape.tp > 1, attrs=attrs)
    return leave(tape, y)


def rms_norm(tape: Tape, x: Value, name: str, eps: float = 1e-5) -> Value:
    """x / sqrt(mean(x^2) + eps) * weight, spelled out in the operators that it is traced to."""
    wide = elementwise(tape, "float", x, f"{name}.float")
    numerator, square = tape.multiref(wide, 2)
    square = elementwise(tape, "pow", square, f"{name}.pow", exponent=2)
    axis = len(x.shape) - 1
    (mean,) = tape.op("mean", (square,), f"{name}.mean", (*x.shape[:-1], 1), attrs={"dim": (axis,), "keepdim": True})
    shifted = elementwise(tape, "add", mean, f"{name}.eps", other=eps, alpha=1)
    scale = elementwise(tape, "rsqrt", shifted, f"{name}.rsqrt")
    normed = elementwise(tape, "to", mul(tape, numerator, scale, f"{name}.scaled"), f"{name}.to", dtype="float32")
    return mul(tape, normed, tape.weight(f"{name}.weight", (x.shape[-1],)), name)


def layer_norm(tape: Tape, x: Value, name: str, eps: float = 1e-5) -> Value:
    """(x - mean) / sqrt(variance + eps) * weight + bias over the last axis."""
    weight, bias = (tape.weight(f"{name}.{what}", x.shape[-1:]) for what in ("weight", "bias"))
    attrs: dict[str, Hashable] = {"normalized_shape": x.shape[-1:], "eps": eps}
    (y,) = tape.op("layernorm", (x, weight, bias), name, x.shape, attrs=attrs)
    return y


def dropout(tape: Tape, x: Value, p: float, name: str) -> Value:
    """x with each element dropped with probability p; x itself where p is 0.

    With a key, which is that of the name, an element is dropped by its place in the whole tensor, on whatever rank.
    """
    if not p:
        return x
    attrs: dict[str, Hashable] = {"p": p, "training": not tape.sizes.evaluate}
    if not tape.sizes.keyed:
        return elementwise(tape, "dropout", x, name, **attrs)
    offset = tuple(start for start, _ in tape.draft.region(x.shape, x.cuts(tape.mesh, tape.device)))
    return elementwise(tape, "keyed_dropout", x, name, key=crc32(name.encode()) % KEYS, offset=offset, **attrs)


def sum_loss(tape: Tape, x: Value, name: str = "loss") -> Value:
    """The sum of all elements, over the tp ranks too where they divide x."""
    attrs: dict[str, Hashable] = {"dim": None, "keepdim": False}
    (loss,) = tape.op(
        "sum", (x,), name, (1,), addend=x.split is not None, attrs=attrs, where={**EVERYWHERE, "partial": True}
    )
    return leave(tape, loss)
