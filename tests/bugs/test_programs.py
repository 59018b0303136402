"""Bugs as programs: each is recorded, and exactly that is missed which its file says."""

from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.sampled import sampled
from verdict.backends import pairs
from verdict.bugs import judge
from verdict.errors import PlanFileError
from verdict.options import Options, SolverOptions

FOLDER = Path(__file__).resolve().parent
NAMES = [name for name in pairs.names_of_bugs(FOLDER) if name.endswith(".py")]
FAST = Options(solver=SolverOptions(z3=False))


@pytest.mark.slow
@pytest.mark.parametrize("name", sampled(NAMES, 10))
def test_exactly_that_is_missed_which_the_file_says(name):
    found = judge(pairs.load_bug(FOLDER, name), FAST)
    assert found.as_expected, (found.missed, found.twin, found.found)


def test_every_program_has_a_pair():
    programs = sorted((FOLDER / "programs").glob("*.py"))
    known = {name.removesuffix(".py").replace("-", "_") for name in NAMES}
    assert {path.stem for path in programs} == known or find_spec("torch") is None


def test_marked_lines_are_places():
    bug = pairs.load_bug(FOLDER, "minivllm-80.py")
    lines = bug.source
    assert [lines[int(place.partition(":")[2]) - 1].endswith("# place") for place in bug.place[1:]] == [True, True]
    assert (bug.place[0], bug.title) == ("bias", pairs.load(FOLDER, "minivllm-80").title)


def test_a_program_without_a_world_is_refused(tmp_path):
    (tmp_path / "programs").mkdir()
    (tmp_path / "a-1.pair").write_text("# A title\n")
    (tmp_path / "programs" / "a_1.py").write_text('"""A title."""\n')
    with pytest.raises(PlanFileError, match="world"):
        pairs.load_bug(tmp_path, "a-1.py")
