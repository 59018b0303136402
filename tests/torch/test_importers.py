"""Who has a function by name is found as in a look at all modules, and what torch takes apart is as its table says."""

import sys
from types import ModuleType

import pytest

torch = pytest.importorskip("torch")

from torch._decomp import core_aten_decompositions, decomposition_table  # noqa: E402

from verdict.backends.torch.core import is_core  # noqa: E402
from verdict.backends.torch.importers import importers, latest, look_again, since  # noqa: E402


def function():
    """What modules import."""


HERE = sys.modules[__name__]


def module(monkeypatch, name, **holds):
    made = ModuleType(name)
    vars(made).update(holds)
    monkeypatch.setitem(sys.modules, name, made)
    return made


def test_modules_that_came_since_are_found_and_others_stay(monkeypatch):
    assert importers(HERE, "function") == (HERE,)
    has = module(monkeypatch, "has_it", function=function)
    module(monkeypatch, "has_another", function=print)
    assert importers(HERE, "function") == importers(HERE, "function") == (HERE, has)


def test_a_function_in_the_place_of_another_is_looked_for_anew(monkeypatch):
    has, other = (module(monkeypatch, name, function=value) for name, value in (("has", function), ("other", print)))
    assert importers(HERE, "function") == (HERE, has)
    monkeypatch.setattr(HERE, "function", print)
    assert importers(HERE, "function") == (HERE, other)


def test_where_the_latest_module_is_gone_all_are_looked_at(monkeypatch):
    with monkeypatch.context() as meanwhile:
        module(meanwhile, "gone")
        assert importers(HERE, "function") == (HERE,)
    has = module(monkeypatch, "came_instead", function=function)
    assert importers(HERE, "function") == (HERE, has)


def test_what_an_import_puts_into_a_module_that_was_there_is_found_by_a_second_look(monkeypatch):
    lazy = module(monkeypatch, "lazy")
    assert importers(HERE, "function") == (HERE,)
    lazy.function = function
    look_again()
    assert importers(HERE, "function") == (HERE, lazy)


def test_modules_since_one_are_in_their_order(monkeypatch):
    last = latest()
    for name in ("first", "second"):
        module(monkeypatch, name)
    assert since(last) == ["first", "second"]


def test_torchs_table_is_told_of_one_operator():
    table = core_aten_decompositions()
    asked = [func for func in decomposition_table if isinstance(func, torch._ops.OpOverload)]
    assert len(asked) > 1000
    assert [func for func in asked if is_core(func) != (func in table)] == []
