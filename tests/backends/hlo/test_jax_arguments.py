"""Arguments that a program does not use, which jax would leave out: they are compared by their places."""

import pytest

pytest.importorskip("jax", reason="it compiles the programs; it is not installed")

from verdict.jax import verify
from verdict.report import Verdict

PROGRAM = """
import jax
import jax.numpy as jnp
from jax.sharding import AxisType, NamedSharding
from jax.sharding import PartitionSpec as P

GIVEN = tuple(jax.ShapeDtypeStruct(shape, jnp.float32) for shape in ((3, 3), (8, 3), (8, 3)))
SPECS = (P(), P("d"), P("d"))


def build_single():
    return jax.jit(lambda w, x, y: x @ w), GIVEN


def build(of=lambda w, x, y: x @ w):
    mesh = jax.make_mesh((4,), ("d",), axis_types=(AxisType.Auto,))
    mapped = jax.shard_map(of, mesh=mesh, in_specs=SPECS, out_specs=P("d"))
    return jax.jit(mapped, in_shardings=tuple(NamedSharding(mesh, spec) for spec in SPECS)), GIVEN


def build_other():
    return build(lambda w, x, y: y @ w)


def build_reads_all():
    return build(lambda w, x, y: x @ w + 0 * y)


def build_other_beside():
    return build(lambda w, x, y: y @ w + 0 * x)
"""
ANSWERS = {
    "build": Verdict.PROVED,
    "build_other": Verdict.REFUTED,
    "build_reads_all": Verdict.PROVED,
    "build_other_beside": Verdict.REFUTED,
}


@pytest.mark.parametrize("function", ANSWERS)
def test_an_argument_that_one_program_alone_uses_is_no_other_one(function, tmp_path):
    file = tmp_path / "program.py"
    file.write_text(PROGRAM)
    assert verify(f"{file}:{function}", devices=4).verdict is ANSWERS[function]
