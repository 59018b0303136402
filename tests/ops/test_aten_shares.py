"""Shares of a vocabulary: what ranks compute from masked and shifted ids adds up, and nothing else does."""

import numpy as np
import pytest

from tests.solver.build import array
from verdict.ops import RULES
from verdict.outcome import Proved, Refuted
from verdict.solver import Goal, Obligation, SolverError, SolverOptions, Terms, check

VOCABULARY, WIDTH, TOKENS = 6, 2, 3
HALF = VOCABULARY // 2
OPTIONS = SolverOptions()


def aten(name, *inputs, **attrs):
    """The first output of an ATen operator."""
    return RULES[f"aten.{name}"].forward(inputs, attrs)[0]


def number(value):
    return np.asarray(value, dtype=np.int64)


def masked_ids(ids, start, size):
    """DTensor's way: which ids lie outside of the rank's rows, and the ids counted from its first row, 0 for those."""
    outside = aten("__or__.Tensor", aten("lt.Scalar", ids, other=start), aten("ge.Scalar", ids, other=start + size))
    shifted = aten("sub.Tensor", ids, other=start)
    return outside, aten("index_put", shifted, outside, number(0), indices_count=1, masks=(0,))


def rows(ids, weight, start, faults=()):
    """The rank's part of the embedding."""
    outside, local = masked_ids(ids, start + ("shift" in faults), len(weight))
    local = aten("sub.Tensor", ids, other=start) if "leak" in faults else local
    found = aten("embedding", weight, local)
    return found if "unmasked" in faults else aten("index_put", found, outside, number(0), indices_count=1, masks=(0,))


def pull(ids, dy, start, faults=()):
    """The rank's part of the gradient of the table."""
    outside, local = masked_ids(ids, start, HALF)
    if "unmasked" not in faults:
        dy = aten("index_put", dy, outside, number(0), indices_count=1, masks=(0,))
    return aten("embedding_dense_backward", dy, local, num_weights=HALF, padding_idx=-1, scale_grad_by_freq=False)


def decide(terms, single, parallel):
    return check(Obligation(terms, (Goal("goal", single, parallel),)), OPTIONS)


@pytest.fixture
def terms():
    return Terms()


@pytest.fixture
def ids(terms):
    made = np.empty(TOKENS, dtype=object)
    made[:] = [terms.index(f"id{k}", VOCABULARY) for k in range(TOKENS)]
    return made


def test_an_embedding_in_shares(terms, ids):
    weight = array(terms, "w", VOCABULARY, WIDTH)
    whole = aten("embedding", weight, ids)
    parts = [rows(ids, weight[start : start + HALF], start) for start in (0, HALF)]
    assert isinstance(decide(terms, whole, sum(parts)), Proved)


@pytest.mark.parametrize("fault", ["shift", "leak", "unmasked"])
def test_an_embedding_in_wrong_shares(terms, ids, fault):
    """Rows off by one; ids looked up that are outside of the share; rows of foreign ids not set to zero."""
    weight = array(terms, "w", VOCABULARY, WIDTH)
    try:
        parts = [rows(ids, weight[:HALF], 0), rows(ids, weight[HALF:], HALF, (fault,))]
    except SolverError as error:
        assert fault == "leak"
        assert "do not exist everywhere" in str(error)
        return
    assert not isinstance(decide(terms, aten("embedding", weight, ids), sum(parts)), Proved)


@pytest.mark.parametrize(("faults", "right"), [((), True), (("unmasked",), False)])
def test_the_gradient_of_a_share(terms, ids, faults, right):
    dy = array(terms, "dy", TOKENS, WIDTH)
    whole = aten("embedding_dense_backward", dy, ids, num_weights=VOCABULARY, padding_idx=-1, scale_grad_by_freq=False)
    parts = [pull(ids, dy, start, faults) for start in (0, HALF)]
    outcome = decide(terms, whole, np.concatenate(parts))
    assert isinstance(outcome, Proved if right else Refuted)


def picked(ids, scores, start, faults=()):
    """The rank's part of the scores of the targets: gathered, and zero where the target is elsewhere."""
    outside, local = masked_ids(ids, start, HALF)
    found = aten("squeeze.dim", aten("gather", scores, aten("unsqueeze", local, dim=1), dim=1), dim=1)
    return found if faults else aten("masked_fill.Scalar", found, outside, value=0.0)


@pytest.mark.parametrize("reduction", [0, 1, 2])
@pytest.mark.parametrize(("faults", "right"), [((), True), (("unmasked",), False)])
def test_a_loss_in_shares(terms, ids, reduction, faults, right):
    scores = array(terms, "x", TOKENS, VOCABULARY)
    whole = aten("nll_loss_forward", scores, ids, reduction=reduction, ignore_index=-100)
    parts = [picked(ids, scores[:, start : start + HALF], start, faults) for start in (0, HALF)]
    loss = aten("neg", sum(parts))
    loss = {0: lambda: loss, 1: lambda: aten("mean", loss), 2: lambda: aten("sum", loss)}[reduction]()
    assert isinstance(decide(terms, whole, loss), Proved if right else Refuted)


