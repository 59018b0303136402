"""What a reduce leaves beside its root, and products of what ranks have."""

from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

from tests.torch.verdicts import answers  # noqa: E402
from verdict.backends.torch.trace import UNMODELLED  # noqa: E402
from verdict.graph.unsaid import UNSAID  # noqa: E402

FILE = Path(__file__).with_name("rooted.py")
LINES = FILE.read_text(encoding="utf-8").splitlines()
LINE = next(at for at, line in enumerate(LINES, 1) if "weight.grad, root, op" in line)


@pytest.mark.parametrize("world", [2, 4])
def test_a_sum_that_one_rank_has_is_what_it_tells_the_others(world):
    found = answers(FILE, (("build", "build_single"), ("build_told", "build_single")), world=world)
    assert {each.verdict for each in found.values()} == {"PROVED"}, [each.why for each in found.values()]


@pytest.mark.parametrize("world", [2, 4])
def test_what_a_reduce_leaves_beside_its_root_may_be_anything(world):
    found = answers(FILE, (("build_untold", "build_single"),), world=world)["build_untold"]
    assert found.verdict == "REFUTED", found.why
    (finding,) = found.report.findings
    assert finding.code == "wrong-collective" and finding.source.line == LINE
    assert finding.ranks == tuple(rank for rank in range(world) if rank != 1)
    (repair,) = found.report.repairs
    ops = {node.op for segment in repair.plan.segments for node in segment.nodes}
    assert repair.proved and "all_reduce" in ops and not ops & {UNSAID, UNMODELLED}


def test_chances_are_multiplied():
    right, wrong = ("build_chance", "build_chance_rooted", "build_chance_parted"), "build_chance_added"
    found = answers(FILE, tuple((name, "build_chance_single") for name in (*right, wrong)))
    assert [found[name].verdict for name in right] == ["PROVED"] * len(right), [found[name].why for name in right]
    assert found[wrong].verdict == "REFUTED", found[wrong].why
    assert answers(FILE, (("build_multiplied", "build_single"),))["build_multiplied"].verdict == "REFUTED"
