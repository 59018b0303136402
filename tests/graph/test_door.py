"""What the format refuses is refused: each violation by one sentence that names it, beside a twin that is proved.

The violations are made in the text of a right pair, so that the sentence must also name the line, where it is one of
a file by itself.
"""

import re

import pytest

from tests.builders import FAST
from verdict.backends.generator import Sizes, generate
from verdict.backends.text import admit, write
from verdict.errors import PlanFileError, VerdictError
from verdict.options import Options
from verdict.pipeline import verify

SINGLE, PARALLEL = map(
    write, generate("mlp", Sizes(layers=2, hidden=8, batch=8, dp=2, tp=2, pp=1, microbatches=2, ffn=16))
)
S, P = "single", "parallel"
SUM = 'ranks=tp reduce="sum"\n'
OUT = "  layers.1.out = relu(layers.1'2)"
WEIGHT = "linear(x, layers.0.weight[tp, :])"


def copied(op, attrs=""):
    return OUT, f"  layers.1'3 = {op}(layers.1'2){attrs}\n" + OUT.replace("'2", "'3")


def instead(text):
    return OUT, f"  {text}\n" + OUT


AS_IT_IS = ("", "")
W1 = "layers.1.weight weight float32 [8, 16]"
NAMED = f"{W1} origin name"
NOTHING = "whole tensors only"
UNKNOWN = "has an attribute scale, which is unknown"

