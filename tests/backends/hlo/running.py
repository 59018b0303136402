"""Modules run on numbers, by the oracle."""

import numpy as np

from verdict.backends.hlo.pair import names_of, single_of
from verdict.backends.hlo.text import read_module
from verdict.concrete.execute import execute
from verdict.graph import INPUT
from verdict.semantics import full, itself


def results_of(text, arguments):
    """What a module for one device makes of arrays, in the order of its results."""
    module = read_module(text, "module")
    plan = single_of(module, module)
    named = dict(zip(names_of(module.parameters), arguments, strict=True))
    given = {k: np.asarray(named[each.name]) for k, each in enumerate(plan.logicals) if each.kind == INPUT}
    with np.errstate(all="ignore"):
        found = execute(plan, full(plan), itself(plan), given).outputs
    made = {tensor: array for (_, _, tensor), array in found.items()}
    return [made[held.tensor] for held in sorted(plan.outputs, key=lambda held: _number(plan, held))]


def _number(plan, held):
    return int(plan.logicals[plan.tensors[held.tensor].logical].name.removeprefix("result "))
