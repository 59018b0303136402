"""Causes that the bug pairs do not show: factors, several layers, faults that only follow, extents in words."""

from tests.builders import Builder, ask, mlp, rewrite_where
from tests.pairs import load
from tests.values.outline import report
from verdict.graph import INPUT, WEIGHT
from verdict.report import Verdict
from verdict.report.finding import extent_of


def averaged(tp=1):
    """loss = mean(x * w), the features divided over `tp` ranks; each averages its own, and the averages are summed."""
    b = Builder(tp)
    step = 8 // tp
    for device in range(tp):
        cut = ((device * step, device * step + step),)
        x = b.tensor("x", (4, 8), INPUT, ((0, 4), *cut))
        w = b.tensor("w", (8,), WEIGHT, cut)
        b.op(device, "dataloader", [], [x])
        xs = b.op(device, "mul", [x, w], [b.tensor("xs", (4, 8), region=((0, 4), *cut))])
        loss = b.op(device, "mean", [xs], [b.tensor("loss", (1,))], dim=None, keepdim=False)
        if tp > 1:
            loss = b.op(device, "all_reduce", [loss], [b.tensor("loss", (1,))], ranks=tuple(range(tp)), reduce="sum")
        b.loss(device, loss)
    return b.plan()


def test_a_factor_is_named_exactly():
    (finding,) = ask(averaged(), averaged(2)).findings
    assert finding.code == "wrong-scale"
    assert "computes 2 times what the single device does" in finding.title
    assert finding.ranks == (0, 1)


def test_the_factor_is_the_number_of_shares():
    (finding,) = ask(averaged(), averaged(4)).findings
    assert "computes 4 times" in finding.title


def test_what_follows_is_attached_to_its_cause():
    wrong = rewrite_where(mlp(tp=2), "all_reduce", lambda node: None, device=0, nth=0)
    (only,) = ask(mlp(), wrong).findings
    assert only.code == "broken-data-flow"
    attached = [note.split()[3] for note in only.notes if note.startswith("follows from it: ")]
    assert attached == ["deadlock,", "gradient-missing,"]


def test_a_gradient_that_is_wrong_for_the_forwards_reason_is_a_note_of_it():
    (only,) = ask(*load("wrong_exponent").plans()).findings
    assert any(note.startswith("the same at pow.grad") for note in only.notes)
    assert only.modules == ("layers.0", "layers.1", "layers.2", "layers.3", "norm")


def test_the_extent_counts_ranks_of_all_replicas():
    wrong = rewrite_where(mlp(tp=2, dp=2), "all_reduce", lambda n: n._replace(op="identity", attrs=()), nth=0, device=0)
    findings = ask(mlp(), wrong).findings
    assert extent_of(findings[0], 2).startswith(f"{2 * len(findings[0].ranks)} ranks")


LOSS = """
  p input [6000, 2]
  t input int64 [4, 2]
  q activation [4, 2]
  loss activation []
  q = aten.gather(p, t) dim=0
  loss = aten.sum(q)
  loss loss
"""
SHARED = """
  p input [6000, 2]
  t input int64 [4, 2]
  q activation [4, 2]
  part activation []
  loss activation []
  q[tp, :] = aten.gather(p, t[tp, :]) dim=0
  part{{tp}} = aten.sum(q[tp, :])
  loss = {}
  loss loss
"""


def test_what_is_too_large_to_be_shown_is_found_all_the_same():
    assert report(LOSS, SHARED.format('all_reduce(part) ranks=tp reduce="sum"'), tp=2).verdict is Verdict.PROVED
    for last, code in {
        'all_reduce(part) ranks=tp reduce="mean"': "mean-instead-of-sum",
        "identity(part)": "missing-reduction",
    }.items():
        (finding,) = report(LOSS, SHARED.format(last), tp=2).findings
        assert (finding.code, finding.counterexample) == (code, None)
