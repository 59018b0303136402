"""What mutants of one pair have in common is not asked again, and says the same."""

from verdict.backends.generator import Sizes, generate
from verdict.backends.text import read
from verdict.mutate.judge import Known, judge, own_oracle
from verdict.mutate.mutate import mutant_of
from verdict.options import Options

VACUOUS = b"""verdict-plan 1
devices 1
tensors
  x input float32 [4] origin name
  z activation float32 [4]
  loss activation float32 [1]
family 0
segment step
  z = sub(x, x)
  loss = sum(z)
call step 0
loss loss
end
"""
OPTIONS = Options(workers=0)
SIZES = {"layers": 2, "hidden": 16, "heads": 4, "seq": 4, "batch": 8, "vocab": 8, "ffn": 8, "dp": 2, "tp": 2}
EXPERTS = {"experts": 8, "topk": 2, "groups": 2, "topk_groups": 1, "moe_ffn": 4, "pp": 1, "microbatches": 1}


def test_a_loss_that_says_nothing_is_said_to_each_of_them():
    plan, known = read(VACUOUS, "plan"), Known()
    said = [judge(plan, plan, own_oracle((1,)), OPTIONS, known) for _ in range(2)]
    assert said[0] == said[1] == judge(plan, plan, own_oracle((1,)), OPTIONS)
    assert said[0].verdict == "UNKNOWN"
    assert "nothing to compare" in said[0].reasons[0]


def test_mutants_are_judged_as_they_are_alone():
    single, parallel = generate("mlp", Sizes(**SIZES, **EXPERTS))
    known, oracle = Known(), own_oracle((1,))
    assert judge(single, parallel, oracle, OPTIONS, known).verdict == "PROVED"
    for kind in ("skip-node", "drop-collective", "duplicate-node"):
        mutant = mutant_of(parallel, 3, kind, 0)
        if mutant:
            found = judge(single, mutant.plan, oracle, OPTIONS, known)
            assert found == judge(single, mutant.plan, oracle, OPTIONS)
            assert found.verdict != "PROVED"
