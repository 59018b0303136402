"""shard_map programs as jax traced them: right ones are PROVED, wrong ones REFUTED at the line of the program."""

import pytest

pytest.importorskip("jax", reason="it traces the programs; it is not installed")

from verdict.backends.jax.command import pairs_of_program
from verdict.backends.jax.launch import JAXPR
from verdict.errors import UsageError
from verdict.options import Options
from verdict.pipeline import verify
from verdict.report import Verdict

PROGRAM = """
import jax
import jax.numpy as jnp
from jax.sharding import AxisType
from jax.sharding import PartitionSpec as P

mesh = jax.make_mesh((2, 2), ("d", "m"), axis_types=(AxisType.Auto,) * 2)
GIVEN = tuple(jax.ShapeDtypeStruct(shape, jnp.float32) for shape in {shapes})


def single(*given):
    {single}


def local(*given):
    {local}


def build_single():
    return jax.jit(single), GIVEN


def build():
    mapped = jax.shard_map(local, mesh=mesh, in_specs={into}, out_specs={out}, check_vma=False)
    return jax.jit({outer}(mapped)), GIVEN
"""


@pytest.fixture
def report_of(tmp_path):
    """The report on a program, and the last line of what a device does. outer: what is done with shard_map's result."""

    def of(shapes, into, out, single, local, outer=""):
        single, local = ("\n    ".join(["x, *y = given", *text.split("; ")]) for text in (single, local))
        file = tmp_path / "program.py"
        text = PROGRAM.format(shapes=shapes, into=into, out=out, single=single, local=local, outer=outer)
        file.write_text(text)
        *_, pair = pairs_of_program(str(file), 4, door=JAXPR)
        report = verify(*pair, Options())
        return report, text[: text.index("def build_single")].rstrip().count("\n") + 1

    return of


