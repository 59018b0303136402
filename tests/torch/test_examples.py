"""Examples that are recorded and verified: right programs are proved, and findings name the line that is wrong."""

import re

import pytest

torch = pytest.importorskip("torch")

from tests.torch.test_recorded import recorded_here  # noqa: E402
from verdict.errors import UsageError  # noqa: E402
from verdict.options import Options  # noqa: E402
from verdict.report import Verdict  # noqa: E402
from verdict.verify import verify  # noqa: E402

RIGHT = [
    ("clip", "build", 2),
    ("pipelining", "build_zero_bubble", 2),
    ("moe", "build", 2),
    ("gpt_tokens", "build", 2),
    ("gpt_tokens", "build_vocabulary", 2),
]
WRONG = [
    ("moe", "build_router_not_reduced", 2, r"backward of moe\.py:\d+ route"),
    ("gpt_tokens", "build_own_tokens", 2, r"gpt_tokens\.py:\d+ step"),
    ("gpt_tokens", "build_vocabulary_own_gradient", 2, r"gpt_tokens\.py:\d+"),
    ("clip", "build_local_norm", 2, r"clip\.py:\d+ own_norm"),
]


def report_on(file, builder, ranks):
    """The report on an example and the single-device program of its file."""
    return verify(recorded_here(file, "build_single"), recorded_here(file, builder, ranks), Options())


@pytest.mark.parametrize(("file", "builder", "ranks"), RIGHT)
def test_right_programs_are_proved(file, builder, ranks):
    report = report_on(file, builder, ranks)
    assert report.verdict is Verdict.PROVED, report.open


@pytest.mark.parametrize(("file", "builder", "ranks", "place"), WRONG)
def test_wrong_programs_are_refuted_where_they_are_wrong(file, builder, ranks, place):
    report = report_on(file, builder, ranks)
    assert report.verdict is Verdict.REFUTED
    first = report.findings[0]
    assert re.search(place, " ".join((first.title, first.where, *first.notes)))


def test_stages_that_would_send_shapes_are_refused():
    with pytest.raises(UsageError, match="input_args and output_args"):
        recorded_here("programs", "build_shapes_sent", 2)


@pytest.mark.parametrize("builder", ["build_unwaited", "build_read_early", "build_received_early"])
def test_a_missing_wait_is_found(builder):
    """Once, where it is read too early; a program that waits is proved."""
    single = recorded_here("programs", "build_single")
    report = verify(single, recorded_here("programs", builder, 2), Options())
    (finding,) = report.findings
    assert finding.code == "read-before-wait"
    assert "programs.py" in " ".join((finding.title, finding.where, *finding.notes))
    for right in ("build_waited", "build_exchange"):
        assert verify(single, recorded_here("programs", right, 2), Options()).verdict is Verdict.PROVED
