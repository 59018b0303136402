"""The command line: repairs as help, the repaired plan in a file, and none where none is wanted."""

from pathlib import Path

from tests.repair.make import pair
from tests.repair.test_generated import no_forward_all_reduce
from tests.test_cli import verdict
from verdict.backends import save


def files(folder: Path) -> tuple[str, str]:
    single, right = pair()
    save(single, str(folder / "single.plan"))
    save(no_forward_all_reduce(right), str(folder / "wrong.plan"))
    return str(folder / "single.plan"), str(folder / "wrong.plan")


def test_a_repair_is_shown_and_the_repaired_plan_is_written_and_proved(tmp_path: Path) -> None:
    single, wrong = files(tmp_path)
    repaired = str(tmp_path / "repaired.plan")
    run = verdict("--sm", single, "--pm", wrong, "--repair", repaired)
    assert run.returncode == 1
    shown = " ".join(run.stdout.split())
    assert "help: all_reduce(sum) over ranks 2, 3 in place of layers.1 (node identity layers.1)" in shown
    assert "every obligation holds" in shown
    assert verdict("--sm", single, "--pm", repaired).returncode == 0


def test_no_repair_looks_for_none(tmp_path: Path) -> None:
    single, wrong = files(tmp_path)
    run = verdict("--sm", single, "--pm", wrong, "--no-repair")
    assert run.returncode == 1
    assert "every obligation holds" not in run.stdout


def test_a_proved_plan_has_no_repair_to_write(tmp_path: Path) -> None:
    single, _ = files(tmp_path)
    save(pair()[1], str(tmp_path / "right.plan"))
    run = verdict("--sm", single, "--pm", str(tmp_path / "right.plan"), "--repair", str(tmp_path / "none.plan"))
    assert run.returncode == 0
    assert "is not written: there is no repair that is proved" in run.stderr
    assert not (tmp_path / "none.plan").exists()


def test_to_want_and_not_to_want_a_repair_is_a_contradiction(tmp_path: Path) -> None:
    single, wrong = files(tmp_path)
    run = verdict("--sm", single, "--pm", wrong, "--no-repair", "--repair", str(tmp_path / "x.plan"))
    assert run.returncode == 2
    assert "--repair: it contradicts --no-repair" in run.stderr
