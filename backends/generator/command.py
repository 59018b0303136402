"""`verdict generate`: write a pair of generated plans."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from verdict.backends import save
from verdict.backends.generator import MODELS, Sizes, generate
from verdict.backends.generator.sizes import LOSSES, OPTIMIZERS, ROUTINGS
from verdict.errors import UsageError

_SUFFIXES = {"none": "", "xz": ".xz", "gz": ".gz", "zst": ".zst"}
_DEFAULT = Sizes()


def _size(name: str, help: str, least: int = 1) -> Callable[[Callable[..., None]], Callable[..., None]]:
    default: int = getattr(_DEFAULT, name)
    flag = f"--{name.replace('_', '-')}"
    return click.option(flag, type=click.IntRange(min=least), default=default, show_default=True, help=help)


@click.command("generate")
@click.argument("model", type=click.Choice(sorted(MODELS)))
@_size("layers", "Layers of the model.")
@_size("hidden", "Width of the model.")
@_size("heads", "Attention heads (not mlp).")
@_size("seq", "Tokens of a sample (not mlp).")
@_size("batch", "Samples of one step, over all replicas and microbatches.")
@_size("dp", "Data parallel replicas.")
@_size("tp", "Tensor parallel ranks of a stage.")
@_size("pp", "Pipeline stages.")
@_size("vpp", "Stages of each pipeline rank, interleaved.")
@click.option("--split-backward", is_flag=True, help="Weights' gradients apart from the other half of the backward.")
@_size("microbatches", "Microbatches of one step in each replica.")
@_size("vocab", "Size of the vocabulary (not mlp).")
@_size("vocab_multiple", "What rows of embedding and output are padded to a multiple of (not mlp).")
@_size("ffn", "Width of the feed-forward block.")
@_size("experts", "Experts of a layer (deepseek).")
@_size("topk", "Experts that a token is sent to (deepseek).")
@_size("groups", "Groups of experts (deepseek).")
@_size("topk_groups", "Groups that a token's experts are chosen from (deepseek).")
@_size("shared_experts", "Experts that every token is sent to (deepseek).", least=0)
@_size("moe_ffn", "Width of an expert (deepseek).")
@_size("dense_layers", "First layers that have no experts (deepseek).", least=0)
@click.option("--dropout", type=click.FloatRange(0, 1, max_open=True), default=0.0, show_default=True,
              help="Probability that an element is dropped (gpt).")  # fmt: skip
@click.option("--keyed", is_flag=True, help="What is dropped is a function of a key and the place in the tensor (gpt).")
@click.option("--evaluate", is_flag=True, help="Evaluation mode: nothing is dropped (gpt).")
@click.option("--tied", "--tie-embeddings", is_flag=True, help="The output has the weight of the embedding (gpt).")
@click.option("--sp", is_flag=True, help="Sequence parallel: tp ranks divide the positions between blocks.")
@_size("cp", "Context parallel ranks.")
@_size("lora", "Rank of adapters, which alone are trained then.", least=0)
@click.option("--zigzag", is_flag=True, help="Context parallel ranks have positions from the front and from the back.")
@_size("ep", "Expert parallel ranks, which divide the batch, too (deepseek).")
@click.option("--routing", type=click.Choice(ROUTINGS), default="gate", show_default=True, help="(deepseek)")
@_size("capacity", "Slots of a sample with each expert, where the routing is given (deepseek).")
@click.option("--loss", type=click.Choice(LOSSES), default="sum", show_default=True)
@click.option("--vocab-parallel", is_flag=True, help="The cross-entropy of logits that tp ranks divide.")
@click.option("--label-smoothing", type=click.FloatRange(0, 1, max_open=True), default=0.0, show_default=True)
@click.option("--ignore-index", type=int, default=-1, metavar="ID", help="Targets that do not count.")
@click.option("--padding", is_flag=True, help="Samples of unequal lengths: a mask of keys, a weight of each target.")
@click.option("--mean", is_flag=True, help="The loss is averaged over the targets that count.")
@click.option("--optimizer", type=click.Choice(OPTIMIZERS), default="none", show_default=True)
@click.option(
    "--clip", type=click.FloatRange(0), default=0.0, metavar="NORM", help="The greatest norm of all gradients."
)
@click.option("--loss-scale", type=click.FloatRange(0), default=0.0, metavar="S", help="Gradients of S times the loss, "
              "unscaled before the update; none where one overflows (mlp).")  # fmt: skip
@click.option("--master", is_flag=True, help="Weights in bfloat16, of which the optimizer has copies in float32.")
@_size("zero", "Level of ZeRO: 1 states, 2 gradients, 3 weights are divided over data parallel ranks.", least=0)
@click.option("--flat", is_flag=True, help="ZeRO 1 on one flat buffer, cut evenly and not along weights.")
@_size("steps", "Consecutive steps in one plan, each of which goes on from what the step before has left.")
@click.option("--list-ranks", is_flag=True, help="Data parallel ranks are devices of the plan, and no replicas.")
@click.option("-o", "--out", type=click.Path(path_type=Path, file_okay=False), required=True, metavar="DIR")
@click.option("--compress", type=click.Choice(list(_SUFFIXES)), default="none", show_default=True)
@click.option("--pickle", "plain", is_flag=True, help="Write pickles of plain data instead of text.")
def generate_command(model: str, out: Path, compress: str, plain: bool, **sizes: Any) -> None:
    """Write the single-device plan and the parallel plan of MODEL to DIR."""
    plans = generate(model, Sizes(**sizes))
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(str(out), f"the folder cannot be made: {error.strerror}") from None
    files = [out / f"{name}.plan{_SUFFIXES[compress]}" for name in ("single", "parallel")]
    for plan, file in zip(plans, files, strict=True):
        save(plan, str(file), plain)
    click.echo("wrote " + " and ".join(f"{file} ({_bytes(file.stat().st_size)})" for file in files))
    click.echo(f"next: verdict --sm {files[0]} --pm {files[1]}")


def _bytes(size: int) -> str:
    for unit, scale in (("MB", 1_000_000), ("kB", 1_000)):
        if size >= scale:
            return f"{size / scale:.1f} {unit}"
    return f"{size} bytes"
