"""A law proposes, the proof decides: rules with a wrong law, linearity or gradient are never proved.

Each test plants one wrong claim into a copy of the rule table, and asks with and without it.
"""

import sys
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from unittest.mock import patch

import numpy as np
import pytest

from tests.builders import Builder, answer, codes, walked
from tests.plans import delayed
from tests.tape import Tape
from verdict.lineage import meaning
from verdict.ops import RULES, Axes, Law


@contextmanager
def planted(op, **changed):
    """The rules with one of them changed, wherever they are asked for."""
    rules = {**RULES, op: replace(RULES[op], **changed)}
    users = [m for n, m in sys.modules.items() if n.startswith("verdict.") and getattr(m, "RULES", None) is RULES]
    assert meaning in users
    with ExitStack() as patches:
        for user in users:
            patches.enter_context(patch.object(user, "RULES", rules))
        yield


def with_law(op, law, *names):
    """The rule's axes, but for the law of the atoms `names`."""

    def axes(shapes, attrs):
        right = RULES[op].axes(shapes, attrs)
        atoms = tuple(replace(atom, law=law) if atom.name in names else atom for atom in right.atoms)
        return Axes(atoms, right.inputs, right.outputs)

    return axes


def single(op, dp=1, tp=1, cut=None, **attrs):
    """loss = sum(silu(op(x w))) for x of (8, 4, 6); the tensor ranks cut x along `cut`."""
    b = Builder(tp, dp, 1)
    rows = 8 // dp
    shape = (rows, 4, 6)
    for device in range(tp):
        t = Tape(b, device, range(tp))
        region = tuple(t.cut(size) if axis == cut else (0, size) for axis, size in enumerate(shape))
        x = t.input("x", shape, region)
        w = t.weight("w", (6,), region[2:])
        y = t.op("mul", [x, w], "y", shape, region)
        z = t.op(op, [y], "z", shape, region, **attrs)
        loss = t.op("sum", [t.op("silu", [z], "s", shape, region)], "loss", (1,))
        loss = t.total(loss) if tp > 1 else loss
        b.loss(device, loss)
        t.declare(t.backward(loss), over=("w",) if tp > 1 and cut != 2 else ())
    return b.plan()


def ask_softmax(**sizes):
    return answer(single("softmax", dim=2), single("softmax", dim=2, **sizes))


def test_a_cut_along_what_a_softmax_computes_along():
    assert ask_softmax(tp=2, cut=1) == "PROVED"
    assert ask_softmax(tp=2, cut=2) != "PROVED"
    with planted("softmax", axes=with_law("softmax", Law.EACH, "k")):
        assert ask_softmax(tp=2, cut=1) == "PROVED"
        assert ask_softmax(tp=2, cut=2) == "REFUTED"


def test_columns_of_what_computes_along_the_batch():
    pair = single("softmax", dim=0), single("softmax", dp=2, dim=0)
    assert answer(single("softmax", dim=1), single("softmax", dp=2, dim=1)) == "PROVED"
    assert answer(*pair) == "REFUTED"
    with planted("softmax", axes=with_law("softmax", Law.EACH, "k")):
        assert answer(*pair) == "REFUTED"


def test_a_node_that_is_not_linear():
    pair = delayed("relu"), delayed("relu", 2)
    assert answer(*pair) == "REFUTED"
    with planted("relu", linear=frozenset({0})):
        assert "law-fails" in codes(walked(*pair))


def test_a_sum_that_does_not_add_up():
    def square(inputs, attrs):
        (y,) = RULES["sum"].forward(inputs, attrs)
        return (y * y,)

    def gradient(inputs, grads, attrs):
        (y,) = RULES["sum"].forward(inputs, attrs)
        return RULES["sum"].gradient(inputs, [grads[0] * (y + y)], attrs)

    for sizes in ({"dp": 2}, {"tp": 2, "cut": 1}):
        pair = single("silu"), single("silu", **sizes)
        assert answer(*pair) == "PROVED"
        with planted("sum", forward=square, gradient=gradient):
            assert answer(*pair) == "REFUTED"


def test_a_gradient_that_does_use_its_input():
    """Half the gradient of silu depends on x; a rule that calls silu linear says that it does not."""
    pair = delayed("silu"), delayed("silu", 2)
    with planted("silu", linear=frozenset({0})):
        report = walked(*pair)
    assert "law-fails" in codes(report)
    laws = [finding.where for finding in report.findings if finding.code == "law-fails"]
    assert any("IgnoredLaw" in where for where in laws)


def two_ways(op, kept, other):
    """A rule of one input with an attribute `way`; "other" is another function of it."""
    right = RULES[op]

    def axes(shapes, attrs):
        return right.axes(shapes, {name: value for name, value in attrs.items() if name != "way"})

    def forward(inputs, attrs):
        return ((other if attrs.get("way") == "other" else kept)(inputs[0]),)

    def gradient(inputs, grads, attrs):
        return ((other if attrs.get("way") == "other" else kept)(grads[0]),)

    return {"axes": axes, "forward": forward, "gradient": gradient, "attributes": ("way",)}


@pytest.mark.parametrize(
    ("kept", "other"),
    [
        (lambda x: np.flip(x, 1), lambda x: np.roll(x, 1, 1)),
        (lambda x: x, lambda x: np.swapaxes(np.swapaxes(x, 0, 0), 1, 1)[:, ::-1]),
    ],
    ids=["flip or roll", "flip or nothing"],
)
def test_permutations_that_agree_on_two_elements_only(kept, other):
    """A rule asks for three elements along an axis that it permutes: reduction leaves them."""

    def three(shapes, attrs):
        right = RULES["relu"].axes(shapes, {})
        atoms = tuple(replace(a, law=Law.WHOLE, least=3) if a.name == "d1" else a for a in right.atoms)
        return Axes(atoms, right.inputs, right.outputs)

    with planted("relu", **{**two_ways("relu", kept, other), "axes": three}):
        assert walked(single("relu"), single("relu", dp=2)).verdict.name == "PROVED"
        assert walked(single("relu"), single("relu", dp=2, way="other")).verdict.name == "REFUTED"
