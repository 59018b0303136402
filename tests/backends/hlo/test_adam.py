"""A step of Adam by optax, its moments and count given and compared: second moments stand under roots."""

from pathlib import Path

import pytest

from tests.backends.hlo.test_pair import changed
from verdict.backends.hlo.pair import parallel_of, single_of
from verdict.backends.hlo.text import read_module
from verdict.options import Options
from verdict.pipeline import verify
from verdict.report import Verdict

BEFORE, AFTER = ((Path(__file__).with_name("ranged") / f"adam.{side}.hlo").read_text() for side in ("before", "after"))
RANGES = {"state[0].count": (0, 1000)}


def report_of(after):
    one, other = read_module(BEFORE, "before"), read_module(after, "after")
    return verify(single_of(one, other, RANGES), parallel_of(one, other, (), RANGES), Options())


def test_a_step_of_adam_is_proved():
    report = report_of(AFTER)
    assert report.verdict is Verdict.PROVED
    assert report.outputs == 8


FAULTS = {
    "another rate of decay": ("constant(0.001)", "constant(0.002)"),
    "no root": (" sqrt(%div.27)", " abs(%div.27)"),
    "an all-reduce dropped": (
        "all-reduce(%dot.4), channel_id=4, replica_groups={{0,4},{1,5},{2,6},{3,7}}, use_global_device_ids=true, "
        "to_apply=%add.2.clone",
        "copy(%dot.4)",
    ),
}


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_is_refuted(name):
    assert report_of(changed(AFTER, *FAULTS[name])).verdict is Verdict.REFUTED
