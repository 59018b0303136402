"""The codes of random numbers that are drawn from the wrong states."""

from verdict.report.code import Code

OF_DRAWS = (
    Code(
        "same-random-state",
        "one random state for unlike parts",
        "Ranks that hold different parts of what one device draws numbers for (rows of the batch, shards of features) "
        "draw them from one state: dropout drops the same elements of each part.",
        "torch.manual_seed(0)            on every data parallel rank    wrong: all draw one mask\n"
        "torch.manual_seed(0 + dp_rank)                                 right",
        "Seed with the number of the part, or draw from a state of its own for what is cut (a tracker, fork_rng).",
        "The loss falls as usual. Noise that should average out over the parts does not: dropout regularises less.",
    ),
    Code(
        "random-state-differs",
        "unlike random states for the same",
        "What must be drawn alike is drawn from different states: ranks that hold copies of one activation, or the "
        "forward pass and its recomputation under checkpointing.",
        "torch.manual_seed(0 + tp_rank)  y = dropout(all_reduce(h))     wrong: copies drift apart\n"
        "checkpoint(block, x, preserve_rng_state=False)                 wrong: another mask",
        "Give ranks that hold copies one state; let the recomputation restore the state of the forward pass.",
        "Copies drift apart, or gradients belong to a loss that was not computed: noisier, and worse at the end.",
    ),
)
