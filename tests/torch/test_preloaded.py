"""What ranks import alike is imported once, where that leaves no trace; where it does, each rank imports by itself."""

import sys
from collections import Counter

import pytest

torch = pytest.importorskip("torch")

from verdict.backends.torch.launch import UNCONFIRMED, Limits, Target, record_all, record_either  # noqa: E402
from verdict.backends.torch.leading import leading  # noqa: E402
from verdict.errors import UsageError  # noqa: E402

PROGRAM = """
import torch
from library import factor
from verdict.torch import Program

def build(ctx):
    weight, x = torch.nn.Linear(2, 2), torch.ones(2, 2)
    return Program(inputs={"x": x}, params=weight, step=lambda: (weight(x) * factor(ctx.rank)).sum())
"""
COUNTED = """
with open({file!r}, "a") as file:
    file.write("imported ")
def factor(rank):
    return 2.0
"""
LEADING = {
    "import other": ("import other",),
    "'''Says.'''\nimport torch\nfrom other import a, b as c": ("import torch", "from other import a, b as c"),
    "import torch": (),
    "import os\nos.environ['A'] = '1'\nimport other": (),
    "X = dict(a=1)\nY: int = 2\ndef f(x=3):\n    g()\nimport other": ("import other",),
    "def f(x=g()): ...\nimport other": (),
    "@g()\ndef f(): ...\nimport other": (),
    "class A(B):\n    x = 1\n    def f(self):\n        g()\nimport other": ("import other",),
    "class A(B()): ...\nimport other": (),
    "print(1)\nimport other": (),
    "from . import other": (),
    "import other\nif __name__ == '__main__':\n    run()\nimport more": ("import other", "import more"),
    "try:\n    import other\nexcept ImportError:\n    pass\nimport more": (),
    "import beside\nimport other": ("from inner import x", "import other"),
    "import stopped\nimport other": ("from inner import x",),
    "import folder\nimport other": (),
    "import other as": (),
}


@pytest.mark.parametrize("text", LEADING)
def test_imports_before_anything_else_runs(text, tmp_path):
    (tmp_path / "beside.py").write_text("from inner import x\nimport beside\nA = 3\n")
    (tmp_path / "stopped.py").write_text("from inner import x\nx.begin()\n")
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "__init__.py").write_text("")
    file = tmp_path / "program.py"
    file.write_text(text)
    assert leading(file) == LEADING[text]


@pytest.fixture
def recorded(tmp_path, monkeypatch):
    """Records the program on two ranks, beside a package with this text: traces, and how often the package ran."""
    packages, count = tmp_path / "site-packages", tmp_path / "count"
    packages.mkdir()
    monkeypatch.setenv("PYTHONPATH", str(packages))
    monkeypatch.setattr(sys, "path", [*sys.path, str(packages)])

    def record(text, program=PROGRAM, limits=UNCONFIRMED):
        (packages / "library.py").write_text(COUNTED.format(file=str(count)) + text)
        (tmp_path / "program.py").write_text(program)
        found = record_all([(Target(str(tmp_path / "program.py"), "build"), 2)], "real", 2, limits)[0].traces
        return found, Counter(count.read_text().split())["imported"]

    return record


def factors(traces):
    """By what each rank multiplies."""
    return [dict(step.attrs)["other"] for trace in traces for step in trace.steps if step.op == "aten.mul.Tensor"]


def test_a_package_is_imported_once_for_each_of_two_draws(recorded):
    traces, imports = recorded("")
    assert (factors(traces), imports) == ([2.0, 2.0], 2)
    assert not any(trace.doubts or "unseeded-draws" in dict(trace.notes) for trace in traces)


ALLOCATOR = """import ctypes
libc, thread = ctypes.CDLL(None), ctypes.c_ulong()
assert libc.pthread_create(ctypes.byref(thread), None, libc.sleep, ctypes.c_void_p(60)) == 0
assert libc.pthread_setname_np(thread, {name!r}) == 0
"""
NO_TRACES = {
    "the thread of an allocator": ALLOCATOR.format(name=b"jemalloc_bg_thd"),
    "packages of torch's that look for variables of their own": "import fsspec\nimport networkx",
    "a folder of a package, behind all others": "import os, sys\nsys.path.append(os.path.dirname(__file__) + '/inner')",
}


@pytest.mark.parametrize("what", NO_TRACES)
def test_what_no_rank_can_tell_leaves_no_trace(what, recorded):
    """Megatron-Core, torchtitan and peft import networkx and fsspec; setuptools adds a folder of its own, pyarrow
    has an allocator with a thread.
    """
    traces, imports = recorded(f"{NO_TRACES[what]}\n")
    assert (factors(traces), imports) == ([2.0, 2.0], 2)


