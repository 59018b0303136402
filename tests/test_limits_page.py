"""docs/limits.md holds every limit of the code, each with its reason."""

import importlib.util
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def table():
    spec = importlib.util.spec_from_file_location("limits_table", ROOT / "scripts" / "limits_table.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules["limits_table"] = module
    spec.loader.exec_module(module)
    return module


def test_the_page_is_up_to_date(table):
    assert table.main(["--check"]) == 0, "run python scripts/limits_table.py"


def test_limits_are_found_with_their_reasons(table):
    found = {(number.file, number.name): number for number in table.limits()}
    steps = found["verdict/phases/numbers.py", "MORE_SEEDS, FEW"]
    assert steps.value == "range(3, 25), 2_000"
    assert steps.reason.startswith("Where all of these agree")


def test_a_number_without_a_reason_is_an_error(table, tmp_path, monkeypatch):
    room = tmp_path / "verdict"
    room.mkdir()
    monkeypatch.setattr(table, "ROOT", tmp_path)
    (room / "one.py").write_text('MOST = 3\n"""Of them."""\nHALF = 0.5\nNAMES = ("a",)\n')
    assert [(number.name, number.reason) for number in table.limits()] == [("MOST", "Of them.")]
    (room / "two.py").write_text("LEAST = -1e-9\n")
    with pytest.raises(ValueError, match=r"without a reason below them: verdict/two.py: LEAST"):
        table.limits()
