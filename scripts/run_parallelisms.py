"""Generate every parallelism that is offered, verify it, and write what came out into docs/parallelisms.md.

    python scripts/run_parallelisms.py [--only WORDS] [--timeout SECONDS] [--oracle] [--write]

Each row is `verdict generate` with its flags at small sizes (COMMON), then `verdict`, each a process of its own.
--oracle runs the pair on random numbers, too. Without --write the table goes to the terminal; the page's own table is
replaced by rows of this run, other rows stay as they are. Exit status 1 where the oracle finds a difference or a
verdict is REFUTED: all of these plans are right.
"""

import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import click

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from scripts.machine import machine  # noqa: E402
from scripts.processes import Done, ask, generate, run  # noqa: E402

PAGE = ROOT / "docs" / "parallelisms.md"
COMMON = {
    "layers": 1, "hidden": 8, "heads": 2, "seq": 4, "batch": 4, "vocab": 8, "ffn": 8, "dp": 1, "tp": 1, "pp": 1,
    "microbatches": 1, "experts": 4, "topk": 2, "groups": 2, "topk-groups": 1, "moe-ffn": 8, "dense-layers": 0,
}  # fmt: skip
LARGE = "--layers 126 --hidden 16384 --heads 128 --ffn 53248 --seq 4096"
AT_SCALE = "at scale"
BEGIN, END = "<!-- verdicts -->", "<!-- end of verdicts -->"


class Row(NamedTuple):
    """One parallelism: a model and its flags, and what its plan contains."""

    name: str
    model: str
    flags: str
    contains: str


