"""The codes of findings: what each means, how it comes about, how to repair it, how it shows in training.

A code is stable: it keeps its meaning, and what reads the JSON may rely on it.
"""

from verdict.report.code import Code
from verdict.report.draw_codes import OF_DRAWS
from verdict.report.memory_codes import OF_MEMORY

_ALL = (
    Code(
        "missing-reduction",
        "a sum is not completed",
        "Every rank computed its own part of a sum (a split contraction, its replica's or microbatch's share of a "
        "gradient), and the part is used as if it were the sum.",
        "y = linear(x_shard, w_shard)          z = add(h, y)            wrong: y is one part\n"
        "y = linear(x_shard, w_shard)  s = all_reduce(y)  z = add(h, s)  right",
        "Insert an all_reduce (or reduce_scatter) over the ranks that hold the parts, before the first use.",
        "The loss still falls. Activations or gradients are too small by up to the size of the group, replicas "
        "drift apart, and the final loss is a little worse than it should be.",
    ),
    Code(
        "reduced-twice",
        "a summand is counted more than once",
        "A sum holds some summand several times: a second all_reduce of a value that is whole on every rank, a "
        "gradient that is accumulated twice, a sum over replicas of what each of them has whole.",
        "s = all_reduce(y)  t = all_reduce(s)    wrong: t is the group's size times s\n"
        "s = all_reduce(y)                       right",
        "Remove the second reduction, or the summand that is there twice.",
        "As a learning rate that is too large for some weights by an integer factor: spikes early on, or none at "
        "all under an optimizer that is invariant to scale, such as Adam.",
    ),
    Code(
        "wrong-scale",
        "off by a constant factor",
        "Every element is the same rational multiple of what it must be. The finding gives the factor.",
        "g = mul(dw, other=0.5)    wrong where nothing else doubles it",
        "Remove the scaling, or put in the missing one: by the inverse of the factor.",
        "For a gradient as a learning rate that is off by the factor; in the loss only the plotted value is off.",
    ),
    Code(
        "mean-instead-of-sum",
        "a mean where a sum belongs, or the other way round",
        "One plan sums, the other one averages: the loss, a reduction over ranks, the gradients of microbatches.",
        "loss = mean(logits)    against    loss = sum(logits)",
        "Use the same reduction in both plans, or multiply by the number of elements that are averaged.",
        "Gradients are off by the number of elements or ranks; it depends on the batch and shows when that changes.",
    ),
    Code(
        "wrong-group",
        "a collective has the wrong members",
        "A collective is called among other ranks than those that hold the pieces: too few, too many, foreign ones, "
        "or its members do not agree on who takes part.",
        "all_reduce(y) ranks=(0,)      wrong: the parts are on ranks 0 and 1\nall_reduce(y) ranks=(0, 1)    right",
        "Give the collective the ranks that hold the pieces, the same on each of them.",
        "Silent where every rank's own group is consistent: sums stay incomplete. Else the run hangs.",
    ),
    Code(
        "wrong-peer",
        "a message goes to, or comes from, the wrong rank",
        "A rank receives another share of a tensor than it expects, since sends and receives name other peers.",
        "rank 2: x[0:4] = recv() peer=1    wrong: rank 1 sends x[4:8]\nrank 2: x[0:4] = recv() peer=0    right",
        "Exchange the peers, on both sides, so that each rank receives the region that it expects.",
        "Silent, as shapes agree: activations are permuted between the ranks of a pipeline stage.",
    ),
    Code(
        "wrong-collective",
        "the wrong kind of collective",
        "A collective cannot make of what its members put in what the plan says: an all_gather where parts must be "
        "summed, an all_reduce where pieces must be joined, or members that call different operations.",
        "y = all_gather(part)    wrong where the parts are summands\ny = all_reduce(part)    right",
        "Use all_reduce for parts of a sum, all_gather for pieces of a tensor; the same on all members.",
        "Mostly a crash or a hang. Silent where shapes happen to agree, as with a group of one.",
    ),
    Code(
        "wrong-slice",
        "a share of the wrong region",
        "A node reads or computes other rows or columns of a tensor than it must, or its inputs hold shares that do "
        "not belong together.",
        "linear(x[0:4], w[4:8])    wrong: the contracted ranges differ\nlinear(x[4:8], w[4:8])    right",
        "Cut the tensor where the plan's regions say, alike for all inputs of the node.",
        "Silent: shapes agree. The model trains on permuted or repeated features, and some weights never learn.",
    ),
    Code(
        "wrong-order",
        "pieces, messages or microbatches in the wrong order",
        "What is joined, received or run comes in another order than the plan says: ranks that hold other pieces than "
        "those of their places in the group, receives that are not in the order of the sends, microbatches exchanged.",
        "all_gather(x) ranks=(0, 1, 2, 3) where rank 1 holds piece 2    wrong\n"
        "all_gather(x) ranks=(0, 1, 2, 3) where rank 1 holds piece 1    right",
        "Let every member of the group hold the piece of its place (torch.distributed.new_group sorts the ranks that "
        "it is given); receive in the order of the sends.",
        "Silent: shapes agree. Hidden features, or positions of a mask, are permuted between pipeline stages.",
    ),
    Code(
        "wrong-constant",
        "an attribute differs",
        "An operator has another constant or attribute than its single-device partner, on some ranks or on all: an "
        "epsilon, an exponent, a divisor, a dimension, a range of the vocabulary.",
        "add(x, other=2)       wrong on rank 0\nadd(x, other=1e-05)   right",
        "Restore the attribute of the single-device node on the ranks named.",
        "On all ranks another model is trained. On some ranks their shares of a tensor disagree: noise that "
        "depends on the parallelization.",
    ),
    Code(
        "operator-differs",
        "another operator",
        "A node stands where the single-device plan has a node of another operator, and they compute other values.",
        "y = relu(x)    against    y = silu(x)",
        "Use the operator of the single-device plan.",
        "Another model is trained than the one that was designed.",
    ),
    Code(
        "wrong-input",
        "another tensor is wired in",
        "A node reads another tensor, or the right one of another microbatch, or has its inputs exchanged.",
        "add(h, mlp_in)     wrong\nadd(h, mlp_out)    right",
        "Wire in the tensor that the finding names.",
        "Silent where shapes agree: a wrong residual or gradient; the loss falls more slowly, or stalls.",
    ),
    Code(
        "microbatch-missing",
        "a microbatch is left out",
        "A segment, forward or backward, does not run for some microbatch.",
        "backward(0)  reduce               wrong with two microbatches\nbackward(0)  backward(1)  reduce   right",
        "Run every segment once for every microbatch.",
        "A hang where others wait for it. Else a share of every batch is never learned from.",
    ),
    Code(
        "microbatch-duplicated",
        "a microbatch runs twice",
        "A segment runs several times for one microbatch.",
        "backward(0)  backward(1)  backward(1)  reduce    wrong",
        "Run every segment once for every microbatch.",
        "Some samples weigh more than others; gradients are too large.",
    ),
    Code(
        "early-reduction",
        "reduced before the last contribution",
        "A gradient is reduced or read while microbatches still add to it.",
        "backward(0)  reduce  backward(1)    wrong\nbackward(0)  backward(1)  reduce    right",
        "Move the reduction behind the last backward pass.",
        "Replicas apply different gradients and drift apart.",
    ),
    Code(
        "gradient-missing",
        "a gradient, or a term of it, is not there",
        "A weight has no gradient on a rank that uses it, a declared output is computed by nothing, or a formal sum "
        "lacks one of its terms.",
        "dx = accumulate(d1)        wrong where x is used twice\ndx = accumulate(d1, d2)    right",
        "Add the missing term, or declare and reduce the missing gradient.",
        "The weight stays at its initial value on some ranks, or moves in a wrong direction.",
    ),
    Code(
        "shape-mismatch",
        "shapes do not fit",
        "At full size, the shapes or attributes of a node do not fit its operator, its inputs or what it states.",
        "y[8, 64] = all_reduce(x[8, 32])    wrong",
        "Correct the shape, the attribute or the operator.",
        "A crash, mostly at the first step; a silent broadcast in bad cases.",
    ),
    Code(
        "wrong-dtype",
        "a type that the operator does not make",
        "The plan says of a tensor that it holds integers, truth values or floats, and its node makes something else.",
        "y int64 = exp(x float32)    wrong: exp makes floats",
        "Correct the type in the table of tensors, or put in the cast that is missing.",
        "None of its own: the framework goes by what the operator makes. What the file says of it is wrong.",
    ),
    Code(
        "send-without-receive",
        "nobody receives a message",
        "A rank sends what its peer never receives.",
        "rank 0: send(x) peer=1    rank 1: (nothing)",
        "Add the receive, or correct the peer.",
        "A leak, a hang at the end of the step, or the next receive gets the wrong message.",
    ),
    Code(
        "receive-without-send",
        "nobody sends a message",
        "A rank waits for a message from a rank that ends without sending it.",
        "rank 1: x = recv() peer=0    rank 0: (nothing)",
        "Add the send, or correct the peer.",
        "The run hangs.",
    ),
    Code(
        "deadlock",
        "ranks wait for each other",
        "Some ranks wait for each other for ever: collectives or messages are called in different orders.",
        "rank 0: all_reduce A, all_reduce B    rank 1: all_reduce B, all_reduce A",
        "Let all members of all groups call their collectives in one order.",
        "The run hangs, until a watchdog ends it.",
    ),
    Code(
        "batch-mismatch",
        "the batches differ",
        "Replicas times microbatches times the local batch is not the batch of the single-device plan.",
        "single: x[32, 8]    parallel: x[8, 8] on 2 replicas, 1 microbatch",
        "Use the batch, the number of replicas or of microbatches that makes them equal.",
        "Gradients are of another batch size; learning-rate schedules do not fit.",
    ),
    Code(
        "dtype-differs",
        "another number format",
        "A tensor or a cast has another number format than its partner. Over the real numbers nothing differs, so it "
        "is a note beside the verdict; it is a failure with --deny-assumption casts-are-identity.",
        "softmax(x, dtype=float16)    against    softmax(x)",
        "Use the dtype of the single-device plan, or accept the note.",
        "Rounding or overflow that the single-device run does not have.",
    ),
    Code(
        "cut-short",
        "the run was ended at a limit, or interrupted",
        "A note: the verdict was reached, and a limit of time or memory, or an interrupt, before causes were.",
        "verdict --sm SINGLE --pm PARALLEL --time-limit 5",
        "Give more: --time-limit, --memory-limit.",
        "None.",
    ),
    Code(
        "broken-data-flow",
        "a tensor is read before, or written after, it should be",
        "A tensor is read before anything produces it, is produced twice, or is given and overwritten.",
        "z = add(h, s)    wrong where nothing produces s",
        "Produce the tensor before it is read, once.",
        "A crash, or the value of the step before is used.",
    ),
    Code(
        "loss-missing",
        "no loss",
        "No rank holds the loss, or one of the losses, of the single-device plan.",
        "(no declared loss in the parallel plan)",
        "Declare the loss on the rank that computes it.",
        "Nothing, or something else, is minimised.",
    ),
    Code(
        "output-missing",
        "no declared output",
        "No rank holds an output that the single-device plan declares, such as the updated value of a weight.",
        "(no output of m in the parallel plan, where m is a state of the optimizer)",
        "Declare the output on the ranks that compute it.",
        "The next step begins with an old weight or an old state.",
    ),
    Code(
        "weight-not-covered",
        "a part of a weight has no gradient anywhere",
        "The regions of a weight for which ranks declare gradients do not cover it.",
        "rank 0: w[0:4]    rank 1: w[0:4]    wrong: nobody has w[4:8]",
        "Give every region of the weight to some rank.",
        "That part of the weight is never trained.",
    ),
    Code(
        "law-fails",
        "shares do not add up",
        "The parts that ranks compute of an operator do not add up to the whole, though the plan sums them.",
        "a bias that is added on every rank before the all_reduce",
        "Add what is not linear once: after the reduction, or on one rank only.",
        "Biases that are too large by the size of the group.",
    ),
    Code(
        "not-equivalent",
        "other values",
        "A node computes other values than its single-device partner, and no simpler reason was found.",
        "(see the numbers of the finding)",
        "Compare the two nodes of the finding.",
        "Depends on the operator.",
    ),
    Code(
        "decides-otherwise",
        "data decides otherwise than on the single device",
        "Both programs were run on other numbers than those of the recording, and hold other results: a rank decides "
        "by its own rows (their longest length, their count), which in the recording decided as all rows do.",
        "longest = lengths.max().item()                                 wrong: of this rank's rows alone\n"
        "all_reduce(longest := lengths.max(), op=MAX); longest.item()   right",
        "Let all ranks decide by the same numbers: reduce what decides before it is read.",
        "Right on some batches and wrong on others, by as much as their rows differ.",
    ),
    Code(
        "assumption-denied",
        "the proof rests on what was denied",
        "The verdict rests on an assumption that --deny-assumption refuses.",
        "verdict ... --deny-assumption batch-split",
        "Change the plan so that the assumption is not needed, or allow it.",
        "The plan may be right or not: it is not proved without the assumption.",
    ),
)

CODES = {code.code: code for code in (*_ALL, *OF_MEMORY, *OF_DRAWS)}
"""All codes, by name."""
