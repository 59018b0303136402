"""What is accumulated once in a step is one thing from then on, and a step on it takes that; before, it is zero."""

from dataclasses import replace

import pytest

from tests.residue.test_between import OPTIONS
from tests.residue.test_flat import assert_no_fault_is_proved, between
from verdict.backends.generator import Sizes, generate
from verdict.backends.torch.oracle import oracle
from verdict.concrete import DIFFER
from verdict.graph import ACCUMULATOR
from verdict.pipeline import verify
from verdict.report import Verdict

pytestmark = pytest.mark.usefixtures("shared_proofs")

SIZES = Sizes(
    layers=2, hidden=3, ffn=3, heads=1, seq=2, batch=2, vocab=4, dp=2, tp=1, pp=1, microbatches=1,
    optimizer="adamw", zero=1, flat=True,
)  # fmt: skip
STEP = ("reduce_gradients", "update")


def plans(**changed):
    return generate("mlp", replace(SIZES, **changed))


def at_once(plan, device):
    """The plan in which a device steps before its backward pass: of accumulators it takes the zeros."""
    names = [segment.name for segment in plan.segments]
    calls = plan.programs[device]
    step = [call for call in calls if names[call.segment] in STEP]
    others = [call for call in calls if call not in step]
    first = [names[call.segment] for call in others].index("backward")
    programs = list(plan.programs)
    programs[device] = (*others[:first], *step, *others[first:])
    return replace(plan, programs=tuple(programs))


def test_a_flat_buffer_of_what_was_accumulated_is_proved_from_cut_point_to_cut_point():
    single, parallel = plans()
    read = {t for s in parallel.segments if s.name in STEP for n in s.nodes for t in n.inputs if t >= 0}
    assert ACCUMULATOR in map(parallel.kind, read)
    report = between(single, parallel)
    assert report.verdict is Verdict.PROVED
    assert report.swept is not None


def test_steps_before_the_backward_pass_take_nothing():
    single, parallel = plans()
    wrong = at_once(at_once(parallel, 0), 1)
    assert oracle(1, 2)(single, wrong)[0] == DIFFER
    assert between(single, wrong) is None
    assert verify(single, wrong, OPTIONS).verdict is Verdict.REFUTED


def test_what_several_microbatches_accumulate_is_not_what_one_adds():
    """It is followed as it was before."""
    single, parallel = plans(microbatches=2, batch=4)
    assert between(single, parallel) is None
    assert verify(single, parallel, OPTIONS).verdict is Verdict.PROVED


def test_no_fault_is_proved():
    assert_no_fault_is_proved(*plans(), 40)
