"""Ranks that wait for each other are told from one that waits for a program that it has begun."""

import subprocess
import sys
import time

import pytest

from verdict.backends.torch import processes
from verdict.child import ended, kill

BUSY = "import time\nwhile time.process_time() < 1.5: pass"


def run_program(words):
    return lambda: subprocess.run([sys.executable, "-c", words], check=True)


@pytest.mark.parametrize(
    ("work", "waits"),
    [
        pytest.param(run_program(BUSY), False, id="a compiler runs"),
        pytest.param(run_program("import time; time.sleep(60)"), True, id="what was begun waits, too"),
        pytest.param(lambda: time.sleep(60), True, id="nothing was begun"),
    ],
)
def test_a_process_waits_where_nothing_that_it_has_begun_computes(work, waits, monkeypatch):
    monkeypatch.setattr(processes, "STILL", 0.5)
    child, still = processes.copy(work, 1024), processes.Stillness()
    while not (found := still.lasts({0: child})) and ended(child) is None:
        time.sleep(processes.WAIT)
    if found:
        kill(child)
    assert found == waits
