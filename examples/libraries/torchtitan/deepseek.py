"""torchtitan: its DeepSeek-V3 of one layer, latent attention and experts, made parallel by its own function.

Routing decides how many tokens an expert gets: verdict torch FILE.py:build_fsdp --world 2 --live
"""

from llama3 import DIM, HEADS, SEQ, VOCAB, Embedding, Linear, RMSNorm, parallel, program
from torch.nn import init
from torchtitan.models.common.attention import ScaledDotProductAttention
from torchtitan.models.common.rope import CosSinRoPE
from torchtitan.models.deepseek_v3 import DeepSeekV3Model, _build_dsv3_layers, parallelize_deepseekv3
from torchtitan.models.deepseek_v3.sharding import set_deepseek_v3_sharding_config

EXPERTS = 4


def deepseek(sequence=False, experts=False):
    """The model. experts: whether they are spread over ranks."""
    rope = CosSinRoPE.Config(dim=2, max_seq_len=SEQ, theta=10000.0)
    layers = _build_dsv3_layers(
        n_layers=1, n_dense_layers=0, dim=DIM, n_heads=HEADS, q_lora_rank=0, kv_lora_rank=6, qk_nope_head_dim=2,
        qk_rope_head_dim=2, v_head_dim=4, mscale=0.7, dense_hidden_dim=8, moe_hidden_dim=16, num_experts=EXPERTS,
        num_shared_experts=1, router_top_k=2, router_score_func="softmax", attn_backend="flex",
        moe_comm_backend="standard", non_blocking_capacity_factor=None, rope=rope,
    )  # fmt: skip
    for layer in layers:
        layer.attention.inner_attention = ScaledDotProductAttention.Config()
    normal, ones = {"weight": init.normal_}, {"weight": init.ones_}
    config = DeepSeekV3Model.Config(
        dim=DIM,
        vocab_size=VOCAB,
        tok_embeddings=Embedding.Config(num_embeddings=VOCAB, embedding_dim=DIM, param_init=normal),
        norm=RMSNorm.Config(normalized_shape=DIM, param_init=ones),
        lm_head=Linear.Config(in_features=DIM, out_features=VOCAB, param_init=normal),
        layers=layers,
    )
    set_deepseek_v3_sharding_config(config, enable_sp=sequence, enable_ep=experts)
    model = config.build()
    model.eval()  # tokens are not counted
    return model


def made(ctx, model, **degrees):
    return parallel(ctx, model, parallelize_deepseekv3, **degrees)


def build_single(ctx):
    return program(deepseek())


def sharded(ctx, own=False, experts=1):
    """Each rank has its texts, and counts its own tokens."""
    model = made(
        ctx, deepseek(experts=experts > 1), data_parallel_shard_degree=ctx.world, expert_parallel_degree=experts
    )
    return program(model, ctx.rank, ctx.world, own)


def build_fsdp(ctx):
    return sharded(ctx)


def build_fsdp_own_tokens(ctx):
    return sharded(ctx, own=True)


def build_experts(ctx):
    """Experts spread over the ranks that shard the rest."""
    return sharded(ctx, experts=ctx.world)


def build_experts_own_tokens(ctx):
    return sharded(ctx, own=True, experts=ctx.world)


def build_tp(ctx, scale=1):
    return program(made(ctx, deepseek(), tensor_parallel_degree=ctx.world), scale=scale)


def build_tp_scaled(ctx):
    return build_tp(ctx, 0.5)
