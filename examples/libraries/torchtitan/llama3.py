"""torchtitan: its Llama 3, made parallel by its own parallelize_llama: tensor and sequence parallel, FSDP2, both."""

from dataclasses import replace

import torch
from torch.nn import functional
from torchtitan.config import CompileConfig, ParallelismConfig, TrainingConfig
from torchtitan.distributed import ParallelDims, parallel_dims
from torchtitan.distributed.activation_checkpoint import SelectiveAC
from torchtitan.distributed.utils import set_spmd_backend
from torchtitan.models.common.attention import ScaledDotProductAttention
from torchtitan.models.common.rope import CosSinRoPE
from torchtitan.models.llama3 import Embedding, Linear, Llama3Model, RMSNorm, _build_llama3_layers, parallelize_llama
from torchtitan.models.llama3.sharding import set_llama3_sharding_config

from verdict.torch import Program, mean, partial, shard

parallel_dims.device_type = "cpu"  # the library takes the GPU where it sees none

VOCAB, DIM, HEADS, SEQ, BATCH = 16, 8, 2, 4, 4


def llama_config(sequence=False, count=1):
    """The model: SDPA, rotary tables of cosines and sines. count: of its layers."""
    normal, ones = {"weight": torch.nn.init.normal_}, {"weight": torch.nn.init.ones_}
    rope = CosSinRoPE.Config(dim=DIM // HEADS, max_seq_len=SEQ, theta=500000)
    layers = _build_llama3_layers(
        n_layers=count, dim=DIM, n_heads=HEADS, hidden_dim=16, rope=rope, fuse_qkv=False, attn_backend="flex"
    )
    for layer in layers:
        layer.attention.inner_attention = ScaledDotProductAttention.Config()
    config = Llama3Model.Config(
        dim=DIM,
        vocab_size=VOCAB,
        tok_embeddings=Embedding.Config(num_embeddings=VOCAB, embedding_dim=DIM, param_init=normal),
        norm=RMSNorm.Config(normalized_shape=DIM, param_init=ones),
        lm_head=Linear.Config(in_features=DIM, out_features=VOCAB, param_init=normal),
        layers=layers,
    )
    set_llama3_sharding_config(config, enable_sp=sequence)
    return config


def llama(sequence=False, count=1):
    return llama_config(sequence, count).build()


def parallel(ctx, model, make=parallelize_llama, checkpointing=None, **degrees):
    """What parallelize_llama, or another such function, makes of it, in 32 bits and without compilation.

    degrees: of the parallelisms, by their names in ParallelismConfig.
    """
    parallelism = ParallelismConfig(**{"data_parallel_shard_degree": 1, **degrees}, spmd_backend="partial_dtensor")
    dims = ParallelDims.from_config(parallelism, ctx.world)
    dims.build_mesh()
    set_spmd_backend(parallelism.spmd_backend)
    training = TrainingConfig(mixed_precision_param="float32", mixed_precision_reduce="float32")
    more = {"compile_config": CompileConfig(), "ac_config": checkpointing, "dump_folder": ""}
    return make(model, parallel_dims=dims, training=training, parallelism=parallelism, **more)


def program(model, part=0, of=1, own=False, scale=1, specs=None):
    """One step of AdamW on the losses of this part of the batch, divided by the number of all tokens, as torchtitan's
    trainer does: its FSDP adds gradients. own: whether they are divided by the number of this part's tokens instead.
    """
    tokens, labels = (torch.randint(VOCAB, (BATCH // of, SEQ)) for _ in range(2))
    adam = torch.optim.AdamW(model.parameters(), lr=0.01)

    def step():
        made = model(tokens)
        made = made.full_tensor() if hasattr(made, "full_tensor") else made
        total = functional.cross_entropy(made.flatten(0, 1), labels.flatten(), reduction="sum")
        loss = total / (labels.numel() if own else BATCH * SEQ)
        (loss * scale if scale != 1 else loss).backward()
        adam.step()
        return loss

    rows = shard(0, part, of)
    share = mean(part, of) if own else partial(part, of)
    more = {"optimizer": adam, "specs": {"tokens": rows, "labels": rows, **(specs or {})}, "loss": share}
    inputs, ranges = {"tokens": tokens, "labels": labels}, {"labels": (0, VOCAB - 1)}
    return Program(inputs=inputs, params=model, step=step, ranges=ranges, **more)


def build_single(ctx):
    return program(llama())


def build_tp(ctx):
    return program(parallel(ctx, llama(), tensor_parallel_degree=ctx.world))


def build_tp_scaled(ctx):
    """Each rank divides by the number of ranks, as if they were data parallel."""
    return program(parallel(ctx, llama(), tensor_parallel_degree=ctx.world), scale=0.5)


def build_tp_sp(ctx):
    return program(parallel(ctx, llama(sequence=True), tensor_parallel_degree=ctx.world))


def build_tp_sp_scaled(ctx):
    """Each rank divides by the number of ranks, as if they were data parallel."""
    return program(parallel(ctx, llama(sequence=True), tensor_parallel_degree=ctx.world), scale=0.5)


def build_fsdp(ctx):
    return program(parallel(ctx, llama(), data_parallel_shard_degree=ctx.world), ctx.rank, ctx.world)


def build_fsdp_own_tokens(ctx):
    """Each rank divides by its own tokens."""
    return program(parallel(ctx, llama(), data_parallel_shard_degree=ctx.world), ctx.rank, ctx.world, own=True)


def build_fsdp_tp(ctx, own=False):
    degrees = {"tensor_parallel_degree": 2, "data_parallel_shard_degree": ctx.world // 2}
    model = parallel(ctx, llama(sequence=True), **degrees)
    return program(model, ctx.rank // 2, ctx.world // 2, own)


def build_fsdp_tp_own_tokens(ctx):
    """Each data parallel rank divides by its own tokens."""
    return build_fsdp_tp(ctx, own=True)


def build_checkpointed(ctx):
    """FSDP2 with the library's selective activation checkpointing."""
    model = parallel(ctx, llama(), checkpointing=SelectiveAC.Config(), data_parallel_shard_degree=ctx.world)
    return renamed(program(model, ctx.rank, ctx.world))


def build_checkpointed_own_tokens(ctx):
    model = parallel(ctx, llama(), checkpointing=SelectiveAC.Config(), data_parallel_shard_degree=ctx.world)
    return renamed(program(model, ctx.rank, ctx.world, own=True))


def renamed(made):
    """The program, whose parameters are called as where nothing wraps a layer."""
    names = (name for name, _ in made.params.named_parameters())
    names = [*names, *(name for name, _ in made.params.named_buffers())]
    return replace(made, names={name: name.replace("_checkpoint_wrapped_module.", "") for name in names})


def build_replicated(ctx, own=False):
    """Sharded over two ranks, and two replicas of that."""
    model = parallel(ctx, llama(), data_parallel_replicate_degree=ctx.world // 2, data_parallel_shard_degree=2)
    return program(model, ctx.rank, ctx.world, own)


def build_replicated_own_tokens(ctx):
    return build_replicated(ctx, own=True)
