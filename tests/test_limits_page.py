"""docs/limits.md holds every limit of the code, each with its reason."""

import pytest

from scripts import limits_table as table


def test_the_page_is_up_to_date():
    assert table.PAGE.read_text(encoding="utf-8") == table.page(), "run python scripts/limits_table.py"


def test_limits_are_found_with_their_reasons():
    found = {(number.file, number.name): number for number in table.limits()}
    steps = found["verdict/phases/numbers.py", "MORE_SEEDS, FEW"]
    assert steps.value == "range(3, 25), 2_000"
    assert steps.reason.startswith("Where all of these agree")


def test_a_number_without_a_reason_is_an_error(tmp_path, monkeypatch):
    room = tmp_path / "verdict"
    room.mkdir()
    monkeypatch.setattr(table, "ROOT", tmp_path)
    (room / "one.py").write_text('MOST = 3\n"""Of them."""\nHALF = 0.5\nNAMES = ("a",)\n')
    assert [(number.name, number.reason) for number in table.limits()] == [("MOST", "Of them.")]
    (room / "two.py").write_text("LEAST = -1e-9\n")
    with pytest.raises(ValueError, match=r"without a reason below them: verdict/two.py: LEAST"):
        table.limits()
