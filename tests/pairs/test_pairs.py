"""Every bug pair is refuted with its code, its counterexample replays, and its right twin is proved."""

from functools import cache

import pytest

from tests.builders import ask
from tests.pairs import load, names, report_on
from verdict.diagnose.counter import replays
from verdict.report import Verdict

pytestmark = pytest.mark.usefixtures("shared_proofs")


@pytest.mark.parametrize("name", names())
def test_a_bug_gets_its_code(name):
    pair = load(name)
    report = report_on(name)
    assert report.verdict is (Verdict.REFUTED if pair.expected else Verdict.PROVED), report.open
    assert tuple(finding.code for finding in report.findings) == pair.expected
    assert tuple(finding.code for finding in report.notes) == pair.notes
    titles = "\n".join(finding.title for finding in (*report.findings, *report.notes))
    assert all(words in titles for words in pair.says), titles
    assert all(replays(f.counterexample) for f in report.findings if f.counterexample is not None)


@cache
def twin(model, sizes):
    pair = next(pair for pair in map(load, names()) if (pair.model, pair.sizes) == (model, sizes))
    return ask(*pair.twin())


@pytest.mark.parametrize("name", names())
def test_its_right_twin_is_proved(name):
    pair = load(name)
    report = twin(pair.model, pair.sizes)
    assert report.verdict is Verdict.PROVED
    assert report.notes == ()
