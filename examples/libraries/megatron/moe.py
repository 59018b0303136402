"""Megatron-Core: its GPT with a mixture of experts, expert parallel, tokens sent to experts by its dispatcher."""

from gpt import PLAIN, SEQ, SIZES, VOCAB
from megatron.core import parallel_state
from megatron.core.models.gpt import GPTModel
from megatron.core.models.gpt.gpt_layer_specs import get_gpt_layer_local_spec
from megatron.core.tensor_parallel.random import initialize_rng_tracker
from megatron.core.transformer.moe import moe_utils
from megatron.core.transformer.transformer_config import TransformerConfig
from trained import alone, by_megatron, program

EXPERTS, CHOSEN = 4, 2
moe_utils.te_general_gemm = None  # a name that the release leaves out where Transformer Engine is not there


def groups(parts):
    initialize_rng_tracker(inference_rng_tracker=True)
    parallel_state.destroy_model_parallel()
    parallel_state.initialize_model_parallel(expert_model_parallel_size=parts)


def model_of(parts, dispatcher):
    experts = {
        "num_moe_experts": EXPERTS, "moe_router_topk": CHOSEN, "expert_model_parallel_size": parts,
        "moe_token_dispatcher_type": dispatcher, "moe_router_load_balancing_type": "none", "add_bias_linear": False,
    }  # fmt: skip
    config = TransformerConfig(**SIZES, **PLAIN, **experts)
    spec = get_gpt_layer_local_spec(num_experts=EXPERTS, moe_grouped_gemm=False)
    return GPTModel(config, spec, VOCAB, SEQ, position_embedding_type="rope")


def named(first):
    """A parameter's name in the single-device program. first: the first of the experts that are here."""

    def name_of(name):
        before, mark, after = name.partition("local_experts.")
        number, dot, rest = after.partition(".")
        return f"{before}{mark}{int(number) + first}{dot}{rest}" if mark else name

    return name_of


def run(ctx, parts, train, dispatcher="alltoall"):
    groups(parts)
    first = parallel_state.get_expert_model_parallel_rank() * (EXPERTS // parts)
    return program(ctx, lambda: model_of(parts, dispatcher), train, named(first))


def build_single(ctx):
    return run(ctx, 1, alone)


def build(ctx):
    return run(ctx, ctx.world, by_megatron(distributed=False))


def build_gathered(ctx):
    """Tokens of all ranks are gathered instead."""
    return run(ctx, ctx.world, by_megatron(distributed=False), "allgather")


def build_unfinished(ctx):
    """Nobody calls what reduces gradients."""
    return run(ctx, ctx.world, by_megatron(distributed=False, finish=lambda module: None))
