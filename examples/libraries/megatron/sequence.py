"""Megatron-Core: its GPT with sequence parallelism, its own reduction of the gradients of norms behind it."""

import torch
from gpt import PLAIN, SEQ, SIZES, VOCAB, program
from megatron.core import parallel_state
from megatron.core.distributed import DistributedDataParallelConfig
from megatron.core.distributed.finalize_model_grads import _allreduce_non_tensor_model_parallel_grads
from megatron.core.models.gpt import GPTModel
from megatron.core.models.gpt.gpt_layer_specs import get_gpt_layer_local_spec
from megatron.core.tensor_parallel.random import initialize_rng_tracker
from megatron.core.transformer.transformer_block import TransformerBlockSubmodules
from megatron.core.transformer.transformer_config import TransformerConfig

from verdict.torch import cuda_as_cpu


class Norm(torch.nn.LayerNorm):
    """torch's in the place of Apex's, which needs a GPU: its weights are marked as Apex's are."""

    def __init__(self, config, hidden_size, eps=1e-5):
        super().__init__(hidden_size, eps=eps)
        for param in self.parameters():
            param.sequence_parallel = config.sequence_parallel


def gpt(tensor=1):
    """The model of this rank, of `tensor` tensor parallel ranks, between whose regions the sequence is cut."""
    initialize_rng_tracker(inference_rng_tracker=True)
    parallel_state.destroy_model_parallel()
    parallel_state.initialize_model_parallel(tensor_model_parallel_size=tensor)
    config = TransformerConfig(**SIZES, **PLAIN, tensor_model_parallel_size=tensor, sequence_parallel=tensor > 1)
    layer = get_gpt_layer_local_spec()
    layer.submodules.input_layernorm = layer.submodules.pre_mlp_layernorm = Norm
    block = TransformerBlockSubmodules(layer_specs=[layer], layer_norm=Norm)
    with cuda_as_cpu():
        return GPTModel(config, block, VOCAB, SEQ, position_embedding_type="rope")


def finished(model):
    """What Megatron's finalize_model_grads does for the tensor parallel ranks."""
    model.ddp_config = DistributedDataParallelConfig()
    _allreduce_non_tensor_model_parallel_grads([model], model.config)


def build_single(ctx):
    return program(ctx, gpt())


def build(ctx):
    return program(ctx, gpt(ctx.world), finished)


def build_unfinished(ctx):
    """Nobody finishes the gradients: each rank's norms have those of its own part of the sequence."""
    return program(ctx, gpt(ctx.world))