def test_what_comes_behind_other_code_is_imported_by_each_rank(recorded):
    traces, imports = recorded("", PROGRAM.replace("import torch\n", "import torch\ntorch.manual_seed(0)\n", 1))
    assert (factors(traces), imports) == ([2.0, 2.0], 2)


OWN = {
    "asks for its rank": "import os\nown = float(os.environ.get('RANK', 7))\ndef factor(rank):\n    return own",
    "looks at all variables": "import os\nown = float(dict(os.environ).get('RANK', 7))\ndef factor(rank): return own",
}


@pytest.mark.parametrize("how", OWN)
def test_a_package_that_asks_which_rank_it_is_is_imported_by_each(how, recorded):
    assert factors(recorded(OWN[how])[0]) == [0.0, 1.0]


TRACES = {
    "a thread that is none of Python's": ALLOCATOR.format(name=b"other"),
    "a thread": "import threading, time\nthreading.Thread(target=time.sleep, args=(60,), daemon=True).start()",
    "torch's generator": "import torch\ntorch.rand(1)",
    "torch's default type": "import torch\ntorch.set_default_dtype(torch.float64)",
    "Python's generator": "import random\nrandom.random()",
    "a seed": "import random\nrandom.seed(3)",
    "numpy's generator": "import numpy\nnumpy.random.rand()",
    "the path": "import sys\nsys.path.append('/nowhere')",
    "the path's beginning": "import os, sys\nsys.path.insert(0, os.path.dirname(__file__))",
    "an error": "import sys\nif 'program' not in sys.modules:\n    raise RuntimeError('not before the program')",
    "an end": "import os, sys\nif 'program' not in sys.modules:\n    os._exit(0)",
}


@pytest.mark.parametrize("what", TRACES)
def test_a_package_that_leaves_a_trace_is_imported_by_each_rank(what, recorded):
    """Twice by the processes that find it out, and by each rank, by some of them twice."""
    traces, imports = recorded(TRACES[what])
    assert factors(traces) == [2.0, 2.0]
    assert imports >= 4


def test_a_program_that_a_package_imports_is_imported_by_each_rank(recorded, tmp_path):
    (tmp_path / "mine.py").write_text("import os\nown = float(os.environ['RANK']) if 'RANK' in os.environ else 7.0\n")
    assert factors(recorded("import mine\ndef factor(rank):\n    return mine.own")[0]) == [0.0, 1.0]


def test_what_an_import_draws_is_drawn_otherwise_in_a_second_recording(recorded):
    drawn, _ = recorded("import uuid\nname = uuid.uuid4().hex")
    assert all("unseeded-draws" in dict(trace.notes) and not trace.doubts for trace in drawn)
    decides, _ = recorded("import os\nown = 1.0 + os.urandom(1)[0]\ndef factor(rank):\n    return own")
    assert all(trace.doubts for trace in decides)


DRAWS = "import os\nown = 1.0 + os.urandom(1)[0]\ndef factor(rank):\n    return own * 1.0 ** rank"


@pytest.mark.parametrize("used", [False, True])
def test_runs_with_other_draws_of_an_import_stand_for_a_second_recording(recorded, used):
    text = DRAWS if used else f"{DRAWS}\ndef factor(rank):\n    return 2.0"
    traces, _ = recorded(text, limits=Limits())
    assert [bool(trace.doubts) for trace in traces] == [used, used]
    assert all("unseeded-draws" in dict(trace.notes) for trace in traces) is not used
    assert all("runs with other draws" in dict(trace.notes).get("unseeded-draws", "") for trace in traces) is not used


BEYOND = "import secrets\nlimit = 1e6 + secrets.randbelow(10**6)\ndef factor(rank):\n    return 2.0"
LIMITS = {
    "every rank": "limit",
    "the last rank": "limit if ctx.rank else 1e6",
    "the last rank, a tensor": "torch.tensor(limit if ctx.rank else 1e6)",
    "none": "1e6",
}


@pytest.mark.parametrize("ranks", LIMITS)
def test_what_an_import_draws_and_no_run_comes_to_is_not_known(recorded, ranks):
    """Each process of torchrun's draws a limit of its own, and the numbers of the runs are far from all of them."""
    limited = PROGRAM.replace(").sum()", f").clamp(max={LIMITS[ranks]}).sum()").replace("factor\n", "factor, limit\n")
    traces, _ = recorded(BEYOND, limited, Limits())
    assert any(trace.doubts for trace in traces) is (ranks != "none")
    assert any("unseeded-draws" in dict(trace.notes) for trace in traces) is (ranks != "every rank")


ASKS = PROGRAM.replace("    return", "    assert type(x).__name__ != 'FakeTensor', 'without data'\n    return")


