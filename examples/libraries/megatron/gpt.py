"""Megatron-Core: its GPT with tensor parallelism, vocabulary-parallel embedding and loss, from its local layer spec."""

import torch
import torch.distributed as dist
from megatron.core import parallel_state
from megatron.core.models.gpt import GPTModel
from megatron.core.models.gpt.gpt_layer_specs import get_gpt_layer_local_spec
from megatron.core.tensor_parallel.random import initialize_rng_tracker
from megatron.core.transformer.transformer_config import TransformerConfig

from verdict.torch import Program, cuda_as_cpu, mean, shard

VOCAB, SEQ, BATCH = 16, 4, 2
SIZES = {"num_layers": 1, "hidden_size": 8, "num_attention_heads": 2, "ffn_hidden_size": 16}
PLAIN = {
    "use_cpu_initialization": True, "attention_dropout": 0.0, "hidden_dropout": 0.0, "bias_dropout_fusion": False,
    "gradient_accumulation_fusion": False, "masked_softmax_fusion": False,
}  # fmt: skip


def groups(tensor=1):
    """Megatron's process groups, of `tensor` tensor parallel ranks."""
    initialize_rng_tracker(inference_rng_tracker=True)  # states of dropout, of which there is none, need no GPU
    parallel_state.destroy_model_parallel()
    parallel_state.initialize_model_parallel(tensor_model_parallel_size=tensor)


def gpt(tensor=1, **more):
    """The model of this rank, of `tensor` tensor parallel ranks."""
    config = TransformerConfig(**SIZES, **PLAIN, tensor_model_parallel_size=tensor, **more)
    return GPTModel(config, get_gpt_layer_local_spec(), VOCAB, SEQ, position_embedding_type="rope")


def shares(model):
    """What each parameter is of the single-device one, as Megatron marks it."""
    rank, ranks = parallel_state.get_tensor_model_parallel_rank(), parallel_state.get_tensor_model_parallel_world_size()
    marked = ((n, p) for n, p in model.named_parameters() if getattr(p, "tensor_model_parallel", False) and ranks > 1)
    return {name: shard(param.partition_dim, rank, ranks) for name, param in marked}


def program(ctx, model, reduced=lambda model: None):
    """One step of AdamW on the mean of the tokens' losses."""
    rank, ranks = parallel_state.get_data_parallel_rank(), parallel_state.get_data_parallel_world_size()
    rows = BATCH // ranks
    tokens, labels = (torch.randint(VOCAB, (rows, SEQ)) for _ in range(2))
    places = torch.arange(SEQ).expand(rows, SEQ)
    mask = torch.ones(1, 1, SEQ, SEQ).tril() < 0.5
    adam = torch.optim.AdamW(model.parameters(), lr=0.01)

    def step():
        with cuda_as_cpu():
            loss = model(tokens, places, mask, labels=labels).mean()
            loss.backward()
            reduced(model)
        adam.step()
        return loss

    inputs, part = {"tokens": tokens, "labels": labels}, shard(0, rank, ranks)
    specs = {**shares(model), "tokens": part, "labels": part}
    more = {"optimizer": adam, "specs": specs, "loss": mean(rank, ranks), "ranges": {"labels": (0, VOCAB - 1)}}
    return Program(inputs=inputs, params=dict(model.named_parameters()), step=step, **more)


def averaged(model):
    """Over all ranks, as if they were data parallel."""
    for param in model.parameters():
        dist.all_reduce(param.grad, op=dist.ReduceOp.AVG)


def build_single(ctx):
    groups()
    return program(ctx, gpt())


def build_tp(ctx):
    groups(ctx.world)
    return program(ctx, gpt(ctx.world))


def build_tp_averaged(ctx):
    """Gradients of tensor parallel ranks are averaged."""
    groups(ctx.world)
    return program(ctx, gpt(ctx.world), averaged)
