"""What is a part of a sum is likelier guessed to make parts; a number that stands beside others makes none."""

from tests.values.outline import plans, verdict
from verdict.lineage import bind, reference
from verdict.lineage.grounds import grounds_of
from verdict.lineage.propagate import guessed

STEP = """
  x input [4, 4]
  t input int64 [4]
  w weight [4, 4]
  y{own} = linear(x{rows}, w)
  p{own} = aten._log_softmax(y{own}) dim=1 half_to_float=False
  l{own}, n{own} = aten.nll_loss_forward(p{own}, t{row}) ignore_index=-100 reduction=1 absent=("weight",)
  {averaged}
  one{own} = constant() shape=() values=(1.0,)
  dp{own} = aten.nll_loss_backward(one{own}, p{own}, t{row}, n{own}) absent=("weight",) ignore_index=-100 reduction=1
  dy{own} = aten._log_softmax_backward_data(dp{own}, p{own}) dim=1
  -, gw{own} = linear.grad(dy{own}, x{rows}, w)
  {summed}
  range t 0 3
  loss l
  gradient gw of w
"""
SINGLE = STEP.format(own="", rows="", row="", averaged="", summed="")
RIGHT = {
    "averaged": 'l = all_reduce(l_own) ranks=rank reduce="avg"',
    "summed": 'gw = all_reduce(gw_own) ranks=rank reduce="avg"',
}
ON_ROWS = {"own": "_own", "rows": "[rank, :]", "row": "[rank]"}


def test_what_counts_tokens_makes_no_part_of_what_it_stands_beside():
    pair = plans(SINGLE, STEP.format(**ON_ROWS, **RIGHT), rank=2)
    binding = bind(*pair)
    walk = guessed(grounds_of(reference(pair[0], 1, binding.batch), pair[1]), pair[1], binding)
    names = {pair[1].logicals[pair[1].tensors[tensor].logical].name for _, tensor in walk.cuts}
    assert "dp_own" in names


def test_the_mean_of_means_is_proved_and_their_sum_is_not():
    assert verdict(SINGLE, STEP.format(**ON_ROWS, **RIGHT), rank=2) == "PROVED"
    added = {**RIGHT, "summed": RIGHT["summed"].replace("avg", "sum")}
    assert verdict(SINGLE, STEP.format(**ON_ROWS, **added), rank=2) == "REFUTED"
