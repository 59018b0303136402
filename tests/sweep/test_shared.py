"""Corrections that are found once for all kinds are those that each kind finds by itself."""

import pytest

from tests.sweep import test_causes, test_likely_causes
from tests.sweep.plans import told, twins
from verdict.sweep.why import inputs, search
from verdict.sweep.why.once import Shared

CASES = {name: test_causes.pair(*case[:3]) for name, case in test_causes.CASES.items()} | {
    name: case[0] for name, case in test_likely_causes.CASES.items()
}


def test_what_is_shared_is_made_once_and_no_sooner_than_it_is_asked_for():
    made = []
    shared = Shared(made.append(number) or number for number in range(4))
    first, second = iter(shared), iter(shared)
    assert [next(first), next(second), next(second), next(first)] == [0, 0, 1, 1]
    assert made == [0, 1]
    assert list(first) == [2, 3]
    assert list(second) == [2, 3]
    assert list(shared) == list(range(4))
    assert made == list(range(4))


@pytest.mark.parametrize("name", CASES)
def test_sharing_changes_no_finding(monkeypatch, name):
    wrong = twins(CASES[name])[1]
    found = told(*wrong)
    asked = []
    for module in (inputs, search):
        monkeypatch.setattr(module, "shared", lambda state, key, made: asked.append(key) or made())
    assert found == told(*wrong)
    assert found
    assert asked or name not in test_causes.CASES