@pytest.mark.parametrize(("shift", "right"), [(0, True), (1, False)])
def test_the_gradient_of_a_loss_in_shares(terms, ids, shift, right):
    """DTensor's: -1 at the target, 0 where the target is elsewhere, times the gradient of the mean."""
    dy = array(terms, "dy")
    scores = array(terms, "x", TOKENS, VOCABULARY)
    total = number(TOKENS)
    kind = {"reduction": 1, "ignore_index": -100, "absent": ("weight",)}
    whole = aten("nll_loss_backward", dy, scores, ids, total, **kind)
    parts = []
    for start in (0, HALF):
        outside, local = masked_ids(ids, start + shift * (start > 0), HALF)
        update = aten("sub.Tensor", outside, other=1.0)
        place = aten("arange", end=TOKENS)
        zeros = aten("zeros", size=(TOKENS, HALF))
        at_target = aten("index_put", zeros, place, local, update, indices_count=2)
        parts.append(aten("mul.Tensor", at_target, aten("div.Tensor", dy, total)))
    outcome = decide(terms, whole, np.concatenate(parts, axis=1))
    assert isinstance(outcome, Proved if right else Refuted)


def test_ignored_targets_do_not_count(terms):
    target = np.array([terms.index("a", 4) - 1, terms.index("b", 4) - 1], dtype=object)
    scores = array(terms, "x", 2, 3)
    kind = {"reduction": 2, "ignore_index": -1}
    loss, count = RULES["aten.nll_loss_forward"].forward([scores, target], kind)
    valid = aten("ne.Scalar", target, other=-1)
    assert isinstance(decide(terms, aten("sum", valid), count), Proved)
    kept = aten("where.self", valid, target, number(0))
    found = aten("squeeze.dim", aten("gather", scores, aten("unsqueeze", kept, dim=1), dim=1), dim=1)
    assert isinstance(decide(terms, loss, aten("neg", aten("sum", aten("mul.Tensor", valid, found)))), Proved)
    assert isinstance(decide(terms, loss, aten("neg", aten("sum", found))), Refuted)


def test_an_id_outside_of_the_table_is_no_number_and_no_term(terms, ids):
    weight = array(terms, "w", HALF, WIDTH)
    assert not isinstance(decide(terms, rows(ids, weight, 0), aten("embedding", weight, ids)), Proved)
    with pytest.raises(IndexError, match="outside of the 3"):
        aten("embedding", weight, number([1, 3]))
    with pytest.raises(IndexError, match="outside of the 3"):
        aten("embedding", weight, number([-1]))


def test_masks_of_positions_are_numbers():
    row, column = aten("arange", end=4), aten("arange", end=4)
    mask = aten("le.Tensor", aten("unsqueeze", column, dim=0), aten("unsqueeze", row, dim=1))
    assert mask.tolist() == np.tril(np.ones((4, 4), dtype=int)).tolist()


def test_what_is_not_listed_is_an_unknown_function(terms):
    x, y = array(terms, "x", 2), array(terms, "y", 2)
    for op, attrs in (("_to_copy", {"dtype": "int64"}), ("bitwise_and.Scalar", {"other": 1})):
        assert isinstance(decide(terms, aten(op, x, **attrs), aten(op, x, **attrs)), Proved)
        assert not isinstance(decide(terms, aten(op, x, **attrs), aten(op, y, **attrs)), Proved)
        assert not isinstance(decide(terms, aten(op, x, **attrs), x), Proved)


def test_truth_values_are_joined_exactly_whatever_was_compared(terms):
    x, y, z = (array(terms, name, 2) for name in "xyz")
    one, two, three = aten("lt.Tensor", x, y), aten("gt.Scalar", y, other=1), aten("le.Tensor", z, x)
    both = aten("bitwise_and.Tensor", one, two)
    assert isinstance(decide(terms, both, aten("logical_and", two, one)), Proved)
    spread = aten("bitwise_or.Tensor", aten("bitwise_and.Tensor", one, three), aten("bitwise_and.Tensor", two, three))
    joined = aten("bitwise_and.Tensor", three, aten("bitwise_or.Tensor", one, two))
    assert isinstance(decide(terms, spread, joined), Proved)
    assert isinstance(decide(terms, joined, aten("bitwise_or.Tensor", one, two)), Refuted)
    opposite = aten("bitwise_not", aten("bitwise_xor.Tensor", one, two), dtype="bool")
    assert isinstance(decide(terms, opposite, aten("eq.Tensor", one, two)), Proved)


def test_comparisons_of_reals_meet_in_the_step(terms):
    x, y = array(terms, "x", 2), array(terms, "y", 2)
    less = aten("lt.Tensor", x, y)
    assert isinstance(decide(terms, less, aten("gt.Tensor", y, x)), Proved)
    assert isinstance(decide(terms, less, aten("logical_not", aten("ge.Tensor", x, y))), Proved)
    assert isinstance(decide(terms, less, aten("le.Tensor", x, y)), Refuted)
    pulled = aten("threshold_backward", y, x, threshold=0)
    chosen = aten("where.self", aten("gt.Scalar", x, other=0), y, number(0))
    assert isinstance(decide(terms, pulled, chosen), Proved)