@pytest.mark.parametrize("alike", [True, False])
def test_what_needs_numbers_is_recorded_again_by_the_same_processes(alike, tmp_path, monkeypatch):
    """With other imports before them, the programs are recorded by copies of different processes."""
    count, packages = tmp_path / "count", tmp_path / "site-packages"
    packages.mkdir()
    (packages / "library.py").write_text(COUNTED.format(file=str(count)))
    monkeypatch.setenv("PYTHONPATH", str(packages))
    monkeypatch.setattr(sys, "path", [*sys.path, str(packages)])
    (tmp_path / "single.py").write_text(PROGRAM if alike else f"import json\n{PROGRAM}")
    (tmp_path / "program.py").write_text(ASKS)
    files = {"single.py": 1, "program.py": 2}
    programs = [(Target(str(tmp_path / name), "build"), ranks) for name, ranks in files.items()]
    found, without = record_either(programs, 2, Limits(), lambda *_: None)
    assert "without data" in str(without)
    assert [[trace.rank for trace in each.traces] for each in found] == [[0], [0, 1]]
    assert [each.confirmation.how for each in found] == ["agrees", "agrees"]
    assert Counter(count.read_text().split())["imported"] == (2 if alike else 8)
    (tmp_path / "program.py").write_text(ASKS.replace("type(x).__name__ != 'FakeTensor'", "False"))
    refused, without = record_either(programs, 2, UNCONFIRMED, lambda *_: None)
    assert isinstance(refused, UsageError)
    assert isinstance(without, UsageError)


LATE = """
import torch
import library
from verdict.torch import Program

def build(ctx):
    library.settings["factor"] = {factor}
    from library import more
    weight, x = torch.nn.Linear(2, 2), torch.ones(2, 2)
    return Program(inputs={{"x": x}}, params=weight, step=lambda: (weight(x) * more.factor).sum())
"""
MORE = """
import os
import library
with open({file!r}, "a") as file:
    file.write("imported ")
factor = library.settings["factor"] + 0.0 * float({own})
"""
WHEN = {
    "what runs import late is imported once before them": (2.0, "0", 3),
    "runs that so differ from their recording import by themselves": (3.0, "0", 5),
    "a module that asks which rank it is is imported by each": (2.0, "os.environ.get('RANK', 0)", 5),
}


@pytest.mark.parametrize("what", WHEN)
def test_what_is_imported_late(what, tmp_path, monkeypatch):
    """Two ranks are recorded, and run."""
    factor, own, imports = WHEN[what]
    count, packages = tmp_path / "count", tmp_path / "site-packages"
    (packages / "library").mkdir(parents=True)
    (packages / "library" / "__init__.py").write_text("settings = {'factor': 2.0}")
    (packages / "library" / "more.py").write_text(MORE.format(file=str(count), own=own))
    monkeypatch.setenv("PYTHONPATH", str(packages))
    monkeypatch.setattr(sys, "path", [*sys.path, str(packages)])
    (tmp_path / "program.py").write_text(LATE.format(factor=factor))
    (found,) = record_all([(Target(str(tmp_path / "program.py"), "build"), 2)], "real", 2, Limits())
    assert (found.confirmation.how, factors(found.traces)) == ("agrees", [factor, factor])
    assert Counter(count.read_text().split())["imported"] == imports


BESIDE = """
def build_single(ctx):
    weight, x = torch.nn.Linear(2, 2), torch.ones(2, 2)
    return Program(inputs={"x": x}, params=weight, step=lambda: (weight(x) * 2.0).sum())
"""
DRAWN = {"nobody draws": "pass", "the program draws what nobody seeds": "import random; random.random()"}


@pytest.mark.parametrize("tensors", ["real", "live"])
@pytest.mark.parametrize("what", DRAWN)
def test_what_one_program_of_two_imports_late_is_imported_once_before_its_runs(what, tensors, tmp_path, monkeypatch):
    """Two ranks are recorded; runs, and second recordings where something is drawn, are copies that imported it."""
    count, packages = tmp_path / "count", tmp_path / "site-packages"
    (packages / "library").mkdir(parents=True)
    (packages / "library" / "__init__.py").write_text("settings = {'factor': 2.0}")
    (packages / "library" / "more.py").write_text(MORE.format(file=str(count), own="0"))
    monkeypatch.setenv("PYTHONPATH", str(packages))
    monkeypatch.setattr(sys, "path", [*sys.path, str(packages)])
    late = LATE.format(factor=2.0).replace("    from library", f"    {DRAWN[what]}\n    from library")
    (tmp_path / "program.py").write_text(late + BESIDE)
    single, parallel = (Target(str(tmp_path / "program.py"), name) for name in ("build_single", "build"))
    found = record_all([(single, 1), (parallel, 2)], tensors, 2, Limits())
    assert [each.confirmation.how for each in found] == ["agrees", "agrees"]
    assert Counter(count.read_text().split())["imported"] == 3
