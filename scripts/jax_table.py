"""Verify the examples of examples/jax, and write the table of docs/jax.md: python scripts/jax_table.py [NAME ...].

NAME: FILE.py:FUNCTION of some rows; the others keep what was measured. `--python PATH` names the Python that has jax.
Exit status 1 where a verdict is not the right one. Seconds are those of the processor, compiling included.
"""

import argparse
import json
import re
import resource
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "jax.md"
BEGIN, END = "<!-- table examples -->\n", "<!-- end -->"
HEAD = f"| program | what is parallel in it | verdict | nodes, all devices | distinct claims | s |\n{'|---' * 6}|\n"


class Example(NamedTuple):
    """A row: FILE.py:FUNCTION, what it shows, and the verdict that is right."""

    target: str
    shows: str
    right: str = "PROVED"


EXAMPLES = (
    Example("mlp.py:build", "perceptron, SGD: data x tensor"),
    Example("mlp.py:build_adam", "the same, `optax.adam`"),
    Example("mlp.py:build_explicit", "SGD, axes of type Explicit"),
    Example("mlp.py:build_data", "SGD: data"),
    Example("mlp.py:build_data_adam", "the same, `optax.adam`"),
    Example("mlp.py:build_tensor", "SGD: tensor, over all devices"),
    Example("mlp.py:build_tensor_adam", "the same, `optax.adam`"),
    Example("mlp.py:build_fsdp", "SGD: weights and batch over all devices (FSDP)"),
    Example("mlp.py:build_fsdp_adam", "the same, `optax.adam`"),
    Example("shard_map.py:build", "the same by hand, `psum`"),
    Example("shard_map.py:build_wrong_axis", "`psum` over the wrong axis", "REFUTED"),
    Example("transformer.py:build", "two layers, rotary, causal, cross entropy, `optax.adamw`: data"),
    Example("transformer.py:build_tensor", "data x tensor"),
    Example("transformer.py:build_fsdp", "weights, states and batch over all devices (FSDP)"),
    Example("transformer.py:build_sequence", "data x tensor and sequence"),
    Example("transformer.py:build_scanned", "`lax.scan` over the layers: data"),
    Example("transformer.py:build_tensor_scanned", "`lax.scan`: data x tensor"),
    Example("transformer.py:build_tensor_deep", "`lax.scan` over 32 layers: data x tensor"),
    Example("pipeline.py:build", "pipeline of 4 stages by `ppermute` x data, 2 microbatches, AdamW"),
    Example("pipeline.py:build_wrong", "microbatches in the wrong order", "REFUTED"),
    Example("moe.py:build", "8 experts by `all_to_all`, AdamW"),
    Example("moe.py:build_wrong", "results are not sent back", "REFUTED"),
    Example("ring.py:build", "causal ring attention by `ppermute`, running softmax, AdamW"),
    Example("ring.py:build_wrong_scale", "what was summed is not scaled to the new maximum", "REFUTED"),
    Example("ring.py:build_wrong_mask", "the mask takes each piece for the device's own", "REFUTED"),
    Example("fsdp.py:build", "FSDP by hand: `all_gather` and its transpose, clipped, AdamW"),
    Example("fsdp.py:build_wrong_norm", "each device clips by the norm of its own shards", "REFUTED"),
    Example("fsdp.py:build_wrong_twice", "gradients are reduced twice", "REFUTED"),
    Example("sequence.py:build", "tensor x sequence by hand: `all_gather`, `psum_scatter`, AdamW"),
    Example("sequence.py:build_wrong_norm", "gradients of the norm are of one piece", "REFUTED"),
    Example("sequence.py:build_wrong_positions", "each piece begins at position 0", "REFUTED"),
    Example("attention.py:build", "causal attention by hand, 1,024 positions, 32,000 words: tensor, at reduced shapes"),
    Example("attention.py:build_wrong_mask", "the last device's mask begins a position later", "REFUTED"),
    Example("attention.py:build_wrong_sum", "what devices make of their heads is not added up", "REFUTED"),
    Example("grouped.py:build", "grouped queries, 512 positions, 4,096 words, AdamW: data x tensor, at reduced shapes"),
    Example("scanned.py:build", "`lax.scan` over 8 layers by hand, data x tensor, SGD with momentum: by induction"),
    Example("scanned.py:build_wrong_sum", "no sum over the columns in a layer", "REFUTED"),
    Example("scanned.py:build_wrong_layer", "the last layer is left out", "REFUTED"),
    Example("equinox_model.py:build", "equinox's MLP as it is, SGD with momentum: data"),
    Example("equinox_model.py:build_old", "the same, XLA's older propagation"),
    Example("flax_model.py:build", "flax's (linen) dense layers and layer norm as they are, SGD with momentum: data"),
    Example("flax_model.py:build_tensor", "data x tensor"),
    Example("flax_attention.py:build", "flax's own attention and layer norms, with biases, `optax.adamw`: data"),
    Example("flax_attention.py:build_tensor", "tensor, by heads"),
    Example("flax_attention.py:build_both", "data x tensor"),
)


class Measured(NamedTuple):
    """What a run said."""

    verdict: str
    nodes: int
    claims: int
    seconds: float


def measured(target: str, python: str) -> Measured:
    """Verify one example in processes of its own."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    named = ("--python", python) if python else ()
    command = [sys.executable, "-m", "verdict", "jax", str(ROOT / "examples" / "jax" / target), *named]
    run = subprocess.run([*command, "--format", "json"], check=False, capture_output=True, text=True, cwd=ROOT)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    report = json.loads(run.stdout)
    swept = report.get("sweep") or {}
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Measured(report["verdict"], report["parallel"]["nodes"], swept.get("distinct", 0), seconds)


def main() -> int:
    """Measure and write."""
    parser = argparse.ArgumentParser()
    parser.add_argument("names", nargs="*")
    parser.add_argument("--python", default="")
    asked = parser.parse_args()
    text = PAGE.read_text(encoding="utf-8")
    begin = text.index(BEGIN) + len(BEGIN)
    end = text.index(END, begin)
    rows = {match[1]: match[0] for match in re.finditer(r"\| `([\w.:]+)` \|.*\n", text[begin:end])}
    wrong = False
    for example in EXAMPLES:
        if asked.names and example.target not in asked.names:
            continue
        made = measured(example.target, asked.python)
        cells = (example.shows, made.verdict, f"{made.nodes:,}", f"{made.claims:,}", f"{made.seconds:.0f}")
        rows[example.target] = f"| `{example.target}` | {' | '.join(cells)} |\n"
        print(rows[example.target], end="", flush=True)
        wrong |= made.verdict != example.right
        table = HEAD + "".join(rows[each.target] for each in EXAMPLES if each.target in rows)
        PAGE.write_text(text[:begin] + table + text[end:], encoding="utf-8")
    return int(wrong)


if __name__ == "__main__":
    sys.exit(main())
