"""A mixture of experts as DeepSeek-V3's: LLaMA3's blocks, with experts in place of the feed-forward after the
first layers.

A gate sends each token to `topk` experts by sigmoid scores, limited to `topk_groups` of the groups of experts; the
choice goes by scores and a bias that is not trained (gated.py), or the routing is given (experts.py). Shared experts
take every token. The attention is LLaMA3's and not latent.

Source: DeepSeek-V3 Technical Report, arXiv 2412.19437, section 2.1.2; its inference code, classes Gate and MoE.
"""

from verdict.backends.generator import llama3
from verdict.backends.generator.experts import routed_experts
from verdict.backends.generator.gated import gated_experts
from verdict.backends.generator.layers import add
from verdict.backends.generator.sizes import Sizes, divides
from verdict.backends.generator.tape import Tape
from verdict.backends.generator.value import Value
from verdict.errors import UsageError

INPUT = llama3.INPUT

boundary = llama3.boundary


def check(model: str, sizes: Sizes) -> None:
    """Raise UsageError where the sizes do not fit the model."""
    llama3.check(model, sizes)
    divides(model, "batch", sizes.batch, "dp x ep x microbatches", sizes.dp * sizes.ep * sizes.microbatches)
    divides(model, "experts", sizes.experts, "ep", sizes.ep)
    if sizes.routing == "given" and sizes.tp > 1:
        raise UsageError(model, "a given routing with tensor parallel ranks", "choose tp 1, and ep for the experts")
    if sizes.routing == "given" and sizes.cp > 1:
        raise UsageError(model, "a given routing of tokens that context parallel ranks divide", "choose cp 1")
    if sizes.ep > 1 and sizes.tp > 1:
        raise UsageError(model, "experts over both expert and tensor parallel ranks", "choose tp 1 or ep 1")
    divides(model, "experts", sizes.experts, "groups", sizes.groups)
    if sizes.topk_groups > sizes.groups:
        raise UsageError(model, f"topk_groups is {sizes.topk_groups} of {sizes.groups} groups", "choose fewer")
    each = sizes.experts // sizes.groups
    if sizes.groups > 1 and each < 2:
        raise UsageError(model, "a group of one expert", "a group is as good as its two best: give it two at least")
    if sizes.topk > each * sizes.topk_groups:
        raise UsageError(
            model, f"topk is {sizes.topk}, {sizes.topk_groups} groups have {each * sizes.topk_groups} experts",
            "choose a smaller topk",
        )  # fmt: skip


def record(tape: Tape, sizes: Sizes, layers: range, before: tuple[Value, ...]) -> tuple[Value, ...]:
    """Record `layers` after `before`, which the first stage lacks: what the next stage receives, or the loss."""
    return llama3.blocks(tape, sizes, layers, before, _feed_forward)


def _feed_forward(tape: Tape, sizes: Sizes, x: Value, layer: int, at: str) -> Value:
    if layer < sizes.dense_layers:
        return llama3.swiglu(tape, x, sizes.ffn, at)
    given, width = sizes.routing == "given", sizes.shared_experts * sizes.moe_ffn
    handles = (1 if given else 2) + (width > 0)
    x, *more = tape.multiref(x, handles) if handles > 1 else (x,)
    experts = f"{at}.experts"
    y = routed_experts(tape, sizes, x, experts) if given else gated_experts(tape, sizes, x, more.pop(0), at)
    for handle in more:
        y = add(tape, y, llama3.swiglu(tape, handle, width, f"{at}.shared_experts"), f"{at}.sum")
    return y
