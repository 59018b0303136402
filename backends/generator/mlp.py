"""A multi-layer perceptron: linears with relu between them, wide after every even one; the loss is the sum.

Tensor parallel as Megatron's: even linears are split by rows, odd ones by columns. A pipeline stage that ends after
an even linear hands on what it has, divided as it is.
"""

from verdict.backends.generator.crossings import enter
from verdict.backends.generator.layers import column_split_linear, elementwise, row_split_linear, sum_loss
from verdict.backends.generator.sizes import Sizes
from verdict.backends.generator.tape import Tape
from verdict.backends.generator.value import Value

INPUT = "x"


def check(model: str, sizes: Sizes) -> None:
    """Every size that fits its parallelization fits this model."""


def boundary(tape: Tape, sizes: Sizes, layer: int) -> tuple[Value, ...]:
    """What a stage that begins after `layer` receives: the output of `layer`."""
    even = layer % 2 == 0
    shape = (tape.batch, sizes.ffn if even else sizes.hidden)
    return (tape.boundary(f"layers.{layer}.out", shape, 1 if even else None),)


def record(tape: Tape, sizes: Sizes, layers: range, before: tuple[Value, ...]) -> tuple[Value, ...]:
    """Record `layers` after `before`, which the first stage lacks: what the next stage receives, or the loss."""
    x = before[0] if before else tape.load(INPUT, (tape.batch, sizes.hidden), "float32")
    for layer in layers:
        name = f"layers.{layer}"
        if layer % 2 == 0:
            x = row_split_linear(tape, enter(tape, x), sizes.ffn, name)
        else:
            x = column_split_linear(tape, x, sizes.hidden, name)
        x = elementwise(tape, "relu", x, f"{name}.out")
    return (x if layers.stop < sizes.layers else sum_loss(tape, x),)
