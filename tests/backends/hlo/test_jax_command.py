"""`verdict jax` without jax: a stand-in for it compiles by handing out golden texts."""

import sys
from pathlib import Path

import pytest

from verdict.__main__ import main

TEXTS = Path(__file__).parent / "texts"
STAND_IN = "__version__ = {version!r}\n\n\ndef devices():\n    return list(range({devices}))\n"
PROGRAM = '''
from pathlib import Path

TEXTS = Path({texts!r})


class Lowered:
    def __init__(self, name):
        self.name = name

    def compile(self, compiler_options):
        folder = Path(compiler_options["xla_dump_to"])
        folder.mkdir()
        before = (TEXTS / (self.name + ".before.hlo")).read_text()
        (folder / "module_0001.x.before_optimizations.txt").write_text(before)
        for number, (part, side) in enumerate((("a.before_{p}", "before"), ("{p}.before_b", "after"))):
            text = (TEXTS / (self.name + "." + side + ".hlo")).read_text()
            (folder / ("module_0001.step.000%d.x.after_%s.txt" % (number, part))).write_text(text)


class Traced:
    def __init__(self, of):
        self.of, self._params = of, {"keep_unused": False}

    def lower(self):
        assert self._params["keep_unused"], "arguments that are not used are left out"
        return self.of


class Jitted:
    def lower(self, name):
        return Lowered(name)

    def trace(self, name):
        return Traced(self.lower(name))


def build():
    return Jitted(), ("mlp_dp",)


def build_other():
    return Jitted(), ("roll",)


def build_nothing():
    return 3


def build_wrapped():
    class Wrapped:
        def lower(self, name):
            return Lowered(name)

    return Wrapped(), ("mlp_dp",)


def build_raising():
    raise ValueError("the mesh is too small\\nsecond line")


def build_leaving():
    raise SystemExit(0)


def build_sleeping():
    import time
    time.sleep(60)


def build_dying():
    import os
    os.abort()


def build_unsharded():
    class Whole(Lowered):
        def compile(self, compiler_options):
            return None

    class Plain(Jitted):
        def lower(self, name):
            return Whole(name)

    return Plain(), ("mlp_dp",)
'''


@pytest.fixture
def run(tmp_path, monkeypatch, capsys):
    """Runs `verdict jax` on a function of PROGRAM, with more text behind it, and a version of the stand-in."""

    def of(function="", *options, version="0.10.2", devices=8, more=""):
        (tmp_path / "jax.py").write_text(STAND_IN.format(version=version, devices=devices))
        if not version:
            (tmp_path / "jax.py").write_text("raise ImportError('there is no jax')\n")
        file = tmp_path / "program.py"
        file.write_text(PROGRAM.replace("{p}", "spmd-partitioning").replace("{texts!r}", repr(str(TEXTS))) + more)
        monkeypatch.setenv("PYTHONPATH", str(tmp_path))
        monkeypatch.setattr("sys.argv", ["verdict", "jax", f"{file}{function}", *options])
        with pytest.raises(SystemExit) as ended:
            main()
        return ended.value.code, "".join(capsys.readouterr())

    return of


def test_a_program_is_proved(run):
    status, said = run()
    assert status == 0
    assert "program.py, as written: 1 rank" in " ".join(said.split())


def test_another_program_is_compared_with_where_the_file_has_one(run):
    right = "\n\ndef build_single():\n    return Jitted(), ('mlp_dp',)\n"
    assert run(more=right)[0] == 0
    wrong = right.replace("mlp_dp", "roll")
    status, said = run(more=wrong)
    assert status == 2
    assert "parameters" in said


def test_texts_and_plans_are_kept(run, tmp_path):
    assert run(":build", "-o", str(tmp_path / "kept"))[0] == 0
    kept = {path.name for path in (tmp_path / "kept").iterdir()}
    assert kept >= {"job.json", "dump", "single.plan", "parallel.plan"}


def test_the_passes_are_gone_through(run):
    status, said = run("", "--passes", "-q")
    assert status == 0
    assert "1 modules, none of them refuted" in said


REFUSED = {
    "passes of nothing": ({}, "", ("--door", "jaxpr", "--passes"), "nothing is compiled of what jax traced"),
    "traced alone": ({}, "", ("--door", "jaxpr"), "it has no function build_single"),
    "two ranges": ({}, "", ("--range", "ids", "0", "1", "--range", "ids", "0", "2"), "two ranges of one parameter"),
    "a range of nothing": ({}, "", ("--range", "ids", "0", "1"), "a range is stated of ids"),
    "no jax": ({"version": ""}, "", (), "pip install 'jax>=0.10,<0.11'"),
    "another version": ({"version": "0.4.38"}, "", (), "jax 0.4.38 is not among the versions that were tested: 0.10"),
    "other devices": ({"devices": 4}, "", (), "jax made 4 devices of 8"),
    "no function": ({}, ":elsewhere", (), "it has no function elsewhere"),
    "no pair": ({}, ":build_nothing", (), "it returns no pair of a jitted function and its arguments"),
    "a wrapped one": ({}, ":build_wrapped", (), "what it returns first is not what jax.jit makes"),
    "it raises": ({}, ":build_raising", (), "ValueError: the mesh is too small"),
    "it leaves": ({}, ":build_leaving", (), "SystemExit"),
    "it sleeps": ({}, ":build_sleeping", ("--compile-timeout", "1"), "it is not compiled in 1 s"),
    "it dies": ({}, ":build_dying", (), "its process died"),
    "no partitioner": ({}, ":build_unsharded", (), "XLA did not partition"),
    "no syntax": ({"more": "\n)"}, "", (), "SyntaxError"),
    "no Python": ({}, "", ("--python", "/nowhere/python"), "it cannot be run"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_compiled_is_one_sentence(run, name):
    how, function, options, words = REFUSED[name]
    status, said = run(function, *options, **how)
    assert status == 2
    assert words in said
    assert len(said.strip().splitlines()) == 1


def test_a_user_file_is_never_run_here(run):
    assert run(more="\n\nimport sys\nsys.modules['seen_by_the_test'] = sys\n")[0] == 0
    assert "seen_by_the_test" not in sys.modules
