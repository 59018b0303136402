"""A small mutation campaign: no fault that the oracle sees is proved, nothing crashes. The large one is a script."""

from collections import Counter
from dataclasses import replace

import pytest

from tests.builders import FAST
from tests.sampled import up_to
from verdict.backends.generator import Sizes, generate
from verdict.backends.torch.oracle import oracle
from verdict.graph import ACTIVATION
from verdict.mutate import KINDS, mutate
from verdict.mutate.judge import EQUIVALENT, FALSE_ALARM, KILLED, MISSED, UNCHECKED, Known, judge, own_oracle
from verdict.options import Options

pytestmark = pytest.mark.usefixtures("shared_proofs")

SMALL = {"layers": 2, "hidden": 16, "heads": 4, "seq": 4, "batch": 8, "vocab": 8, "ffn": 8}
FAMILIES = {
    "mlp dp2 pp2 tp2": ("mlp", {"layers": 4, "dp": 2, "tp": 2, "pp": 2, "microbatches": 2}, 110),
    "mlp tp4": ("mlp", {"dp": 1, "tp": 4, "pp": 1, "microbatches": 1}, 60),
    "mlp pp4": ("mlp", {"layers": 4, "dp": 1, "tp": 1, "pp": 4, "microbatches": 4}, 60),
    "llama3 dp2 pp2 tp2": ("llama3", {"dp": 2, "tp": 2, "pp": 2, "microbatches": 2}, 40),
    "mlp step, shards over dp2": (
        "mlp",
        {"layers": 1, "dp": 2, "tp": 2, "pp": 1, "microbatches": 1, "optimizer": "adamw", "clip": 0.5, "zero": 1},
        40,
    ),
    "mlp step, sharded weights": (
        "mlp",
        {"layers": 1, "dp": 2, "tp": 1, "pp": 1, "microbatches": 2, "optimizer": "sgd", "zero": 3},
        60,
    ),
}
OPTIONS = Options(workers=0, solver=FAST)


@pytest.mark.parametrize("family", FAMILIES)
def test_no_fault_that_changes_a_value_is_proved(family):
    model, mesh, whole = FAMILIES[family]
    count = up_to(whole, 12)
    single, parallel = generate(model, Sizes(**{**SMALL, **mesh}))
    known = Known()
    assert judge(single, parallel, oracle(1), OPTIONS, known).outcome == EQUIVALENT
    said = oracle(1, 2)
    found = [(mutant, judge(single, mutant.plan, said, OPTIONS, known)) for mutant in mutate(parallel, 7, count)]
    assert [(m.kind, m.number, m.description, j) for m, j in found if j.outcome == MISSED] == []
    counts = Counter(judgement.outcome for _, judgement in found)
    assert counts[KILLED] > 0.6 * count
    assert counts[FALSE_ALARM] == 0


def test_what_is_known_of_stages_changes_no_judgement():
    single, parallel = generate("mlp", Sizes(**{**SMALL, **FAMILIES["mlp tp4"][1]}))
    known = Known()
    for mutant in mutate(parallel, 8, len(KINDS)):
        assert judge(single, mutant.plan, own_oracle((1,)), OPTIONS, known) == judge(
            single, mutant.plan, own_oracle((1,)), OPTIONS
        )


def test_what_numbers_do_not_show_is_not_held_against_them():
    single, parallel = generate("mlp", Sizes(**{**SMALL, **FAMILIES["mlp tp4"][1]}))
    hidden = next(n for n, logical in enumerate(parallel.logicals) if logical.kind == ACTIVATION)
    stated = tuple(
        logical._replace(dtype="complex64") if n == hidden else logical for n, logical in enumerate(parallel.logicals)
    )
    found = judge(single, replace(parallel, logicals=stated), own_oracle((1,)), OPTIONS)
    assert (found.verdict, found.reasons, found.outcome) == ("REFUTED", ("wrong-dtype",), UNCHECKED)
