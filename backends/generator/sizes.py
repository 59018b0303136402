"""The sizes of a generated model and of its parallelization, and which of them fit together."""

from collections.abc import Callable
from dataclasses import dataclass, fields

from verdict.backends.generator.mesh import Mesh
from verdict.errors import UsageError

LOSSES = ("sum", "cross-entropy")
ROUTINGS = ("gate", "given")
OPTIMIZERS = ("none", "sgd", "adamw")
_MAY_BE_ZERO = frozenset({"shared_experts", "dense_layers", "zero", "lora"})
_ANY = frozenset({"ignore_index"})
_ALWAYS = frozenset({"dp", "pp", "tp"})


@dataclass(frozen=True)
class Sizes:
    """Sizes of a model and of its parallelization. A model takes no notice of those that it does not have.

    batch: the samples of one step, over all replicas and microbatches; ranks that are devices of the plan may have
    unequally many. Heads, widths, the vocabulary and positions are divided as evenly as torch.chunk does.
    ffn: the width between the two linears of a feed-forward block. dp, tp, pp: data, tensor and pipeline parallel.
    vpp: the stages of each pipeline rank, which are interleaved. split_backward: weights' gradients are computed apart
    from what the stage before waits for.
    vocab_multiple: embedding and output have rows up to a multiple of it, which no token names.
    padding: samples have unequal lengths, see losses.py.
    experts, topk, groups, topk_groups: of a mixture of experts, how many there are, how many a token is sent to,
    in how many groups they are, and from how many of these a token's can be. moe_ffn: the width of one expert.
    shared_experts: those that every token is sent to. dense_layers: the first layers, which have no experts.
    dropout: the probability that an element is dropped; without it there is no dropout. keyed: what is dropped is a
    function of a key and the place in the whole tensor. evaluate: nothing is dropped, as in evaluation mode.
    tied: the output has the weight of the embedding. lora: the rank of the adapters of all linears, which alone are
    trained; 0 for none.
    loss: "sum" of the logits, or "cross-entropy" summed over the targets, with label_smoothing, and without targets
    that are ignore_index (none below 0); mean: averaged over those that count. vocab_parallel: its logits stay
    divided along the vocabulary.
    sp: sequence parallel, the tp ranks divide the positions between blocks. cp: context parallel ranks, which divide
    the positions, and send keys and values round a ring; zigzag: each has one part from the front and one from the
    back. ep: ranks that divide the experts, and the batch as dp does.
    routing: by a "gate" on each rank, or "given" with `capacity` slots for each sample and expert.
    steps: consecutive steps in one plan, each of which goes on from what the step before has left.
    optimizer: "none", "sgd" or "adamw". clip: the greatest norm of all gradients; 0 for none. zero: the level of
    ZeRO, at which data parallel ranks divide the states of the optimizer (1), the gradients (2), the weights (3).
    loss_scale: what the loss is multiplied by before the backward, 0 for nothing. master: the optimizer has weights of
    its own in float32, the others are in bfloat16.
    flat: ZeRO 1 divides one buffer of all gradients evenly, and not each weight.
    list_ranks: data parallel ranks are devices of the plan, and no replicas.
    """

    layers: int = 2
    hidden: int = 4096
    heads: int = 32
    seq: int = 128
    batch: int = 32
    dp: int = 2
    tp: int = 2
    pp: int = 2
    microbatches: int = 2
    vocab: int = 51200
    ffn: int = 11008
    experts: int = 64
    topk: int = 6
    groups: int = 8
    topk_groups: int = 4
    shared_experts: int = 1
    moe_ffn: int = 2048
    dense_layers: int = 1
    dropout: float = 0.0
    tied: bool = False
    loss: str = "sum"
    label_smoothing: float = 0.0
    ignore_index: int = -1
    mean: bool = False
    vocab_parallel: bool = False
    sp: bool = False
    cp: int = 1
    zigzag: bool = False
    lora: int = 0
    vpp: int = 1
    split_backward: bool = False
    ep: int = 1
    routing: str = "gate"
    capacity: int = 2
    optimizer: str = "none"
    clip: float = 0.0
    zero: int = 0
    vocab_multiple: int = 1
    padding: bool = False
    keyed: bool = False
    evaluate: bool = False
    loss_scale: float = 0.0
    master: bool = False
    flat: bool = False
    list_ranks: bool = False
    steps: int = 1

    def blocks(self, rank: int) -> tuple[int, ...]:
        """The blocks of the positions that a context parallel rank has."""
        return (rank, 2 * self.cp - 1 - rank) if self.zigzag else (rank,)

    @property
    def replicas(self) -> int:
        """How many copies of the plan's devices there are: as many as data parallel ranks that it does not list."""
        return 1 if self.list_ranks else self.dp

    @property
    def mesh(self) -> Mesh:
        """The devices of the plan."""
        data = (("dp", self.dp),) if self.list_ranks else ()
        axes = (*data, ("ep", self.ep), ("cp", self.cp), ("pp", self.pp), ("tp", self.tp))
        return Mesh(tuple((axis, size) for axis, size in axes if size > 1 or axis in _ALWAYS))

    @property
    def table(self) -> int:
        """The rows of the embedding and of the output."""
        return -(-self.vocab // self.vocab_multiple) * self.vocab_multiple

    @property
    def head(self) -> int:
        """The width of one attention head."""
        return self.hidden // self.heads

    @property
    def stages(self) -> int:
        """The number of pipeline stages, on all devices."""
        return self.pp * self.vpp

    def stage(self, number: int) -> range:
        """The layers of pipeline stage `number`: as even as can be, the first stages one more."""
        least, more = divmod(self.layers, self.stages)
        start = number * least + min(number, more)
        return range(start, start + least + (number < more))


_CONDITIONS: tuple[tuple[Callable[[Sizes], bool], str, str], ...] = (
    (lambda s: not s.sp or s.tp > 1, "sequence parallelism with one tensor parallel rank", "choose tp of at least 2"),
    (lambda s: not s.lora or not s.tied, "adapters of tied embeddings", "choose one of them"),
    (lambda s: s.vpp == 1 or s.pp > 1, "interleaved stages on one pipeline rank", "choose pp of at least 2"),
    (
        lambda s: s.vpp == 1 or s.microbatches % s.pp == 0,
        "an interleaved pipeline takes microbatches in rounds of pp",
        "choose a multiple of pp microbatches",
    ),
    (
        lambda s: not s.split_backward or s.zero < 2,
        "a split backward pass whose gradients are scattered in it",
        "choose ZeRO 1",
    ),
    (lambda s: not s.zigzag or s.cp > 1, "zigzag with one context parallel rank", "choose cp of at least 2"),
    (lambda s: s.routing in ROUTINGS, "there is no such routing", f"there are {', '.join(ROUTINGS)}"),
    (lambda s: s.dropout > 0 or not (s.keyed or s.evaluate), "a random state or a mode of no dropout",
     "choose a dropout"),
    (lambda s: not s.keyed or s.replicas * s.microbatches == 1,
     "a key and a place for samples that replicas or microbatches have, of which one program tells",
     "list the ranks, with one microbatch"),
    (lambda s: s.loss_scale >= 0, "loss_scale is below 0", "it is a factor; 0 is for none"),
    (lambda s: s.optimizer != "none" or not (s.loss_scale or s.master),
     "a loss scale and master weights are of an update", "choose an optimizer"),
    (lambda s: not s.flat or s.zero == 1, "a flat buffer without shards of optimizer states", "choose ZeRO 1"),
    (lambda s: not s.flat or (s.ep == 1 and not (s.clip or s.loss_scale or s.master)),
     "a flat buffer with experts of their own, clipping, a loss scale or master weights", "choose one of them"),
    (lambda s: not s.flat or not s.tied or s.pp == 1, "flat buffers with one weight on two stages",
     "choose one of them"),
    (lambda s: s.cp == 1 or not s.dropout, "dropout under context parallelism", "choose one of them"),
    (lambda s: s.loss in LOSSES, "there is no such loss", f"there are {', '.join(LOSSES)}"),
    (
        lambda s: s.loss == "cross-entropy"
        or not (s.vocab_parallel or s.label_smoothing or s.ignore_index >= 0 or s.padding),
        "the sum of the logits has no targets: no vocabulary-parallel loss, no smoothing, no ignored index, no padding",
        "choose the loss cross-entropy",
    ),
    (lambda s: not s.mean or s.ignore_index >= 0 or s.padding,
     "a mean over targets all of which count is but a constant factor", "choose an ignore_index"),
    (lambda s: not s.padding or s.ignore_index < 0, "targets that are ignored beside weights of all", "choose one"),
    (lambda s: not s.padding or s.cp == 1, "padding of positions that context parallel ranks divide", "choose cp 1"),
    (lambda s: not s.vocab_parallel or s.tp > 1, "a vocabulary-parallel loss with one tensor parallel rank",
     "choose tp of at least 2"),
    (lambda s: 0 <= s.label_smoothing < 1, "label_smoothing is no share", "it is from 0 to below 1"),
    (lambda s: s.ignore_index < s.vocab, "ignore_index is no token", "it is below the size of the vocabulary"),
    (lambda s: s.optimizer in OPTIMIZERS, "there is no such optimizer", f"there are {', '.join(OPTIMIZERS)}"),
    (lambda s: 0 <= s.zero <= 3, "there is no such level of ZeRO", "there are 0, 1, 2 and 3"),
    (lambda s: s.clip >= 0, "clip is below 0", "it is a norm; 0 is for none"),
    (lambda s: s.optimizer != "none" or not (s.zero or s.clip), "ZeRO and clipping end in an update of the weights",
     "choose an optimizer"),
    (lambda s: s.steps == 1 or s.optimizer != "none", "a second step with the weights of the first",
     "choose an optimizer"),
)  # fmt: skip


def check(model: str, sizes: Sizes) -> None:
    """Raise UsageError where the sizes do not fit each other, whatever the model."""
    for field in fields(sizes):
        value = getattr(sizes, field.name)
        least = 0 if field.name in _MAY_BE_ZERO else value if field.name in _ANY else 1
        if field.type is int and value < least:
            raise UsageError(model, f"{field.name} is {value}", f"it is at least {least}")
    if not 0 <= sizes.dropout < 1:
        raise UsageError(model, f"dropout is {sizes.dropout}", "it is a probability below 1")
    by = "microbatches" if sizes.list_ranks else "dp x microbatches"
    divides(model, "batch", sizes.batch, by, sizes.replicas * sizes.microbatches)
    divides(model, "seq", sizes.seq, "blocks of cp" if sizes.zigzag else "cp", sizes.cp * len(sizes.blocks(0)))
    for fits, problem, help in _CONDITIONS:
        if not fits(sizes):
            raise UsageError(model, problem, help)
    if sizes.stages > sizes.layers:
        raise UsageError(model, f"{sizes.stages} pipeline stages for {sizes.layers} layers", "give each stage a layer")


def check_attention(model: str, sizes: Sizes) -> None:
    """Raise UsageError where heads cannot be divided as the models with attention do."""
    divides(model, "hidden", sizes.hidden, "heads", sizes.heads)


def divides(model: str, what: str, size: int, by: str, parts: int) -> None:
    """Raise UsageError unless `parts`, which are called `by`, divide `size`, which is called `what`."""
    if size % parts:
        raise UsageError(model, f"{what} is {size}, which {parts} ({by}) does not divide", "choose a multiple of it")
