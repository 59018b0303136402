"""Codes of open questions: why a report is UNKNOWN, and what to do about it."""

from typing import NamedTuple


class Question(NamedTuple):
    """One code. name: in a few words. example: how it reads in a report. answer: what closes it."""

    code: str
    name: str
    meaning: str
    example: str
    answer: str


NO_RULE = "no-rule"
NOT_FOLLOWED = "not-followed"
NO_PROOF = "no-proof"
NOT_ESTABLISHED = "not-established"
NOT_DECLARED = "not-declared"
NOTHING_TO_COMPARE = "nothing-to-compare"
NOT_CONFIRMED = "not-confirmed"
NOT_RUN = "not-run"
DRAWS_NOT_MATCHED = "draws-not-matched"
SPECS_MISSING = "specs-missing"
OUT_OF_LIMIT = "out-of-limit"

_ALL = (
    Question(
        NO_RULE,
        "an operator without a rule",
        "It is not known what the operator computes, so nothing is said of what comes of it.",
        "experts (moe.py:31) on rank 0: aten.histc has no rule",
        "Write its rule (CONTRIBUTING.md, a small file), or write the step with operators of docs/operators.md.",
    ),
    Question(
        NOT_FOLLOWED,
        "a node that the walk cannot follow",
        "What a node reads is no share of what a single-device node reads, and no other engine could decide it.",
        "add h on rank 0: no node of the single-device plan computes add of a, b",
        "Look at the node that is named first: where it is meant so, a smaller program with it is worth an issue.",
    ),
    Question(
        NO_PROOF,
        "an equality that was neither proved nor refuted",
        "The two sides agree on numbers, and no method proved them equal within its budget.",
        "output 0 on rank 0: not decided within 20 seconds",
        "Raise --timeout, or ask a smaller model of the same structure.",
    ),
    Question(
        NOT_ESTABLISHED,
        "a declared output of which nothing is known",
        "The parallel plan declares it, and what it holds was not established.",
        "the gradient of w on rank 1: nothing establishes what it holds",
        "It follows from the other open questions: close these.",
    ),
    Question(
        NOT_DECLARED,
        "an output that the parallel plan does not declare as a whole",
        "The single-device plan declares it; of some of its elements no rank says that it has them.",
        "the updated w: the parallel plan does not declare all of it",
        "State the shards of all ranks (specs of a program, outputs of a plan).",
    ),
    Question(
        NOTHING_TO_COMPARE,
        "nothing that a proof could be about",
        "The single-device plan declares no loss, no gradient of a trained weight, or what means nothing.",
        "weight w: the single-device plan computes no gradient of it (nothing to compare)",
        "Declare what must be right: the loss, gradients, updated weights.",
    ),
    Question(
        NOT_CONFIRMED,
        "a finding that numbers do not bear out",
        "The form of the plan speaks against it, but run on numbers both plans agree, or they could not be run.",
        "mul y on rank 0: it holds a, expected b (wrong-input); but run on random numbers both plans agree",
        "The plan may be right in another way than expected: compare the two tensors that are named.",
    ),
    Question(
        NOT_RUN,
        "plans that cannot be run",
        "Their size or a fault of form keeps the plans from being run on numbers, or followed by elements.",
        "parallel.plan: not swept: all ranks run 900,000 nodes, the limit is 400,000",
        "Ask about fewer ranks, layers or microbatches of the same structure.",
    ),
    Question(
        DRAWS_NOT_MATCHED,
        "random numbers, as of dropout, that are not known to be the same",
        "Ranks draw random numbers, and which of them stand for which of the single-device plan's is not told.",
        "random numbers: the ranks draw others than one device does, and which of them belong together is not told",
        "Seed the generators as docs/pytorch.md says, or assume masks-by-law.",
    ),
    Question(
        SPECS_MISSING,
        "inputs of a recorded program whose parts are not stated",
        "Ranks read less of an input than one device, and nothing says which part: no question can be put.",
        'nothing says which part of x ([2, 4] of [4, 4]) a rank has: as specs={"x": shard(0, ctx.rank, 2)}',
        "State the part of each rank in specs of the Program (docs/pytorch.md).",
    ),
    Question(
        OUT_OF_LIMIT,
        "a limit of time or memory",
        "The run was ended before everything was decided.",
        "the run: the limit of 60 s for the whole run was reached (--time-limit)",
        "Raise --time-limit or --memory-limit.",
    ),
)  # fmt: skip
QUESTIONS = {question.code: question for question in _ALL}
"""Every code, in the order of the page."""
