"""Labels that are counted are some where their bounds say so: what is divided by their number is one."""

from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

from tests.torch.verdicts import answers  # noqa: E402
from verdict.backends.torch.assemble import plan_of  # noqa: E402
from verdict.backends.torch.launch import Limits, Target, record_each  # noqa: E402
from verdict.lineage import bind, reference  # noqa: E402
from verdict.lineage.counted import signs_by_count  # noqa: E402
from verdict.ops.signs import NOT_NEGATIVE, POSITIVE  # noqa: E402

FILE = Path(__file__).with_name("counted.py")
SINGLE = {"build": "build_single", "build_uncounted": "build_single"}


@pytest.mark.parametrize(("name", "verdict"), [("build", "PROVED"), ("build_uncounted", "REFUTED")])
def test_a_loss_that_nobody_returns_is_divided_by_labels_of_all_ranks(name, verdict):
    found = answers(FILE, tuple(SINGLE.items()))[name]
    assert found.verdict == verdict, found.why


def test_it_is_proved_between_cut_points():
    assert answers(FILE, tuple(SINGLE.items()))["build"].report.evidence.by != "sweep"


@pytest.mark.parametrize(
    ("name", "sign"), [("build_single", POSITIVE), ("build_zero", NOT_NEGATIVE), ("build_any", None)]
)
def test_the_sign_of_a_count(name, sign):
    """Of labels that are passed over where they are zero there may be none, and of any labels."""
    (recorded,) = record_each([(Target(str(FILE), name), 1)], "fake", 1, Limits(120.0, confirm=0.0))
    plan = plan_of(recorded.traces, name)
    table = reference(plan, 1, bind(plan, plan).batch)
    made = [partner.outputs[0] for partner in table.partners if partner.node.op == "aten.sum"]
    (count,) = (base for base in made if table.bases[base].dtype == "int64")
    assert signs_by_count(table).get(count) == sign
