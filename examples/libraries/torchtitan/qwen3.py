"""torchtitan: its Qwen3 of one layer, dense or of experts, made parallel by its own function.

Routing decides how many tokens an expert gets: verdict torch FILE.py:experts_fsdp --world 2 --live
"""

from llama3 import DIM, HEADS, SEQ, VOCAB, Embedding, Linear, RMSNorm, parallel, program
from torch.nn import init
from torchtitan.models.common.attention import ScaledDotProductAttention
from torchtitan.models.common.rope import CosSinRoPE
from torchtitan.models.qwen3 import (
    Qwen3Model,
    _build_qwen3_layers,
    _build_qwen3_moe_layers,
    parallelize_qwen3,
)
from torchtitan.models.qwen3.sharding import set_qwen3_sharding_config

EXPERTS = {"moe_hidden_dim": 16, "num_experts": 4, "top_k": 2, "moe_comm_backend": "standard"}


def qwen(sequence=False, experts=False, spread=False):
    """The model. experts: in place of a dense layer. spread: whether they are spread over ranks."""
    rope = CosSinRoPE.Config(dim=DIM // HEADS, max_seq_len=SEQ, theta=1000000.0)
    sizes = {"n_layers": 1, "dim": DIM, "n_heads": HEADS, "n_kv_heads": HEADS, "head_dim": DIM // HEADS, "rope": rope}
    how = {**sizes, "fuse_qkv": False, "attn_backend": "flex"}
    layers = _build_qwen3_moe_layers(**how, **EXPERTS) if experts else _build_qwen3_layers(**how, hidden_dim=16)
    for layer in layers:
        layer.attention.inner_attention = ScaledDotProductAttention.Config()
    normal, ones = {"weight": init.normal_}, {"weight": init.ones_}
    config = Qwen3Model.Config(
        dim=DIM,
        vocab_size=VOCAB,
        enable_weight_tying=False,
        tok_embeddings=Embedding.Config(num_embeddings=VOCAB, embedding_dim=DIM, param_init=normal),
        norm=RMSNorm.Config(normalized_shape=DIM, param_init=ones),
        lm_head=Linear.Config(in_features=DIM, out_features=VOCAB, param_init=normal),
        layers=layers,
    )
    set_qwen3_sharding_config(config, enable_sp=sequence, enable_ep=spread)
    model = config.build()
    return model.eval() if experts else model  # in training mode experts count their tokens


def dense_single(ctx):
    return program(qwen())


def experts_single(ctx):
    return program(qwen(experts=True))


def sharded(ctx, own=False, spread=1, **how):
    """Each rank has its texts. own: whether it divides by its own tokens. spread: over how many ranks experts are."""
    degrees = {"data_parallel_shard_degree": ctx.world, "expert_parallel_degree": spread}
    model = parallel(ctx, qwen(spread=spread > 1, **how), parallelize_qwen3, **degrees)
    return program(model, ctx.rank, ctx.world, own)


def split(ctx, scale=1, **how):
    model = parallel(ctx, qwen(**how), parallelize_qwen3, tensor_parallel_degree=ctx.world)
    return program(model, scale=scale)


def dense_fsdp(ctx):
    return sharded(ctx)


def dense_fsdp_own_tokens(ctx):
    return sharded(ctx, own=True)


def dense_sequence(ctx):
    return split(ctx, sequence=True)


def dense_sequence_scaled(ctx):
    """Each rank divides by the number of ranks, as if they were data parallel."""
    return split(ctx, scale=0.5, sequence=True)


def experts_fsdp(ctx):
    return sharded(ctx, experts=True)


def experts_fsdp_own_tokens(ctx):
    return sharded(ctx, own=True, experts=True)


def experts_spread(ctx):
    """Experts spread over the ranks that shard the rest."""
    return sharded(ctx, experts=True, spread=ctx.world)


def experts_spread_own_tokens(ctx):
    return sharded(ctx, own=True, experts=True, spread=ctx.world)


def experts_tp(ctx):
    return split(ctx, experts=True)


def experts_tp_scaled(ctx):
    return split(ctx, scale=0.5, experts=True)