ONE, TWO = "((4, 8),)", "((4, 8), (8, 4))"
SHARDED = "(P('d', 'm'),)"
CASES = {
    "psum": (TWO, "(P('d', 'm'), P('m', None))", "P('d')", "return x @ y[0]",
             "return jax.lax.psum(x @ y[0], 'm')", "return jax.lax.psum(x @ y[0], 'd')"),
    "psum over both axes": (
        ONE, SHARDED, "P()", "return jnp.sum(x * x)",
        "return jax.lax.psum(jnp.sum(x * x), ('d', 'm'))", "return jax.lax.psum(jnp.sum(x * x), 'd')"),
    "pmean": (ONE, "(P('d', None),)", "P()", "return jnp.mean(x)",
              "return jax.lax.pmean(jnp.mean(x), 'd')", "return jax.lax.psum(jnp.mean(x), 'd')"),
    "pmax": (ONE, SHARDED, "P('d')", "return jnp.max(x, 1)",
             "return jax.lax.pmax(jnp.max(x, 1), 'm')", "return jax.lax.pmin(jnp.max(x, 1), 'm')"),
    "all_gather": (ONE, SHARDED, "P('d')", "return jnp.cumsum(x, 1)",
                   "return jnp.cumsum(jax.lax.all_gather(x, 'm', axis=1, tiled=True), 1)",
                   "return jnp.cumsum(jax.lax.all_gather(x, 'd', axis=1, tiled=True), 1)"),
    "all_gather that adds a dimension": (
        ONE, SHARDED, "P('d')", "return x[:, :4] - x[:, 4:]",
        "a = jax.lax.all_gather(x, 'm'); return a[0] - a[1]", "a = jax.lax.all_gather(x, 'm'); return a[1] - a[0]"),
    "psum_scatter": (TWO, "(P(None, 'm'), P('m', None))", "P(None, 'm')", "return x @ y[0]",
                     "return jax.lax.psum_scatter(x @ y[0], 'm', scatter_dimension=1, tiled=True)",
                     "return jax.lax.psum_scatter(x @ y[0], 'd', scatter_dimension=1, tiled=True)"),
    "psum_scatter that takes a dimension": (
        TWO, "(P(None, 'm'), P('m', None))", "P('m')", "return (x @ y[0])[:2].reshape(-1)",
        "return jax.lax.psum_scatter((x @ y[0])[:2], 'm')", "return jax.lax.psum_scatter((x @ y[0])[1:3], 'm')"),
    "ppermute": (
        ONE, SHARDED, "P('d', 'm')", "return jnp.roll(x, 4, 1)",
        "return jax.lax.ppermute(x, 'm', [(0, 1), (1, 0)])", "return jax.lax.ppermute(x, 'd', [(0, 1), (1, 0)])"),
    "ppermute into nothing": (
        ONE, SHARDED, "P('d', 'm')", "return jnp.pad(x[:, :4], ((0, 0), (4, 0)))",
        "return jax.lax.ppermute(x, 'm', [(0, 1)])", "return jax.lax.ppermute(x, 'm', [(1, 0)])"),
    "ppermute over axes in another order than the mesh's, whose numbers it takes": (
        ONE, "(P(('m', 'd')),)", "P(('m', 'd'))", "return jnp.roll(x, 1, 0)",
        "return jax.lax.ppermute(x, ('m', 'd'), [(0, 2), (2, 1), (1, 3), (3, 0)])",
        "return jax.lax.ppermute(x, ('m', 'd'), [(0, 1), (1, 2), (2, 3), (3, 0)])"),
    "all_to_all": (ONE, "(P('m', None),)", "P(None, 'm')", "return x * 2",
                   "return 2 * jax.lax.all_to_all(x, 'm', 1, 0, tiled=True)",
                   "return 2 * jax.lax.all_to_all(x, 'd', 1, 0, tiled=True)"),
    "all_to_all that moves a dimension": (
        "((4, 2, 3),)", "(P('m'),)", "P(None, 'm')", "return x + 1",
        "return 1 + jax.lax.all_to_all(x, 'm', 1, 0).reshape(4, 1, 3)",
        "return 1 + jax.lax.all_to_all(x, 'm', 1, 1).reshape(4, 1, 3)"),
    "axis_index": (ONE, SHARDED, "P('d', 'm')", "return x * jnp.arange(4)[:, None]",
                   "return x * (2 * jax.lax.axis_index('d') + jnp.arange(2))[:, None]",
                   "return x * (2 * jax.lax.axis_index('m') + jnp.arange(2))[:, None]"),
    "axis_index over both axes": (
        ONE, "(P(('m', 'd'), None),)", "P(('m', 'd'))", "return x * jnp.arange(4)[:, None]",
        "return x * jax.lax.axis_index(('m', 'd'))", "return x * jax.lax.axis_index(('d', 'm'))"),
    "scan": ("((3, 4, 4), (4, 4))", "(P(None, None, 'm'), P('d', None))", "P('d')",
             "return jax.lax.scan(lambda h, w: (jnp.tanh(h @ w), None), y[0], x)[0]",
             "f = lambda h, w: (jax.lax.all_gather(jnp.tanh(h @ w), 'm', axis=1, tiled=True), None); "
             "return jax.lax.scan(f, y[0], x)[0]",
             "f = lambda h, w: (jax.lax.all_gather(jnp.tanh(h @ w), 'm', axis=1, tiled=True), None); "
             "return jax.lax.scan(f, y[0], x, reverse=True)[0]"),
    "fori_loop": (ONE, SHARDED, "P()", "return jnp.sum(x) * 8",
                  "s = jax.lax.psum(jnp.sum(x), ('d', 'm')); return jax.lax.fori_loop(0, 3, lambda i, s: s + s, s)",
                  "s = jax.lax.psum(jnp.sum(x), ('d', 'm')); return jax.lax.fori_loop(0, 2, lambda i, s: s + s, s)"),
    "cond": (ONE, SHARDED, "P('d', 'm')", "return jnp.concatenate([x[:2] * 2, x[2:] - 1])",
             "return jax.lax.cond(jax.lax.axis_index('d') == 0, lambda x: x * 2, lambda x: x - 1, x)",
             "return jax.lax.cond(jax.lax.axis_index('d') == 1, lambda x: x * 2, lambda x: x - 1, x)"),
    "cond on data": (
        ONE, SHARDED, "P('d', 'm')", "return jax.lax.cond(jnp.sum(x) > 0, lambda x: x * 2, lambda x: -x, x)",
        "s = jax.lax.psum(jnp.sum(x), ('d', 'm')); return jax.lax.cond(s > 0, lambda x: x * 2, lambda x: -x, x)",
        "s = jax.lax.psum(jnp.sum(x), 'm'); return jax.lax.cond(s > 0, lambda x: x * 2, lambda x: -x, x)"),
    "switch on data": (
        "((4, 8), (3,))", "(P('d', 'm'), P())", "P('d', 'm')",
        "f = [lambda x: x, lambda x: x * 2, lambda x: -x]; return jax.lax.switch(jnp.argmax(y[0]), f, x)",
        "f = [lambda x: x, lambda x: x + x, lambda x: 0 - x]; return jax.lax.switch(jnp.argmax(y[0]), f, x)",
        "f = [lambda x: x, lambda x: x * 2, lambda x: -x]; return jax.lax.switch(jnp.argmin(y[0]), f, x)"),
    "variance": (ONE, "(P('d', None),)", "P()", "return jnp.var(x, 0)",
                 "m = jax.lax.pmean(jnp.mean(x, 0), 'd'); return jax.lax.pmean(jnp.mean((x - m) ** 2, 0), 'd')",
                 "return jax.lax.pmean(jnp.var(x, 0), 'd')"),
    "remat": (ONE, SHARDED, "P('d', 'm')", "return jax.grad(lambda x: jnp.sum(jnp.sin(jnp.sin(x)) * x))(x)",
              "f = jax.checkpoint(lambda x: jnp.sin(jnp.sin(x))); return jax.grad(lambda x: jnp.sum(f(x) * x))(x)",
              "f = jax.checkpoint(lambda x: jnp.sin(x)); return jax.grad(lambda x: jnp.sum(f(x) * x))(x)"),
    "a backward by hand": (
        ONE, SHARDED, "P('d', 'm')", "return jax.grad(lambda x: jnp.sum(jnp.tanh(x) ** 2))(x)",
        "t = jnp.tanh; f = jax.custom_vjp(t); f.defvjp(lambda x: (t(x), t(x)), lambda y, g: (g * (1 - y * y),)); "
        "return jax.grad(lambda x: jnp.sum(f(x) ** 2))(x)",
        "t = jnp.tanh; f = jax.custom_vjp(t); f.defvjp(lambda x: (t(x), t(x)), lambda y, g: (g * (1 - y),)); "
        "return jax.grad(lambda x: jnp.sum(f(x) ** 2))(x)"),
}  # fmt: skip
"""name -> shapes, specs of arguments and of the result, the program for one device, the right one, a wrong one."""


