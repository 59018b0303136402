"""The sizes of a generated model and of its parallelization, and which of them fit together."""

from dataclasses import dataclass, fields

from verdict.errors import UsageError


@dataclass(frozen=True)
class Sizes:
    """Sizes of a model and of its parallelization.

    batch: the samples of one step, over all replicas and microbatches. ffn: the width between the two linears of a
    feed-forward block. dp, tp, pp: data, tensor and pipeline parallel. The mlp has no heads, seq and vocab.
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
    """Raise UsageError where the sizes do not fit the model or each other."""
    for field in fields(sizes):
        if getattr(sizes, field.name) < 1:
            raise UsageError(model, f"{field.name} is {getattr(sizes, field.name)}", "every size is at least 1")
    _divides(model, "batch", sizes.batch, "dp x microbatches", sizes.dp * sizes.microbatches)
    _divides(model, "ffn", sizes.ffn, "tp", sizes.tp)
    if sizes.pp > sizes.layers:
        raise UsageError(model, f"{sizes.pp} pipeline stages for {sizes.layers} layers", "give each stage a layer")
    if model == "llama3":
        _divides(model, "hidden", sizes.hidden, "heads", sizes.heads)
        _divides(model, "the width of a head (hidden / heads)", sizes.head, "2, for rotary pairs", 2)
        _divides(model, "heads", sizes.heads, "tp", sizes.tp)
        _divides(model, "vocab", sizes.vocab, "tp", sizes.tp)


def _divides(model: str, what: str, size: int, by: str, parts: int) -> None:
    if size % parts:
        raise UsageError(model, f"{what} is {size}, which {parts} ({by}) does not divide", "choose a multiple of it")
