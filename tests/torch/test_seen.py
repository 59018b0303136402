"""What a program is seen to depend on: all of it is told, and its change is noticed; what cannot be is told, too."""

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

from verdict.backends.torch.evidence import NEVER, changed, told_in  # noqa: E402
from verdict.backends.torch.launch import environment_of  # noqa: E402

ROOT = Path(__file__).resolve().parents[2]
WATCHED = """
import importlib, sys
for name in sys.argv[2:]:
    importlib.import_module(name)
from pathlib import Path
from verdict.backends.torch import environment, seen
from verdict.backends.torch.files import module_in
environment.enter(0, 1)
seen.watch(Path(sys.argv[1]))
module_in("program.py")
"""


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder").mkdir()
    (tmp_path / "data.txt").write_text("1")
    return tmp_path


def seen(here, program, *before, **variables):
    """What the program was seen to depend on, run in a process of its own, which imported the modules `before`."""
    (here / "program.py").write_text(program)
    folder = here.parent / f"{here.name}-told" / "seen"
    folder.parent.mkdir(exist_ok=True)
    environment = {**environment_of(), "PYTHONPATH": str(ROOT), **variables}
    command = [sys.executable, "-c", WATCHED, str(folder), *before]
    subprocess.run(command, env=environment, check=True, cwd=here)
    lines, processes = told_in(folder)
    assert processes == 1
    for file in folder.iterdir():
        file.unlink()
    return lines


def write(name, text):
    path = Path(name)
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)


CHANGES = {
    "its own file": ("a = 1", lambda: write("program.py", "a = 2")),
    "a module beside it": ("import helper", lambda: write("helper.py", "b = 3")),
    "a module of a package": ("import pack.inner", lambda: write("pack/inner.py", "b = 3")),
    "a module that was not there": ("try:\n    import later\nexcept ImportError:\n    pass",
                                    lambda: write("later.py", "")),
    "one that now stands before it": ("import pack.inner, helper", lambda: write("helper/__init__.py", "b = 2")),
    "a file that it reads": ("open('data.txt').read()", lambda: write("data.txt", "2")),
    "a file that it maps": ("import numpy\nnumpy.memmap('data.txt', mode='r')", lambda: write("data.txt", "2")),
    "a file by its number": ("import os\nos.read(os.open('data.txt', os.O_RDONLY), 9)", lambda: write("data.txt", "2")),
    "a file that is there": ("import os\nos.path.exists('data.txt')", lambda: os.unlink("data.txt")),
    "a file that is not there": ("from pathlib import Path\nPath('other').is_file()", lambda: write("other", "")),
    "what a folder holds": ("import os\nos.listdir('folder')", lambda: write("folder/x", "")),
    "what a pattern finds": ("import glob\nglob.glob('folder/*')", lambda: write("folder/x", "")),
}  # fmt: skip


@pytest.mark.parametrize("what", CHANGES)
def test_a_change_of_what_was_seen_is_noticed(here, what):
    program, change = CHANGES[what]
    write("helper.py", "b = 2")
    write("pack/__init__.py", "")
    write("pack/inner.py", "b = 2")
    lines = seen(here, program)
    assert not [line for line in lines if line[0] == NEVER]
    assert not changed(lines, environment_of())
    write("unrelated.txt", "x")
    assert not changed(lines, environment_of()), "what was not looked at does not count"
    change()
    assert changed(lines, environment_of())


@pytest.mark.parametrize(
    "read", ["os.environ.get('SIZE')", "os.getenv('SIZE')", "'SIZE' in os.environ", "os.environb.get(b'SIZE')"]
)
@pytest.mark.parametrize("began", [{}, {"SIZE": "1"}])
def test_a_variable_that_is_read_counts_and_no_other(here, read, began):
    lines = seen(here, f"import os\n{read}", **began)
    now = {**environment_of(), "PYTHONPATH": str(ROOT), **began}
    assert not changed(lines, now)
    assert not changed(lines, {**now, "OTHER": "1"})
    assert changed(lines, {**now, "SIZE": "2"})
    assert ("1" in began.values()) == bool(changed(lines, {k: v for k, v in now.items() if k != "SIZE"}))


def test_all_variables_count_where_all_are_read(here):
    lines = seen(here, "import os\ndict(os.environ)")
    assert changed(lines, {**environment_of(), "PYTHONPATH": str(ROOT), "OTHER": "1"})


