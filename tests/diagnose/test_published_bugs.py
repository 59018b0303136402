"""The published bugs: one finding each, with the right code, at the place where the fault was put in."""

from typing import NamedTuple

import pytest

from tests.shared import HERE, PLANS, REASON, loaded
from verdict.backends import load
from verdict.diagnose.counter import replays
from verdict.options import Options, SolverOptions
from verdict.pipeline import verify
from verdict.report import Verdict

pytestmark = [
    pytest.mark.skipif(not HERE, reason=REASON),
    pytest.mark.slow,
    pytest.mark.usefixtures("shared_proofs"),
]

SINGLE = "llama3_default_dp1_pp1_tp1_nm1_gbs32_ly32_h32_hi128_sq8192.pkl.xz"
REST = "dp2_pp2_tp2_nm2_gbs32_ly32_h32_hi128_sq8192.pkl.xz"


class Bug(NamedTuple):
    """code: of the only finding. where: the node. ranks, module: where it shows. shown: by a counterexample."""

    code: str
    where: str
    ranks: tuple[int, ...]
    module: str
    shown: bool = True
    said: str = ""


BUGS = {
    1: Bug("missing-reduction", "linear linear_6 on rank 0", (0, 1), "layers.0", said="summed over ranks 0, 1"),
    2: Bug("broken-data-flow", "add add_3 on rank 0", (0, 1), "layers.0", False, "linear_6 is read before"),
    3: Bug(
        "wrong-collective", "all_gather linear_6 on rank 0", (0, 1), "layers.0", said="a sum over ranks 0, 1 is due"
    ),
    4: Bug(
        "wrong-collective", "all_reduce add_63 on rank 2", (2, 3), "layers.15", False, "all_gather along dimension 2"
    ),
    5: Bug("missing-reduction", "accumulate mul_93.grad on rank 2", (2, 3), "layers.18", said="summed over ranks 2, 3"),
    6: Bug("wrong-peer", "recv add_63 on rank 2", (2, 3), "layers.15", said="from rank 1, it expects"),
    7: Bug("wrong-constant", "add add on rank 0", (0,), "layers.0", said="other is 2, expected 1e-05, on rank 0"),
    8: Bug("wrong-constant", "pow pow_2 on rank 0", (0,), "layers.0", said="exponent is 1, expected 2, on rank 0"),
    9: Bug(
        "wrong-constant", "add add_64 on rank 0", (0, 1), "layers.16", said="other is 2, expected 1e-05, on all ranks"
    ),
    10: Bug("reduced-twice", "accumulate mul_81.grad on rank 2", (2,), "layers.16", said="2 times (inputs 0, 3)"),
    11: Bug(
        "wrong-input", "apply_rotary_emb.grad apply_rotary_emb_16.grad on rank 2", (2,), "layers.16", said="exchanged"
    ),
    12: Bug("wrong-constant", "div truediv_2 on rank 0", (0,), "layers.2", said="other is 4, expected 2.0, on rank 0"),
    13: Bug(
        "wrong-constant", "div truediv_2 on rank 0", (0, 1), "layers.2", said="other is 4, expected 2.0, on all ranks"
    ),
    14: Bug(
        "microbatch-missing", "segment segment 3674 backward on rank 0", (0,), "tok_embeddings", False, "microbatch 1"
    ),
}


def ask(name):
    folder = PLANS / "bugs"
    options = Options(solver=SolverOptions(z3=False))
    return verify(loaded(folder / SINGLE), load(str(folder / f"llama3_{name}_{REST}")), options)


@pytest.mark.parametrize("number", BUGS)
def test_the_fault_is_named(number):
    bug, report = BUGS[number], ask(f"br{number}")
    assert report.verdict is Verdict.REFUTED
    (finding,) = report.findings
    assert (finding.code, finding.where) == (bug.code, bug.where)
    assert (finding.ranks, finding.modules) == (bug.ranks, (bug.module,))
    assert bug.said in finding.title
    assert (finding.counterexample is not None) == bug.shown
    assert finding.counterexample is None or replays(finding.counterexample)


def test_the_plan_without_a_fault_is_proved():
    report = ask("default")
    assert report.verdict is Verdict.PROVED
    assert report.findings == report.notes == ()
