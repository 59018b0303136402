"""A divergence of the walk is a refutation where numbers show it, and an open question where they agree."""

import pytest

from tests.builders import ask, codes, mlp, rewrite_where, walked
from tests.mutate.test_misses import SINGLE
from verdict import certify
from verdict.report import Verdict

TWIN = mlp(tp=2)


def swapped(node):
    return node._replace(inputs=node.inputs[::-1])


def from_the_result(plan):
    """relu.grad looks at the sign of relu(h) instead of that of h."""
    results = {}

    def note(node):
        results[node.inputs[0]] = node.outputs[0]
        return node

    rewrite_where(plan, "relu", note)
    return rewrite_where(
        plan, "relu.grad", lambda node: node._replace(inputs=(node.inputs[0], results[node.inputs[1]]))
    )


HARMLESS = {
    "commuted": rewrite_where(TWIN, "mul", swapped, device=1),
    "the sign of the result": from_the_result(TWIN),
}
FAULTS = {
    "not summed": rewrite_where(TWIN, "all_reduce", lambda node: node._replace(op="identity", attrs=()), device=0),
    "another gradient": rewrite_where(TWIN, "relu.grad", lambda node: node._replace(op="identity.grad"), device=1),
}


@pytest.mark.parametrize("name", HARMLESS)
def test_what_numbers_do_not_show_is_no_refutation_and_no_proof(name):
    walk = walked(SINGLE, HARMLESS[name])
    assert codes(walk) == {"wrong-input"}
    report = certify.certified(SINGLE, HARMLESS[name], walk)
    assert (report.verdict, report.findings) == (Verdict.UNKNOWN, ())
    assert any("wrong-input" in item.reason and "the plans agree" in item.reason for item in report.open)


def test_the_sweep_proves_what_it_can():
    assert ask(SINGLE, HARMLESS["commuted"]).verdict is Verdict.PROVED
    assert ask(SINGLE, HARMLESS["the sign of the result"]).verdict is Verdict.UNKNOWN


@pytest.mark.parametrize("name", FAULTS)
def test_what_numbers_show_is_refuted(name):
    report = ask(SINGLE, FAULTS[name])
    assert report.verdict is Verdict.REFUTED
    assert report.notes == ()


def test_the_right_twin_is_proved():
    assert ask(SINGLE, TWIN).verdict is Verdict.PROVED


@pytest.mark.parametrize("limit", ["MOST_STEPS", "MOST_WORK"])
def test_what_is_too_large_to_be_run_stays_refuted_and_says_so(limit, monkeypatch):
    monkeypatch.setattr(certify, limit, 10)
    report = ask(SINGLE, HARMLESS["commuted"])
    assert codes(report) == {"wrong-input"}
    (note,) = report.notes
    assert note.code == "not-run"
    assert "the limit is 10" in note.where


def test_what_numbers_cannot_take_back_stays():
    report = ask(SINGLE, HARMLESS["commuted"], denied={"real-arithmetic"})
    assert codes(report) == {"assumption-denied"}
    assert report.open