NEVERS = {
    "the clock": "import time\ntime.time()",
    "a clock by its name": "from time import perf_counter\nperf_counter()",
    "the date": "import datetime\ndatetime.datetime.now()",
    "the host": "import platform\nplatform.node()",
    "the release": "import platform\nplatform.platform()",
    "the cores": "import os\nos.cpu_count()",
    "a process": "import subprocess\nsubprocess.run(['true'])",
    "a shell": "import os\nos.system('true')",
    "a fork": "import os\nif not os.fork():\n    os._exit(0)\nos.wait()",
    "a library": "import ctypes\nctypes.CDLL(None)",
    "native code": "import z3",
    "the system's files": "open('/proc/self/stat').read()",
    "random bytes of the system": "open('/dev/urandom', 'rb').read(1)",
    "the age of a file": "import os\nos.path.getmtime('data.txt')",
    "the size of a file": "import os\nos.stat('data.txt').st_size",
    "a database": "import sqlite3\nsqlite3.connect('x.db')",
    "a file that torch reads by itself": "import torch\ntorch.from_file('data.txt', size=1, dtype=torch.uint8)",
}


@pytest.mark.parametrize("what", NEVERS)
def test_what_cannot_be_looked_at_again_is_told(here, what):
    lines = seen(here, NEVERS[what])
    assert [line for line in lines if line[0] == NEVER]
    assert changed(lines, environment_of())


def test_the_network_is_told(here):
    with socket.create_server(("127.0.0.1", 0)) as server:
        lines = seen(here, f"import socket\nsocket.create_connection(('127.0.0.1', {server.getsockname()[1]}))")
    assert "it uses the network" in [what for kind, what, _ in lines if kind == NEVER]


LOADS = {
    "a compiled module": "torch.jit.load('f.pt')",
    "a package": "from torch.package import PackageImporter\nPackageImporter('f.pt').file_structure()",
    "an archive": "torch._C.PyTorchFileReader('f.pt')",
    "what is stored": "torch.load('f.pt', weights_only=False)",
    "what is mapped": "torch.load('f.pt', weights_only=False, mmap=True)",
}


def save_package(size):
    with torch.package.PackageExporter("f.pt") as package:
        package.save_pickle("data", "x.pkl", size)


SAVES = {
    "a compiled module": lambda size: torch.jit.script(torch.nn.Linear(size, 2)).save("f.pt"),
    "a package": save_package,
}


@pytest.mark.parametrize("what", LOADS)
def test_a_file_that_torch_opens_by_itself_counts(here, what):
    save = SAVES.get(what, lambda size: torch.save(torch.zeros(size), "f.pt"))
    save(2)
    lines = seen(here, f"import torch\n{LOADS[what]}")
    assert not changed(lines, {**environment_of(), "PYTHONPATH": str(ROOT)})
    save(3)
    assert changed(lines, {**environment_of(), "PYTHONPATH": str(ROOT)})


def test_a_library_that_torch_loads_is_told(here):
    own = Path(torch.__file__).parent / "lib" / "libtorch_global_deps.so"
    (here / "own.so").write_bytes(own.read_bytes())
    lines = seen(here, "import torch\ntorch.ops.load_library('own.so')")
    assert [line for line in lines if line[0] == NEVER]
    lines = seen(here, f"import torch\ntorch.ops.load_library({str(own)!r})")
    assert not [line for line in lines if line[0] == NEVER]


def test_a_file_that_a_program_writes_and_reads_is_its_own_matter(here):
    """It is what it was, or the program is recorded again; writing alone is no dependence."""
    assert not changed(seen(here, "open('out.txt', 'w').write('1')"), environment_of())
    lines = seen(here, "open('new.txt', 'w').write('1')\nopen('new.txt').read()")
    assert not changed(lines, environment_of())
    os.unlink("new.txt")
    assert changed(lines, environment_of())


def test_what_python_torch_and_verdict_read_is_not_told(here):
    program = "import torch, numpy, platform, decimal, verdict.torch\nplatform.system()\ntorch.nn.Linear(2, 2)"
    lines = seen(here, program, "verdict.backends.torch.record")
    assert not changed(lines, {**environment_of(), "PYTHONPATH": str(ROOT)})
    assert [line[:2] for line in lines if line[0] == "file"] == [("file", str(here / "program.py"))]
