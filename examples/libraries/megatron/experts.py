"""Megatron-Core: its GPT with a mixture of experts, whose tokens travel between ranks by its dispatchers."""

import re

import numpy
import torch
import torch.distributed as dist
from gpt import PLAIN, SEQ, SIZES, VOCAB
from megatron.core import parallel_state
from megatron.core.models.gpt import GPTModel
from megatron.core.models.gpt.gpt_layer_specs import get_gpt_layer_local_spec
from megatron.core.tensor_parallel.random import initialize_rng_tracker
from megatron.core.transformer.moe import moe_utils, token_dispatcher
from megatron.core.transformer.transformer_config import TransformerConfig

from verdict.torch import Program, cuda_as_cpu, mean, shard

EXPERTS, CHOSEN, BATCH = 4, 2, 2
moe_utils.te_general_gemm = None  # what the library forgets to say where Transformer Engine is not installed


def moved(tensor, as_numpy=False, record_stream=False):
    """What the library does with tensors of a GPU: split sizes become numbers, which messages ask for on a CPU, too."""
    return numpy.array(tensor.tolist()) if as_numpy and torch.is_tensor(tensor) else tensor


token_dispatcher.maybe_move_tensor_to_cpu = moved


def gpt(ranks=1, dispatcher="alltoall"):
    """The model of this rank, of `ranks` expert parallel ranks."""
    initialize_rng_tracker(inference_rng_tracker=True)
    parallel_state.destroy_model_parallel()
    parallel_state.initialize_model_parallel(expert_model_parallel_size=ranks)
    experts = {
        "num_moe_experts": EXPERTS, "moe_router_topk": CHOSEN, "moe_token_dispatcher_type": dispatcher,
        "expert_model_parallel_size": ranks, "moe_router_load_balancing_type": "none", "add_bias_linear": False,
    }  # fmt: skip
    config = TransformerConfig(**SIZES, **PLAIN, **experts)
    with cuda_as_cpu():
        return GPTModel(config, get_gpt_layer_local_spec(EXPERTS), VOCAB, SEQ, position_embedding_type="rope")


def program(model, reduced=lambda model, ranks: None):
    """One step of AdamW, each rank on its rows of the batch."""
    rank, ranks = parallel_state.get_data_parallel_rank(), parallel_state.get_data_parallel_world_size()
    rows = BATCH // ranks
    tokens, labels = (torch.randint(VOCAB, (rows, SEQ)) for _ in range(2))
    places, mask = torch.arange(SEQ).expand(rows, SEQ), torch.ones(1, 1, SEQ, SEQ).tril() < 0.5
    adam = torch.optim.AdamW(model.parameters(), lr=0.01)

    def step():
        with cuda_as_cpu():
            loss = model(tokens, places, mask, labels=labels).mean()
            loss.backward()
            reduced(model, ranks)
        adam.step()
        return loss

    inputs, part = {"tokens": tokens, "labels": labels}, shard(0, rank, ranks)
    first = parallel_state.get_expert_model_parallel_rank() * EXPERTS // ranks
    names = {name: numbered(name, first) for name, _ in model.named_parameters()}
    more = {"specs": dict.fromkeys(inputs, part), "loss": mean(rank, ranks), "ranges": {"labels": (0, VOCAB - 1)}}
    params = dict(model.named_parameters())
    return Program(inputs=inputs, params=params, step=step, optimizer=adam, names=names, **more)


def numbered(name, first):
    """A parameter's name in the whole model. first: the number of the first expert that is here."""
    return re.sub(r"local_experts\.(\d+)", lambda found: f"local_experts.{int(found[1]) + first}", name)


def reduced(model, ranks):
    """As Megatron's own wrapper does: experts, which have the tokens of all ranks, are not averaged, but divided."""
    for param in model.parameters():
        if getattr(param, "allreduce", True):
            dist.all_reduce(param.grad, op=dist.ReduceOp.AVG)
        else:
            param.grad /= ranks


def averaged(model, ranks):
    for param in model.parameters():
        dist.all_reduce(param.grad, op=dist.ReduceOp.AVG)


def undivided(model, ranks):
    for param in model.parameters():
        if getattr(param, "allreduce", True):
            dist.all_reduce(param.grad, op=dist.ReduceOp.AVG)


def build_single(ctx):
    return program(gpt())


def build(ctx):
    return program(gpt(ctx.world), reduced)


def build_gathered(ctx):
    """All ranks get all tokens."""
    return program(gpt(ctx.world, "allgather"), reduced)


def build_averaged(ctx):
    """Gradients of different experts are averaged."""
    return program(gpt(ctx.world), averaged)


def build_undivided(ctx):
    """Gradients of experts are sums over the ranks' tokens, all others means."""
    return program(gpt(ctx.world), undivided)


def build_gathered_undivided(ctx):
    return program(gpt(ctx.world, "allgather"), undivided)