VIOLATIONS = {
    # regions and parts of the single-device plan, and of what is given
    "a region of a weight on one device": (S, ("layers.0.weight)", "layers.0.weight[0:8, :])"), NOTHING, AS_IT_IS),
    "a region of an activation on one device": (S, ("  layers.0 =", "  layers.0[0:4, :] ="), NOTHING, AS_IT_IS),
    "a part of an activation on one device": (S, ("  layers.0 =", "  layers.0{0/2} ="), NOTHING, AS_IT_IS),
    "a part of the loss on one device": (S, ("  loss =", "  loss{1/2} ="), NOTHING, ("  loss =", "  loss{0/1} =")),
    "a part of a weight on one device": (S, ("layers.0.weight)", "layers.0.weight{0/2})"), "0 of 2 of a sum", AS_IT_IS),
    "a part of an input on one device": (S, ("  x =", "  x{0/2} ="), "the input x is stated to be part", AS_IT_IS),
    "shards on one device": (S, ("batch x 0", "shard layers.0.weight 0"), "divides layers.0.weight", AS_IT_IS),
    "a weight as an addend": (P, (WEIGHT, WEIGHT[:-1] + "{0/2})"), "layers.0.weight is stated to be part", AS_IT_IS),
    "a weight as addends": (P, (WEIGHT, WEIGHT[:-1] + "{tp})"), "never as addends", AS_IT_IS),
    "an input as an addend": (P, ("  x =", "  x{1/2} ="), "the input x is stated to be part 1 of 2", AS_IT_IS),
    "an addend of no device": (P, ("\nend", "\nloose\n  x{0/2}\n\nend"), "is stated to be part", AS_IT_IS),
    "an addend beyond its sum": (P, ("layers.1{tp}", "layers.1{2/2}"), "layers.1 is part 2 of 2", AS_IT_IS),
    # attributes
    **{
        f"an attribute of {op}": (P, copied(op, attrs + " scale=2"), UNKNOWN, copied(op, attrs))
        for op, attrs in [("identity", ""), ("accumulate", ""), ("contiguous", ""), ("float", "")]
    },
    "an attribute of multiref": (P, copied("multiref", " times=1 scale=2"), UNKNOWN, copied("multiref", " times=1")),
    "an attribute of wait": (P, copied("wait", " scale=2"), UNKNOWN, copied("wait")),
    "an attribute of relu": (P, ("relu(layers.0)", "relu(layers.0) scale=2"), UNKNOWN, AS_IT_IS),
    "an attribute of a gradient": (P, ("grad, layers.0)", "grad, layers.0) scale=2"), UNKNOWN, AS_IT_IS),
    "an attribute of the loader": (P, ("dataloader()", "dataloader() scale=2"), UNKNOWN, AS_IT_IS),
    "an attribute of a collective": (P, (SUM, SUM[:-1] + " scale=2\n"), UNKNOWN, AS_IT_IS),
    "an attribute of record": (P, instead('record() event="e" scale=2'), UNKNOWN, instead('record() event="e"')),
    "a copy that scales on one device": (
        S,
        ("  layers.1.out = relu(layers.1)", "  layers.1.out = relu(layers.1) scale=2"),
        UNKNOWN,
        AS_IT_IS,
    ),
    "asynchronous computing": (P, (OUT, OUT + " asynchronous=True"), "only communication can be", AS_IT_IS),
    "a number for a truth value": (P, ("replicas=True", "replicas=2"), "its replicas is 2", AS_IT_IS),
    "a word for a truth value": (P, ("replicas=True", 'replicas="no"'), "expected True or False", AS_IT_IS),
    "truth values for ranks": (P, (SUM, SUM.replace("tp", "(False, True)")), "tuple of ranks from 0 to 1", AS_IT_IS),
    "fractions for ranks": (P, (SUM, SUM.replace("tp", "(0.0, 1.0)")), "tuple of ranks from 0 to 1", AS_IT_IS),
    "a rank that does not exist": (P, (SUM, SUM.replace("tp", "(0, 7)")), "tuple of ranks from 0 to 1", AS_IT_IS),
    "a peer that does not exist": (P, instead("send(layers.1'2) peer=self+1"), "its peer is 2", AS_IT_IS),
    "no reduction": (P, (SUM, "ranks=tp reduce=None\n"), "its reduce is None", (SUM, "ranks=tp\n")),
    # declared outputs
    "the loss twice": (S, ("loss loss\n", "loss loss\n" * 2), "declares a second loss, loss", AS_IT_IS),
    "two losses where there is one": (P, ("loss loss\n", "loss loss\nloss loss'2\n"), "a second loss", AS_IT_IS),
    "a gradient twice": (
        P,
        ("gradient layers.1", "gradient layers.1.weight.grad of layers.1.weight\ngradient layers.1"),
        "declares a second gradient of layers.1.weight, layers.1.weight.grad.reduced",
        AS_IT_IS,
    ),
    "a gradient twice, the wrong one last": (
        P,
        ("seed loss", "gradient layers.1.weight.grad of layers.1.weight\nseed loss"),
        "declares a second gradient of layers.1.weight, layers.1.weight.grad ",
        AS_IT_IS,
    ),
    "an output twice": (P, ("loss loss\n", "loss loss\noutput x\noutput x\n"), "declares a second output, x", AS_IT_IS),
    "a loss of a weight": (P, ("loss loss\n", "loss loss of layers.0.weight\n"), "leave that out", AS_IT_IS),
    "a gradient of no weight": (
        P,
        ("reduced of layers.1.weight", "reduced"),
        "the gradient layers.1.weight.grad.reduced is declared of no weight",
        AS_IT_IS,
    ),
    "a gradient of an activation": (P, ("reduced of layers.1.weight", "reduced of loss"), "is no weight", AS_IT_IS),
    "a seed that is computed": (P, ("seed loss.grad", "seed layers.1.grad"), "is made by a node, too", AS_IT_IS),
    "a seed that is a weight": (P, ("seed loss.grad", "seed layers.1.weight"), "is of the kind weight", AS_IT_IS),
    "a seed twice": (P, ("seed loss.grad", "seed loss.grad\nseed loss.grad"), "is named twice", AS_IT_IS),
    # what is which
    "two inputs of one origin": (
        P,
        ("\n  layers.0.weight", '\n  z input float32 [2, 8] origin "x"\n  layers.0.weight'),
        "a second input, z, has the origin 'x'",
        AS_IT_IS,
    ),
    "two buffers of one name": (
        P,
        ("\ntensors\n", "\ntensors\n  b buffer float32 [1]\n  b~2 buffer float32 [1]\n"),
        "there are two tensors b of the role buffer",
        ("\ntensors\n", "\ntensors\n  b buffer float32 [1] origin 1\n  b~2 buffer float32 [1] origin 2\n"),
    ),
    "two weights of one origin": (
        S,
        (NAMED, f'{W1} origin "layers.0.weight"'),
        "a second weight, layers.1.weight, has the origin 'layers.0.weight'",
        (NAMED, W1),
    ),
    "origins against names": (
        P,
        (NAMED, f'{W1} origin "layers.0.weight"'),
        "a second weight",
        (NAMED, f"{W1} origin 7"),
    ),
    "an unknown number format": (P, ("x input float32", "x input float99"), "which is no number format", AS_IT_IS),
    "a storage twice": (
        P,
        ("seed loss.grad", "seed loss.grad\nstorage a: layers.0\nstorage a: layers.1.out"),
        "rank 0 has a second storage a",
        ("seed loss.grad", "seed loss.grad\nstorage a: layers.0\nstorage b: layers.1.out"),
    ),
    # the batch and the mesh
    "another batch axis than the shapes say": (P, ("batch x 0", "batch x 1"), "split along axis 1", ("batch x 0", "")),
    "another batch axis on one device": (S, ("batch x 0", "batch x 1"), "split along axis 1", ("batch x 0\n", "")),
    "a batch axis that does not exist": (P, ("batch x 0", "batch x 5"), "which has 2 dimensions", AS_IT_IS),
    "a batch axis of no input": (P, ("batch x 0", "batch loss 0"), "has no input of that name", AS_IT_IS),
    "a batch axis twice": (P, ("batch x 0", "batch x 1\nbatch x 0"), "is said twice", AS_IT_IS),
    "a mesh of other replicas": (P, ("mesh dp=2", "mesh dp=3"), "is 3 long, and it has 2 replicas", AS_IT_IS),
    "a mesh of other devices": (P, ("pp=1", "pp=3"), "expected a value, found tp", AS_IT_IS),
    "a batch once a step": (
        P,
        ("segment forward\n  x = dataloader()", "segment load\n  x = dataloader()\nsegment forward"),
        "there are 2 microbatches to load",
        AS_IT_IS,
    ),
    # sizes
    "a billion microbatches": (P, ("microbatches 2", "microbatches 1000000000"), "at most 65536 are allowed", AS_IT_IS),
    "a billion replicas": (P, ("replicas 2", "replicas 1000000000"), "at most 1048576 are allowed", AS_IT_IS),
    "a billion devices": (P, ("devices 2", "devices 1000000000"), "at most 65536 devices", AS_IT_IS),
    "a mesh of a billion": (P, ("devices 2\n", ""), "at most 65536 devices", AS_IT_IS),
    "a family of a billion": (P, ("family 0:2", "family 0:1000000000"), "expected devices below 2", AS_IT_IS),
    "a family again and again": (P, ("family 0:2", "family" + " 0:2" * 50_000), "more devices than the 2", AS_IT_IS),
    "a huge tensor": (P, ("x input float32 [2, 8]", f"x input float32 [{10**30}, 8]"), "elements", AS_IT_IS),
    "a huge tensor of nothing": (P, ("x input float32 [2, 8]", f"x input float32 [0, {10**30}]"), "elements", AS_IT_IS),
    "a huge region": (P, ("weight[tp, :]", f"weight[0:{10**30}, :]"), "ends beyond 9007199254740992", AS_IT_IS),
    "a huge sum": (P, ("layers.1{tp}", f"layers.1{{0/{10**30}}}"), "part of more than 9007199254740992", AS_IT_IS),
    "many dimensions": (P, ("[1] origin name", f"[{', '.join('1' * 40)}] origin name"), "at most 32", AS_IT_IS),
    "a huge attribute": (P, ("dim=None", f"dim={10**30}"), "a number of dim is 2**63 or more", AS_IT_IS),
    "too few gradients": (
        P,
        ("  -, layers.0.weight.grad[tp, :] =", "  layers.0.weight.grad[tp, :] ="),
        "it has 1 outputs, its operator 2 inputs",
        AS_IT_IS,
    ),
    "too many outputs": (P, (OUT, OUT.replace("1.out", "1.out, loss")), "2 outputs, its operator makes 1", AS_IT_IS),
}
EARLIER = {"a batch once a step": ("call forward 0", "call load once\ncall forward 0")}
"""What a violation needs beside it."""
MORE = {"a mesh of a billion": ("pp=1", "pp=1000000000")}


