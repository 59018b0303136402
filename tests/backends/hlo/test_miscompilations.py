"""Programs that jax 0.10.2 computes wrong today: what XLA's passes make of them, and which pass it is."""

from pathlib import Path

import pytest

from tests.backends.hlo.test_pair import report_of
from verdict.__main__ import main
from verdict.report import Verdict

WRONG = Path(__file__).with_name("wrong")
DUMP = "module_0001.jit_step.{:04}.pipeline.after_{}.before_other.txt"
REFUTED = 1


def verdict_of(name, after):
    texts = ((WRONG / f"{name}.{side}.hlo").read_text() for side in ("before", after))
    return report_of(*texts).verdict


@pytest.mark.parametrize("name", ["assign", "window"])
def test_the_pass_that_folds_a_slice_of_a_slice_is_to_blame(name):
    """jax-ml/jax#18434, openxla/xla#49122: algsimp adds the start of a slice of a slice without clamping it."""
    assert verdict_of(name, "partitioned") is Verdict.PROVED
    assert verdict_of(name, "simplified") is Verdict.REFUTED


def test_the_partitioner_loses_an_update_at_a_start_that_is_given():
    """openxla/xla#49118: which device owns the update is asked of the start before it is clamped."""
    assert verdict_of("update", "partitioned") is Verdict.REFUTED


PADDED = "%dynamic-slice.2 = f32[5]{0} dynamic-slice(%pad, %multiply.1), dynamic_slice_sizes={5}"
OWN = """%other = f32[7]{0} pad(%all-gather, %constant.5.clone), padding=3_0
  %own = f32[5]{0} dynamic-slice(%other, %multiply.1), dynamic_slice_sizes={5}"""


def test_the_partitioner_pads_for_the_first_of_two_cumulated_results_alone():
    """Minima behind maxima of the same pieces are of what was padded with minus infinity: `cummin` gives that."""
    assert verdict_of("cumulated", "partitioned") is Verdict.REFUTED
    before, after = ((WRONG / f"cumulated.{side}.hlo").read_text() for side in ("before", "partitioned"))
    infinity = "%constant.5.clone = f32[] constant(inf)"
    mended = after.replace(f"  {infinity}\n", "").replace(PADDED, f"{PADDED}\n  {infinity}\n  {OWN}")
    mended = mended.replace("(%dynamic-slice.2, %constant.5.clone)", "(%own, %constant.5.clone)")
    assert report_of(before, mended).verdict is Verdict.PROVED


def test_going_through_the_passes_names_the_first_that_is_wrong(tmp_path, monkeypatch, capsys):
    texts = {name: (WRONG / f"window.{name}.hlo").read_text() for name in ("before", "partitioned", "simplified")}
    (tmp_path / "before.txt").write_text(texts["before"])
    names = [DUMP.format(k, name) for k, name in enumerate(("spmd-partitioning", "algsimp", "dce"))]
    for name, side in zip(names, ("partitioned", "simplified", "simplified"), strict=True):
        (tmp_path / name).write_text(texts[side])
    files = [str(tmp_path / name) for name in ("before.txt", names[0])]
    monkeypatch.setattr("sys.argv", ["verdict", "hlo", *files, "--passes", str(tmp_path), "-q"])
    with pytest.raises(SystemExit) as ended:
        main()
    said = capsys.readouterr().out
    assert ended.value.code == REFUTED
    assert said.index("PROVED") < said.index("REFUTED")
    assert said.rstrip().endswith(f"The first module that computes something else is {names[1]}")
