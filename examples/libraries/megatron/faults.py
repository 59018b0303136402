"""Megatron-Core: silent faults that the release has, of NVIDIA/Megatron-LM#7452. Nothing in the programs is a mistake.

python faults_on_gloo.py shows both without Verdict.
"""

from gpt import PLAIN, SEQ, SIZES, VOCAB, program
from megatron.core import parallel_state
from megatron.core.models.gpt import GPTModel
from megatron.core.models.gpt.gpt_layer_specs import get_gpt_layer_local_spec
from megatron.core.tensor_parallel import vocab_parallel_cross_entropy
from megatron.core.tensor_parallel.random import initialize_rng_tracker
from megatron.core.transformer.transformer_config import TransformerConfig


class Smoothed(GPTModel):
    """The model with the library's vocabulary-parallel loss and its label smoothing."""

    def compute_language_model_loss(self, labels, logits):
        return vocab_parallel_cross_entropy(logits, labels.transpose(0, 1).contiguous(), label_smoothing=0.1)


def gpt(tensor=1, kind=GPTModel, **more):
    """The model of this rank, of `tensor` tensor parallel ranks."""
    initialize_rng_tracker(inference_rng_tracker=True)
    parallel_state.destroy_model_parallel()
    parallel_state.initialize_model_parallel(tensor_model_parallel_size=tensor)
    config = TransformerConfig(**SIZES, **PLAIN, tensor_model_parallel_size=tensor)
    return kind(config, get_gpt_layer_local_spec(), VOCAB, SEQ, position_embedding_type="rope", **more)


def build_single(ctx):
    return program(ctx, gpt())


def build_gathered_logits(ctx):
    """`parallel_output=False` and labels: whole logits go where shards of the vocabulary are expected."""
    return program(ctx, gpt(ctx.world, parallel_output=False))


def build_smoothed_single(ctx):
    return program(ctx, gpt(kind=Smoothed))


def build_smoothed(ctx):
    """Each rank smooths with the mean over its own part of the vocabulary."""
    return program(ctx, gpt(ctx.world, kind=Smoothed))
