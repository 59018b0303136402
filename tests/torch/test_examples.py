"""Examples that are recorded and verified: right programs are proved, and findings name the line that is wrong."""

import json
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

from tests.process import verdict as ask  # noqa: E402
from tests.torch.test_recorded import recorded_here  # noqa: E402
from verdict.errors import UsageError  # noqa: E402
from verdict.options import Options  # noqa: E402
from verdict.pipeline import verify  # noqa: E402
from verdict.report import Verdict  # noqa: E402

ROOT = Path(__file__).resolve().parents[2]
RIGHT = [
    ("clip", "build", 2),
    ("pipelining", "build_zero_bubble", 2),
    ("moe", "build", 2),
    ("gpt_tokens", "build", 2),
    ("gpt_tokens", "build_vocabulary", 2),
]
WRONG = [
    ("moe", "build_router_not_reduced", 2, "missing-reduction", "x @ router"),
    ("gpt_tokens", "build_own_tokens", 2, "mean-instead-of-sum", "dist.all_reduce(weight.grad)"),
    ("gpt_tokens", "build_vocabulary_own_gradient", 2, "missing-reduction", "self.head("),
    ("clip", "build_local_norm", 2, "missing-reduction", "clip_grad_norm_("),
    ("ddp_manual", "build_missing_reduction", 2, "missing-reduction", "self.down("),
    ("ddp_manual", "build_wrong_group", 4, "wrong-group", "dist.all_reduce(bucket"),
    ("ddp_manual", "build_loss_scale", 2, "wrong-scale", "bucket.div_("),
    ("pipelining", "build_loss_scale", 2, "wrong-scale", "schedule.step("),
    ("gpt2_megatron", "build_bias_twice", 2, "reduced-twice", "functional.linear(x, self.weight, self.bias)"),
]
"""File, builder, ranks, and the code and a piece of the line that the first finding names."""


def report_on(file, builder, ranks):
    """The report on an example and the single-device program of its file."""
    return verify(recorded_here(file, "build_single"), recorded_here(file, builder, ranks), Options())


@pytest.mark.parametrize(("file", "builder", "ranks"), RIGHT)
def test_right_programs_are_proved(file, builder, ranks):
    report = report_on(file, builder, ranks)
    assert report.verdict is Verdict.PROVED, report.open


@pytest.mark.parametrize(("file", "builder", "ranks", "code", "line"), WRONG)
def test_wrong_programs_are_refuted_where_they_are_wrong(file, builder, ranks, code, line):
    report = report_on(file, builder, ranks)
    assert report.verdict is Verdict.REFUTED
    (first,) = report.findings
    assert first.code == code
    assert line in first.source.text
    text = (ROOT / "examples" / "torch" / first.source.file).read_text().splitlines()[first.source.line - 1]
    assert text == first.source.text and first.source.column > len(text) - len(text.lstrip())


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


def test_one_layer_of_8b_is_proved_between_cut_points():
    """At the widths that it is trained at, it is too large to be swept as a whole: rotations, norms and a loss on
    shards of the vocabulary, then AdamW.
    """
    file = "examples/torch/llama_8b.py"
    words = ("--single", file, "--world", "8", "--no-confirm", "--no-repair", "--format", "json")
    done = ask("torch", f"{file}:build", *words, LAYERS="1")
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    assert (said["verdict"], said["sweep"]["islands"]) == ("PROVED", 15)