@pytest.mark.parametrize("name", CASES)
def test_a_right_program_is_proved(report_of, name):
    shapes, into, out, single, right, _ = CASES[name]
    assert report_of(shapes, into, out, single, right)[0].verdict is Verdict.PROVED


@pytest.mark.parametrize("name", CASES)
def test_a_wrong_program_is_refuted(report_of, name):
    shapes, into, out, single, _, wrong = CASES[name]
    assert report_of(shapes, into, out, single, wrong)[0].verdict is Verdict.REFUTED


BUGS = {
    "psum is left out": ("x @ y[0]", "missing-reduction"),
    "psum over the wrong axis": ("jax.lax.psum(x @ y[0], 'd')", "wrong-group"),
    "pmean for psum": ("jax.lax.pmean(x @ y[0], 'm')", "wrong-scale"),
}


@pytest.mark.parametrize("name", BUGS)
def test_a_mistake_is_named_with_its_line(report_of, name):
    wrong, code = BUGS[name]
    shapes, into, out, *_ = CASES["psum"]
    report, line = report_of(shapes, into, out, "return jnp.tanh(x @ y[0])", f"return jnp.tanh({wrong})")
    assert report.verdict is Verdict.REFUTED
    first = report.findings[0]
    assert first.code == code
    assert f"program.py:{line} " in f"{first.title} {first.where}"