def edited(name, side, edit):
    texts = {S: SINGLE, P: PARALLEL}
    for old, new in (edit, *([EARLIER[name]] if name in EARLIER and edit != AS_IT_IS else [])):
        assert old in texts[side], old
        texts[side] = texts[side].replace(old, new, 1)
    if name in MORE and edit != AS_IT_IS:
        texts[side] = texts[side].replace(*MORE[name], 1)
    return texts


def asked(texts):
    plans = [admit(texts[side].encode(), side) for side in (S, P)]
    return verify(*plans, Options(solver=FAST))


OF_BOTH = {"another batch axis than the shapes say"}
"""What only the two plans together show to be wrong."""


@pytest.mark.parametrize("name", VIOLATIONS)
def test_what_the_format_refuses_is_refused(name):
    side, wrong, sentence, right = VIOLATIONS[name]
    with pytest.raises(VerdictError) as caught:
        asked(edited(name, side, wrong))
    assert caught.value.where.startswith(side)
    assert sentence in str(caught.value)
    report = asked(edited(name, side, right))
    assert report.verdict.name == "PROVED", (report.findings, report.open)


@pytest.mark.parametrize("name", [name for name in VIOLATIONS if "one device" not in name and name not in OF_BOTH])
def test_the_sentence_names_a_line_of_the_file(name):
    side, wrong, *_ = VIOLATIONS[name]
    text = edited(name, side, wrong)[side]
    with pytest.raises(PlanFileError, match=rf"^{side}:[0-9]+: ") as caught:
        admit(text.encode(), side)
    assert 1 <= int(caught.value.where.split(":")[1]) <= text.count("\n")


