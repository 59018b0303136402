"""Pairs of plans in outline for tests of the sweep, and what it says of them."""

import tempfile
from pathlib import Path

from tests.builders import FAST
from verdict.backends import pairs
from verdict.concrete import compare as oracle
from verdict.options import Options
from verdict.sweep import findings, sweep

OPTIONS = Options(workers=0, solver=FAST)
HEAD = "# A pair\n# for a test.\nsource https://example.org\ncategory scale\nparallelism DP\nexpect not-equivalent\n\n"


def twins(text):
    """The right plan and the wrong one of a pair in outline, each with its single-device plan."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "one.pair").write_text(HEAD + text)
        pair = pairs.load(Path(folder), "one")
        return pair.twin(), pair.plans()


def swept(single, parallel):
    """PROVED, REFUTED or UNKNOWN, by the sweep alone."""
    found = sweep(single, parallel, OPTIONS)
    if found.different or found.missing:
        return "REFUTED"
    return "UNKNOWN" if found.open or found.fault else "PROVED"


def told(single, parallel):
    """The findings of the sweep."""
    return findings(single, parallel, sweep(single, parallel, OPTIONS))


def agrees(single, parallel, seed=3):
    """What the oracle says."""
    return oracle(single, parallel, seed, False).outcome