ROWS = (
    Row("data parallel replicas", "llama3", "--dp 2", "gradients summed over replicas"),
    Row("tensor parallel", "llama3", "--tp 2", "Megatron's linears, all_reduce behind rows and before columns"),
    Row("pipeline, 1F1B", "llama3", "--pp 2 --layers 2 --microbatches 2", "sends and receives of a one-forward-one-"
        "backward schedule"),
    Row("pipeline, interleaved", "llama3", "--pp 2 --vpp 2 --layers 4 --microbatches 2", "two stages on each pipeline "
        "rank"),
    Row("pipeline, split backward", "llama3", "--pp 2 --layers 2 --microbatches 2 --split-backward", "gradients of "
        "weights in a segment of their own"),
    Row("low-rank adapters", "llama3", "--tp 2 --sp --lora 2 --optimizer adamw", "frozen weights; the gradient of one "
        "half of each adapter added over tp"),
    Row("sequence parallel", "llama3", "--tp 2 --sp", "all_gather and reduce_scatter along the positions; norm weights "
        "whose gradients the tp ranks add"),
    Row("AdamW", "llama3", "--dp 2 --tp 2 --optimizer adamw", "updated weights and both states on every rank"),
    Row("AdamW, clipped", "llama3", "--dp 2 --tp 2 --sp --optimizer adamw --clip 0.5", "the norm of all gradients, "
        "each element counted once"),
    Row("SGD with momentum", "llama3", "--dp 2 --tp 2 --optimizer sgd", "updated weights and momenta"),
    Row("ZeRO 1", "llama3", "--dp 2 --tp 2 --sp --zero 1 --optimizer adamw --clip 0.5", "reduce_scatter of the "
        "gradients once a step, sharded states and update, all_gather of the weights"),
    Row("ZeRO 2", "llama3", "--dp 2 --microbatches 2 --zero 2 --optimizer adamw", "reduce_scatter in every microbatch "
        "into a sharded accumulator"),
    Row("ZeRO 3 (FSDP)", "llama3", "--dp 2 --zero 3 --optimizer adamw", "sharded weights, gathered for each use "
        "forward and backward"),
    Row("ZeRO 1, ranks listed", "llama3", "--dp 2 --tp 2 --zero 1 --optimizer adamw --clip 0.5 --list-ranks", "data "
        "parallel ranks as devices of the plan and not as replicas"),
    Row("ZeRO 1 with context parallel ranks", "llama3", "--dp 2 --cp 2 --zero 1 --optimizer adamw", "reduce_scatter "
        "over context parallel ranks, then over replicas"),
    Row("uneven shards", "llama3", "--dp 3 --batch 6 --zero 1 --optimizer sgd", "shards of 3, 3 and 2 rows"),
    Row("vocabulary-parallel cross-entropy", "llama3", "--tp 2 --loss cross-entropy --vocab-parallel", "the greatest "
        "logit, the sum of powers and the target's logit, reduced over tp"),
    Row("... with label smoothing and ignored targets", "llama3", "--tp 2 --loss cross-entropy --vocab-parallel "
        "--label-smoothing 0.1 --ignore-index 0", "token counts that differ between ranks"),
    Row("mean over the targets that count", "llama3", "--dp 2 --batch 4 --microbatches 2 --loss cross-entropy "
        "--ignore-index 0 --mean", "all targets counted before the first forward pass"),
    Row("gathered cross-entropy", "gpt", "--tp 2 --loss cross-entropy", "all_gather of the logits, whose gradient is "
        "cut again"),
    Row("tied embeddings", "gpt", "--tp 2 --pp 2 --layers 2 --tie-embeddings --loss cross-entropy --optimizer sgd",
        "one weight on two stages, which add its gradients"),
    Row("ring attention", "llama3", "--cp 2", "keys and values round a ring, an online softmax, its backward written "
        "out"),
    Row("ring attention, zigzag", "llama3", "--cp 2 --zigzag --seq 8", "two blocks of positions on each rank"),
    Row("ring attention, three ranks", "llama3", "--cp 3 --seq 6", "the same"),
    Row("experts by a gate, tensor parallel", "deepseek", "--tp 2", "a range of experts on each tp rank"),
    Row("expert parallel, given routing", "deepseek", "--ep 2 --routing given", "two all_to_all a layer, forward and "
        "backward"),
    Row("expert and data parallel", "deepseek", "--ep 2 --dp 2 --routing given --optimizer adamw --zero 1", "experts "
        "summed over dp, all else over dp and ep"),
    Row("experts by a gate, expert parallel", "deepseek", "--ep 2 --dp 2 --zero 1 --optimizer adamw", "tokens and "
        "choices gathered over ep, sums of experts scattered; router and shared experts summed over dp and ep"),
    Row("experts by a gate, sequence parallel", "deepseek", "--tp 2 --sp", "tokens gathered for the gate and for the "
        "experts"),
    Row("experts by a gate, ring attention", "deepseek", "--cp 2 --batch 2 --hidden 4 --ffn 4 --moe-ffn 4 --vocab 4",
        "a router whose gradient the cp ranks add"),
    Row("two steps", "llama3", "--dp 2 --tp 2 --batch 2 --optimizer adamw --steps 2", "the second step on what the "
        "first has left"),
    Row("two steps, ZeRO 3", "llama3", "--dp 2 --zero 3 --optimizer sgd --steps 2", "shards that are gathered anew"),
    Row("heads, widths, vocabulary that do not divide", "llama3", "--tp 3 --heads 5 --hidden 10 --vocab 10 --batch 2",
        "2, 2 and 1 heads; 3, 3 and 2 columns; 4, 4 and 2 rows"),
    Row("positions that do not divide", "llama3", "--tp 2 --sp --heads 3 --hidden 12 --seq 5 --batch 2", "3 and 2 "
        "positions"),
    Row("unequal batches", "llama3", "--dp 3 --batch 5 --list-ranks --optimizer sgd", "2, 2 and 1 samples"),
    Row("padded vocabulary", "llama3", "--tp 2 --vocab 7 --vocab-multiple 4 --batch 2 --loss cross-entropy "
        "--vocab-parallel", "rows of embedding and output that no token names"),
    Row("samples of unequal lengths", "llama3", "--dp 2 --microbatches 2 --padding --mean --loss cross-entropy",
        "a mask of keys; weights of targets, the sum of which the mean is over"),
    Row("dropout by keys", "gpt", "--tp 2 --sp --dropout 0.25 --keyed --batch 2", "one key for each place in the "
        "model, at each rank's own positions"),
    Row("scaled loss", "mlp", "--dp 2 --hidden 4 --ffn 4 --batch 2 --zero 1 --optimizer sgd --loss-scale "
        "50000", "a step that all ranks skip where one gradient overflows"),
    Row("master weights", "llama3", "--dp 2 --tp 2 --sp --batch 2 --zero 1 --optimizer adamw --master", "the "
        "optimizer's own weights in float32, cast to bfloat16 and gathered"),
    Row("flat buffer", "llama3", "--dp 2 --tp 2 --sp --batch 2 --zero 1 --optimizer adamw --flat", "one buffer of all "
        "gradients, cut evenly and not along weights"),
    Row("all of it", "llama3", "--dp 2 --tp 2 --pp 2 --cp 2 --zigzag --sp --layers 2 --microbatches 2 --seq 8 "
        "--batch 4 --loss cross-entropy --vocab-parallel --optimizer adamw --clip 0.5 --zero 1", "16 ranks"),
    Row("at scale: TP, SP, PP, DP, ZeRO 1", "llama3", f"{LARGE} --dp 64 --tp 8 --sp --pp 16 --microbatches 16 --batch "
        "1024 --vocab 128256 --zero 1 --optimizer adamw --clip 1.0", "a model of 405B parameters at its widths"),
    Row("at scale: FSDP, TP", "llama3", f"{LARGE} --dp 1024 --tp 8 --sp --batch 1024 --vocab 131072 --zero 3 "
        "--optimizer adamw --clip 1.0", "the same, weights gathered for each use"),
    Row("at scale: EP, DP, PP", "deepseek", "--layers 64 --hidden 7168 --heads 128 --seq 4096 --batch 1024 --vocab "
        "129280 --ffn 18432 --experts 256 --topk 8 --groups 8 --topk-groups 4 --moe-ffn 2048 --ep 8 --dp 64 --pp 16 "
        "--microbatches 2 --zero 1 --optimizer adamw --clip 1.0", "256 experts by a gate"),
    Row("at scale: CP, TP", "llama3", "--heads 8 --hidden 16 --vocab 16 --ffn 16 --dp 512 --tp 8 --cp 2 --batch 512",
        "one replica stands for 512, at small widths"),
    Row("at scale: zigzag CP, TP, 32 layers", "llama3", "--layers 32 --hidden 4096 --heads 32 --ffn 14336 --seq 4096 "
        "--vocab 128256 --dp 256 --tp 8 --sp --cp 4 --zigzag --microbatches 1 --batch 256 --zero 1 --optimizer adamw "
        "--clip 1.0", "a model of 8B parameters at its widths, all layers on each rank"),
    Row("at scale: zigzag CP, TP, PP, ZeRO 1", "llama3", "--layers 4 --hidden 4096 --heads 32 --ffn 14336 --seq 8192 "
        "--vocab 128256 --dp 64 --tp 8 --sp --pp 4 --cp 4 --zigzag --microbatches 2 --batch 128 --loss cross-entropy "
        "--vocab-parallel --optimizer adamw --clip 1.0 --zero 1", "four layers of 8B parameters, at their widths"),
)  # fmt: skip


