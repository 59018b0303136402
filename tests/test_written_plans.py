"""Pairs written by hand. The truth is the interpreter's, which shares nothing with the proof; twins are proved."""

import pytest

from tests.builders import FAST
from tests.interpreter.compare import AGREE, compare
from verdict.backends.generator import Sizes, generate
from verdict.backends.text import admit, write
from verdict.errors import VerdictError
from verdict.options import Options
from verdict.pipeline import verify

SIZES = Sizes(layers=2, hidden=8, batch=8, dp=2, tp=2, pp=1, microbatches=2, ffn=16)
SINGLE, PARALLEL = map(write, generate("mlp", SIZES))
REDUCED = "(layers.1.weight.grad) ranks=(self,)"
SUM = "  loss = sum(layers.1.out) dim=None keepdim=False"
LOSS = "  loss activation float32 [1] origin name"
LOADED = "  x = dataloader()"


def with_second(text, first, second, last="loss.b"):
    """The text with losses `loss` and `loss.b`, of the output and of what is hidden, under these origins."""
    both = f'{LOSS.split(" origin", maxsplit=1)[0]} origin "{first}"\n  {last} activation float32 [1] origin "{second}"'
    hidden = f"{SUM}\n  {last} = sum(layers.0) dim=None keepdim=False"
    return text.replace(LOSS, both).replace(SUM, hidden).replace("loss loss\n", f"loss loss\nloss {last}\n")


def edited(text, *edits):
    for old, new in edits:
        assert old in text, old
        text = text.replace(old, new, 1)
    return text


HIDDEN = ("  loss.b = sum(layers.0) dim=None keepdim=False", "  loss.b{tp} = sum(layers.0) dim=None keepdim=False")
OTHERWISE = (
    tuple(word.replace("loss.b", "c") for word in HIDDEN),
    ("  loss activation", "  first activation"),
    ("  loss =", "  first ="),
    (": loss\n", ": first\n"),
    ("loss loss\n", "loss first\n"),
)
ROWS = """verdict-plan 1

tensors
  x input float32 [4, 3] origin name
  a activation float32 [2, 3]
  b activation float32 [2, 3]
  r activation float32 [2, 3] origin name

family 0
segment forward
  a = narrow(x) dim=0 start=0 length=2
  b = narrow(x) dim=0 start=2 length=2
  r = accumulate(a, b)
call forward once
output r

end
"""
OVER_REPLICAS = """verdict-plan 1

mesh dp=2
devices 1
replicas 2
batch x 0

tensors
  x input float32 [2, 3] origin name
  r activation float32 [2, 3] origin name

family 0
segment forward
  r = all_reduce(x) ranks=(self,) reduce="sum" replicas=True
call forward once
output r

end
"""
"""What all replicas hold whole, of no column: its shape is that of the single device."""
ADDED = ("  r = accumulate(a, b)", "  c = relu(a)\n  d = relu(b)\n  r = accumulate(c, d)")
KEPT = (
    ("  a activation", "  c activation float32 [2, 3]\n  d activation float32 [2, 3]\n  a activation"),
    ADDED,
)
BEHIND = (
    ("  r activation", "  q activation float32 [2, 3]\n  r activation"),
    ("  r = all_reduce(x)", "  q = all_reduce(x)"),
    ("replicas=True", "replicas=True\n  r = relu(q)"),
)
BEFORE = (BEHIND[0], ("  r = all_reduce(x)", "  q = relu(x)\n  r = all_reduce(q)"))
RELU = edited(
    ROWS,
    ("  a activation float32 [2, 3]\n  b activation float32 [2, 3]\n", ""),
    ("r activation float32 [2", "r activation float32 [4"),
    ("  a = narrow(x) dim=0 start=0 length=2\n  b = narrow(x) dim=0 start=2 length=2\n", ""),
    ("accumulate(a, b)", "relu(x)"),
)
OWN_ROWS = edited(OVER_REPLICAS, ('all_reduce(x) ranks=(self,) reduce="sum" replicas=True', "relu(x)"), ("once", "0"))
"""An output of which each column of the batch has rows of its own."""
OF_MICROBATCHES = edited(
    OWN_ROWS, ("dp=2", "dp=1"), ("replicas 2", "replicas 1\nmicrobatches 2"), ("forward 0", "forward 0\ncall forward 1")
)
GATHERED = edited(
    OWN_ROWS,
    ("  r activation", "  g activation float32 [4, 3]\n  k activation float32 [2, 3]\n  r activation"),
    ("  r = relu(x)", "  g = all_gather(x) SELF\n  k = chunk(g) SELF\n  r = relu(k)"),
    *(("SELF", "dim=0 ranks=(self,) replicas=True"),) * 2,
)
TWO = with_second(SINGLE, "a", "b")
TWICE = (LOADED, f"{LOADED}\n{LOADED}")
IN_TURN = "call forward 0\ncall backward 0"
OWN_TURN = "call forward 0 layers.0@0\ncall backward 0 layers.0.out@0"
OWN_EARLY = "call backward 0 layers.0.out@0\ncall forward 0"

