"""The sizes of a generated model and of its parallelization, and which of them fit together."""

from dataclasses import dataclass, fields

from verdict.errors import UsageError

_MAY_BE_ZERO = frozenset({"shared_experts", "dense_layers"})


@dataclass(frozen=True)
class Sizes:
    """Sizes of a model and of its parallelization. A model takes no notice of those that it does not have.

    batch: the samples of one step, over all replicas and microbatches. ffn: the width between the two linears of a
    feed-forward block. dp, tp, pp: data, tensor and pipeline parallel.
    experts, topk, groups, topk_groups: of a mixture of experts, how many there are, how many a token is sent to,
    in how many groups they are, and from how many of these a token's can be. moe_ffn: the width of one expert.
    shared_experts: those that every token is sent to. dense_layers: the first layers, which have no experts.
    dropout: the probability that an element is dropped; without it there is no dropout.
    tied: the output has the weight of the embedding.
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

    @property
    def rows(self) -> int:
        """The samples of one column, that is one (replica, microbatch)."""
        return self.batch // (self.dp * self.microbatches)

    @property
    def head(self) -> int:
        """The width of one attention head."""
        return self.hidden // self.heads

    def stage(self, number: int) -> range:
        """The layers of pipeline stage `number`: as even as can be, the first stages one more."""
        least, more = divmod(self.layers, self.pp)
        start = number * least + min(number, more)
        return range(start, start + least + (number < more))


def check(model: str, sizes: Sizes) -> None:
    """Raise UsageError where the sizes do not fit each other, whatever the model."""
    for field in fields(sizes):
        value = getattr(sizes, field.name)
        least = 0 if field.name in _MAY_BE_ZERO else 1
        if field.type is int and value < least:
            raise UsageError(model, f"{field.name} is {value}", f"it is at least {least}")
    if not 0 <= sizes.dropout < 1:
        raise UsageError(model, f"dropout is {sizes.dropout}", "it is a probability below 1")
    divides(model, "batch", sizes.batch, "dp x microbatches", sizes.dp * sizes.microbatches)
    divides(model, "ffn", sizes.ffn, "tp", sizes.tp)
    if sizes.pp > sizes.layers:
        raise UsageError(model, f"{sizes.pp} pipeline stages for {sizes.layers} layers", "give each stage a layer")


def check_attention(model: str, sizes: Sizes) -> None:
    """Raise UsageError where heads and vocabulary cannot be divided as the models with attention do."""
    divides(model, "hidden", sizes.hidden, "heads", sizes.heads)
    divides(model, "heads", sizes.heads, "tp", sizes.tp)
    divides(model, "vocab", sizes.vocab, "tp", sizes.tp)


def divides(model: str, what: str, size: int, by: str, parts: int) -> None:
    """Raise UsageError unless `parts`, which are called `by`, divide `size`, which is called `what`."""
    if size % parts:
        raise UsageError(model, f"{what} is {size}, which {parts} ({by}) does not divide", "choose a multiple of it")