def test_a_mistake_in_a_module_that_the_file_imports_is_named_with_its_line_there(report_of, tmp_path):
    (tmp_path / "layers.py").write_text("import jax\n\n\ndef product(x, y):\n    return jax.lax.pmean(x @ y, 'm')\n")
    shapes, into, out, *_ = CASES["psum"]
    found = f"import sys; sys.path.append({str(tmp_path)!r}); from layers import product"
    report, _ = report_of(shapes, into, out, "return jnp.tanh(x @ y[0])", f"{found}; return jnp.tanh(product(x, y[0]))")
    first = report.findings[0]
    assert first.code == "wrong-scale"
    assert "layers.py:5 " in f"{first.title} {first.where}"


def test_a_gradient_outside_is_proved(report_of):
    single = "return jax.grad(lambda x: jnp.sum(jnp.tanh(x @ y[0]) ** 2))(x)"
    local = "return jax.lax.psum(jnp.sum(jnp.tanh(x @ y[0]) ** 2), 'd')"
    report, _ = report_of(TWO, "(P('d', None), P())", "P()", single, local, "jax.grad")
    assert report.verdict is Verdict.PROVED


AROUND = {
    "rows that a scan stacks": (
        "jax.lax.scan(lambda h, _: (h + 1, f(h)), x, None, length=2)[1]",
        "return jnp.stack([x * 2, (x + 1) * 2])",
    ),
    "what a scan carries": ("jax.lax.fori_loop(0, 2, lambda _, h: f(h), x)", "return x * 4"),
    "what a while carries": (
        "jax.lax.while_loop(lambda s: s[0] < 2, lambda s: (s[0] + 1, f(s[1])), (0, x))[1]",
        "return x * 4",
    ),
    "a branch": ("jax.lax.switch(jnp.int32(1), (lambda x: x, f), x)", "return x * 2"),
}
"""What is written around a shard_map f that hands on parts, and what it makes where f doubles."""


@pytest.mark.parametrize("name", AROUND)
def test_parts_that_a_loop_or_branch_hands_on_are_joined(report_of, name):
    around, single = AROUND[name]
    for local, verdict in (("return x * 2", Verdict.PROVED), ("return x * 3", Verdict.REFUTED)):
        report, _ = report_of(ONE, SHARDED, "P('d', 'm')", single, local, f"(lambda f: lambda x: {around})")
        assert report.verdict is verdict


def test_an_unknown_primitive_is_named(report_of):
    one = "return jax.lax.approx_max_k(x, 2)[0]"
    report, _ = report_of(ONE, "(P('d', None),)", "P('d')", one, one)
    assert report.verdict is Verdict.UNKNOWN
    assert any("approx" in f"{each.where} {each.reason}" for each in report.open)


@pytest.mark.parametrize("pairs", ("[(0, 1), (1, 1)]", "[(0, 1), (0, 0)]", "[(0, 2)]"))
def test_a_permutation_that_jax_refuses_is_refused(report_of, pairs):
    with pytest.raises(UsageError, match="a permutation names a device twice, or one that is not there"):
        report_of(ONE, SHARDED, "P('d', 'm')", "return x", f"return jax.lax.ppermute(x, 'm', {pairs})")