WRONG = {
    "rows of replicas that are averaged": (ROWS, edited(OVER_REPLICAS, ('"sum"', '"avg"'))),
    "the first replica's rows on both": (
        RELU,
        edited(GATHERED, ("chunk(g) dim=0 ranks=(self,) replicas=True", "narrow(g) dim=0 start=0 length=2")),
    ),
    "the first microbatch's rows in both": (RELU, edited(OF_MICROBATCHES, ("forward 1", "forward 1 x@0"))),
    "the sum of two rows, of each replica": (RELU, edited(OWN_ROWS, ("relu(x)", "add(x, x)"))),
    "rows of replicas that are cut off behind their sum": (edited(ROWS, *KEPT), edited(OVER_REPLICAS, *BEHIND)),
    "a batch that is loaded twice": (SINGLE, edited(PARALLEL, TWICE)),
    "what its own microbatch has yet to make": (SINGLE, edited(PARALLEL, (IN_TURN, OWN_EARLY))),
    "a sum over shards of two devices": (SINGLE, edited(PARALLEL, (REDUCED, REDUCED.replace("(self,)", "tp")))),
    "two losses under other names, exchanged": (TWO, edited(with_second(PARALLEL, "b", "a", "c"), *OTHERWISE)),
    "one loss under both names": (
        TWO,
        edited(with_second(PARALLEL, "a", "b"), (HIDDEN[0], HIDDEN[0].replace("layers.0", "layers.1.out"))),
    ),
}
RIGHT = {
    "rows of replicas that are added up": (ROWS, OVER_REPLICAS),
    "own rows on each replica": (RELU, OWN_ROWS),
    "own rows in each microbatch": (RELU, OF_MICROBATCHES),
    "own rows that were gathered": (RELU, GATHERED),
    "rows of replicas that are cut off before": (edited(ROWS, *KEPT), edited(OVER_REPLICAS, *BEFORE)),
    "the pair": (SINGLE, PARALLEL),
    "what is taken from its own microbatch": (SINGLE, edited(PARALLEL, (IN_TURN, OWN_TURN))),
    "two losses": (TWO, edited(with_second(PARALLEL, "a", "b"), HIDDEN)),
    "two losses under other names": (TWO, edited(with_second(PARALLEL, "a", "b", "c"), *OTHERWISE)),
}


def asked(single, parallel):
    return verify(admit(single.encode(), "single"), admit(parallel.encode(), "parallel"), Options(solver=FAST))


@pytest.mark.parametrize("name", RIGHT)
def test_the_right_ones_are_proved(name):
    assert compare(*RIGHT[name])[0] == AGREE
    report = asked(*RIGHT[name])
    assert report.verdict.name == "PROVED", (report.findings, report.open)


@pytest.mark.parametrize("name", WRONG)
def test_the_wrong_ones_are_not(name):
    assert compare(*WRONG[name])[0] != AGREE
    report = asked(*WRONG[name])
    assert report.verdict.name == "REFUTED", (report.findings, report.open)


def test_a_loss_under_the_origin_of_another_is_refused():
    with pytest.raises(VerdictError, match=r"its tensor loss.* has the origin of loss.* in single, and the name of"):
        asked(TWO, edited(with_second(PARALLEL, "b", "a"), HIDDEN))
