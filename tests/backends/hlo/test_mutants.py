"""One mutant of each kind in each golden text: Verdict and the oracle agree (all of them: scripts/hlo_mutants.py)."""

from pathlib import Path

import pytest

from scripts.campaigns.hlo_texts import AGREES, DIFFERS, NOT_RUN, ask, mutants
from verdict.backends.hlo.pair import partitions
from verdict.backends.hlo.text import read_module

TEXTS = Path(__file__).with_name("texts")
NAMES = ("fwd_tp", "mlp_fs", "reshard", "roll", "softmax")
DUE = {DIFFERS: ("REFUTED",), AGREES: ("PROVED",), NOT_RUN: ("UNKNOWN", "REFUTED")}


def chosen():
    for name in NAMES:
        text = (TEXTS / f"{name}.after.hlo").read_text()
        seen = set()
        for mutant in mutants(text, partitions(read_module(text, name))):
            if mutant.kind not in seen:
                seen.add(mutant.kind)
                yield pytest.param(name, mutant.text, id=f"{name}, {mutant.kind}")


def test_there_are_mutants_of_all_kinds_but_those_of_other_texts():
    kinds = {case.id.split(", ", 1)[1] for case in chosen()}
    assert kinds >= {"all-reduce dropped", "groups of two", "table turned", "scale", "reducer", "permutation", "slice"}


@pytest.mark.parametrize(("name", "text"), list(chosen()))
def test_verdict_and_the_oracle_agree(name, text):
    answer = ask((TEXTS / f"{name}.before.hlo").read_text(), text)
    assert answer is None or answer.verdict in DUE[answer.truth]
