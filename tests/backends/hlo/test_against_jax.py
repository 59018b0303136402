"""Programs of jax through HLO text, run on numbers, against jax itself."""

import numpy as np
import pytest

pytest.importorskip("jax", reason="jax is what the operators are held against; it is not installed")

import jax

from tests.backends.hlo.jax_cases import CASES
from tests.backends.hlo.running import results_of


@pytest.mark.parametrize("name", CASES)
def test_a_program_computes_what_jax_computes(name):
    function, arguments = CASES[name]
    jitted = jax.jit(function)
    expected = jax.tree.leaves(jitted(*arguments))
    found = results_of(jitted.lower(*arguments).as_text("hlo"), arguments)
    for mine, its in zip(found, expected, strict=True):
        np.testing.assert_allclose(np.asarray(mine, np.float64), np.asarray(its, np.float64), rtol=2e-5, atol=2e-5)