def is_small(row: Row) -> bool:
    """Whether a row has small sizes, unlike those at scale."""
    return not row.name.startswith(AT_SCALE)


class Found(NamedTuple):
    """What a run of one row came to. nodes: of the parallel plan. distinct: the stages or claims that were proved."""

    ranks: str
    verdict: str
    seconds: str
    oracle: str
    nodes: str = ""
    distinct: str = ""


def measure(row: Row, timeout: float, oracle: bool) -> Found:
    """Generate and verify one row."""
    with TemporaryDirectory() as folder:
        pair = generate(row.model, COMMON, Path(folder), *row.flags.split(), timeout=timeout)
        done = ask(*pair, "--no-repair", timeout=timeout)
        words = ("run", "--sm", str(pair[0]), "--pm", str(pair[1]), "--format", "json")
        agreed = _decided(run(*words, timeout=timeout)) if oracle else {}
    outcome, said = agreed.get("outcome", ""), _decided(done)
    if not said:
        return Found("", f"no answer in {timeout:.0f} s", "", outcome)
    side, swept = said["parallel"], said["sweep"]
    distinct = f"{swept['distinct']} claims" if swept else f"{said['stages']['distinct']} stages"
    return Found(str(side["ranks"]), said["verdict"], f"{done.seconds:.1f}", outcome, str(side["nodes"]), distinct)


def _decided(done: Done) -> dict[str, Any]:
    """What a process said; nothing where it was ended."""
    if done.status not in (0, 1, 3, None):
        raise click.ClickException(done.errors.strip() or done.output.strip())
    return done.data


def line(row: Row, found: Found) -> str:
    """A row of the page's table."""
    flags = f"`{row.model} {row.flags}`"
    return (
        f"| {row.name} | {flags} | {row.contains} | {found.ranks} | {found.verdict} | {found.seconds} | {found.nodes} "
        f"| {found.distinct} |"
    )


def written(page: str, lines: dict[str, str], about: str) -> str:
    """The page with these rows, by name, in place of its own; rows that it has and are not here stay."""
    before, rest = page.split(BEGIN)
    table, after = rest.split(END)
    old = {text.split("|")[1].strip(): text for text in table.splitlines() if text.startswith("|")}
    rows = [lines.get(row.name) or old.get(row.name) or line(row, Found("", "", "", "")) for row in ROWS]
    head = ["| parallelism | `verdict generate` | what the plan contains | ranks | verdict | seconds "
            "| nodes | distinct |", "|---|---|---|---|---|---|---|---|"]  # fmt: skip
    return "\n".join([f"{before}{BEGIN}", about, "", *head, *rows, f"{END}{after}"])


@click.command()
@click.option("--only", default="", help="Rows whose name contains this.")
@click.option("--timeout", default=600.0, show_default=True, help="Seconds for one command.")
@click.option("--oracle", is_flag=True, help="Run each pair on random numbers, too.")
@click.option("--write", is_flag=True, help="Write the table into docs/parallelisms.md.")
def main(only: str, timeout: float, oracle: bool, write: bool) -> None:
    """Verify every parallelism that is offered."""
    lines, wrong = dict[str, str](), False
    sizes = " ".join(f"--{name} {size}" for name, size in COMMON.items())
    about = f"Measured: {machine()}. Beside the flags of each row: `{sizes}`."
    for row in ROWS:
        if only in row.name:
            found = measure(row, timeout, oracle)
            wrong = wrong or found.verdict == "REFUTED" or found.oracle not in ("", "agree")
            lines[row.name] = line(row, found)
            click.echo(f"{lines[row.name]} {found.oracle}")
            if write:
                PAGE.write_text(written(PAGE.read_text(encoding="utf-8"), lines, about), encoding="utf-8")
    sys.exit(int(wrong))


if __name__ == "__main__":
    main()