def test_a_billion_copies_cost_nothing():
    wrong = asked(edited("", P, copied("multiref", f" times={10**12}")))
    assert wrong.findings[0].title.startswith("multiref: times is 1000000000000, it must be")
    assert asked(edited("", P, copied("multiref", " times=1"))).verdict.name == "PROVED"


def test_lines_are_counted_over_families_and_segments():
    split = PARALLEL.replace("family 0:2", "family 1 0", 1)
    line = 1 + split[: split.index("layers.0.out[:, tp] = relu")].count("\n")
    with pytest.raises(PlanFileError, match=f"here:{line}: relu layers.0.out on rank 0: .* odd"):
        admit(split.replace("relu(layers.0)", "relu(layers.0) odd=1", 1).encode(), "here")
    line = 1 + split[: split.index("  -, layers.0.weight.grad[tp")].count("\n")
    with pytest.raises(PlanFileError, match=f"here:{line}: linear.grad"):
        admit(re.sub(r"(layers.0.weight\))( : layers.0\n)", r"\1 odd=1\2", split).encode(), "here")


def test_findings_about_what_is_stated_are_not_dropped_where_numbers_agree():
    """A region outside of its tensor, and a tensor that is made twice: the plans compute the same numbers."""
    twice = PARALLEL.replace(OUT, f"{OUT}\n{OUT}", 1)
    report = asked({S: SINGLE, P: twice})
    assert {finding.code for finding in report.findings} == {"broken-data-flow"}
    assert report.verdict.name == "REFUTED"
