"""Data parallel training of the library's models: DistributedDataParallel with its defaults, and FSDP2."""

import models
import torch
from steps import accumulated, as_made, images, shifted, trained
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.nn.parallel import DistributedDataParallel


def single(make, step=trained, **more):
    """The builder of the single-device program."""

    def build(ctx):
        model = make()
        return step(model, model, **more)

    return build


def ddp(make, step=trained, seeded=lambda rank: None, **more):
    """The builder of the program under DistributedDataParallel. seeded: sets the seed of a rank."""

    def build(ctx):
        model = make()
        made = step(model, DistributedDataParallel(model), ctx.rank, ctx.world, **more)
        seeded(ctx.rank)
        return made

    return build


def fsdp2(make, layers, step=trained, root=True, after=lambda model: None, **more):
    """The builder of the program under FSDP2. layers: the model's layers. root: whether what is around them is sharded,
    too, as it must be. after: what is done to the sharded model.
    """

    def build(ctx):
        model, mesh = make(), init_device_mesh("cpu", (ctx.world,))
        for layer in layers(model):
            fully_shard(layer, mesh=mesh)
        if root:
            fully_shard(model, mesh=mesh)
        after(model)
        return step(model, model, ctx.rank, ctx.world, **more)

    return build


def added(model):
    """Gradients are added, as for losses that are divided by the tokens of all ranks."""
    model.set_gradient_divide_factor(1.0)


def decoder(model):
    return model.model.layers


def blocks(model):
    return model.transformer.h


def neox(model):
    return model.gpt_neox.layers


def opt_layers(model):
    return model.model.decoder.layers


def encoder(model):
    return model.bert.encoder.layer


def checkpointed():
    model = models.llama()
    model.gradient_checkpointing_enable()
    model.train()
    return model


def frozen():
    return models.resnet().eval()


def dropping():
    return models.gpt2(resid_pdrop=0.1, embd_pdrop=0.1, attn_pdrop=0.1)


def by_rank(rank):
    """Ranks drop different elements of their different rows."""
    torch.manual_seed(7 + rank)


def alike(rank):
    """All ranks go on with one seed."""
    torch.manual_seed(7)


def larger(rows):
    return images(rows, 16)


llama_single, llama_ddp, llama_fsdp2 = (
    single(models.llama), ddp(models.llama), fsdp2(models.llama, decoder),
)  # fmt: skip
llama_ddp_scaled = ddp(models.llama, scale=0.5)
llama_fsdp2_without_root = fsdp2(models.llama, decoder, root=False)
grouped_single, grouped_ddp, grouped_fsdp2 = (
    single(models.llama_grouped), ddp(models.llama_grouped), fsdp2(models.llama_grouped, decoder),
)  # fmt: skip
grouped_ddp_scaled = ddp(models.llama_grouped, scale=0.5)
checkpointed_single, checkpointed_ddp, checkpointed_fsdp2 = (
    single(checkpointed), ddp(checkpointed), fsdp2(checkpointed, decoder),
)  # fmt: skip
checkpointed_fsdp2_scaled = fsdp2(checkpointed, decoder, scale=0.5)
clipped_single, clipped_ddp, clipped_fsdp2 = (
    single(models.llama, clip=0.5), ddp(models.llama, clip=0.5), fsdp2(models.llama, decoder, clip=0.5),
)  # fmt: skip
clipped_fsdp2_scaled = fsdp2(models.llama, decoder, clip=0.5, scale=0.5)
clipped_ddp_otherwise = ddp(models.llama, clip=1.0)
accumulated_single, accumulated_ddp = single(models.llama, accumulated), ddp(models.llama, accumulated)
accumulated_ddp_own_count = ddp(models.llama, accumulated, counted=3)
qwen3_single, qwen3_ddp, qwen3_fsdp2 = single(models.qwen3), ddp(models.qwen3), fsdp2(models.qwen3, decoder)
qwen3_fsdp2_without_root = fsdp2(models.qwen3, decoder, root=False)
qwen3_ddp_scaled = ddp(models.qwen3, scale=0.5)
qwen2_single, qwen2_ddp, qwen2_ddp_scaled = single(models.qwen2), ddp(models.qwen2), ddp(models.qwen2, scale=2)
mistral_single, mistral_fsdp2 = single(models.mistral), fsdp2(models.mistral, decoder)
mistral_fsdp2_without_root = fsdp2(models.mistral, decoder, root=False)
gemma2_single, gemma2_fsdp2 = single(models.gemma2), fsdp2(models.gemma2, decoder)
gemma2_fsdp2_without_root = fsdp2(models.gemma2, decoder, root=False)
phi3_single, phi3_ddp, phi3_ddp_scaled = single(models.phi3), ddp(models.phi3), ddp(models.phi3, scale=2)
olmo2_single, olmo2_fsdp2 = single(models.olmo2), fsdp2(models.olmo2, decoder)
olmo2_fsdp2_without_root = fsdp2(models.olmo2, decoder, root=False)
gpt_neox_single, gpt_neox_fsdp2 = single(models.gpt_neox), fsdp2(models.gpt_neox, neox)
gpt_neox_fsdp2_without_root = fsdp2(models.gpt_neox, neox, root=False)
opt_single, opt_ddp, opt_ddp_scaled = single(models.opt), ddp(models.opt), ddp(models.opt, scale=0.5)
bloom_single, bloom_ddp, bloom_ddp_scaled = single(models.bloom), ddp(models.bloom), ddp(models.bloom, scale=0.5)
gpt2_ddp_scaled = ddp(models.gpt2, scale=0.5)
gpt2_single, gpt2_ddp, gpt2_fsdp2 = single(models.gpt2), ddp(models.gpt2), fsdp2(models.gpt2, blocks)
gpt2_fsdp2_scaled = fsdp2(models.gpt2, blocks, scale=2)
dropping_single, dropping_ddp = single(dropping), ddp(dropping, seeded=by_rank)
dropping_ddp_alike = ddp(dropping, seeded=alike)
bert_single, bert_fsdp2 = single(models.bert, as_made), fsdp2(models.bert, encoder, as_made)
bert_fsdp2_scaled = fsdp2(models.bert, encoder, as_made, scale=2)
mixtral_single, mixtral_ddp, mixtral_ddp_scaled = (
    single(models.mixtral, inputs=shifted), ddp(models.mixtral, inputs=shifted),
    ddp(models.mixtral, inputs=shifted, scale=0.5),
)  # fmt: skip
mixtral_fsdp2 = fsdp2(models.mixtral, decoder, inputs=shifted)
mixtral_fsdp2_without_root = fsdp2(models.mixtral, decoder, inputs=shifted, root=False)
qwen3_moe_single, qwen3_moe_ddp, qwen3_moe_fsdp2 = (
    single(models.qwen3_moe, inputs=shifted), ddp(models.qwen3_moe, inputs=shifted),
    fsdp2(models.qwen3_moe, decoder, inputs=shifted),
)  # fmt: skip
qwen3_moe_ddp_scaled = ddp(models.qwen3_moe, inputs=shifted, scale=0.5)
qwen3_moe_fsdp2_without_root = fsdp2(models.qwen3_moe, decoder, inputs=shifted, root=False)
vit_single, vit_ddp = single(models.vit, inputs=images), ddp(models.vit, inputs=images)
vit_ddp_scaled = ddp(models.vit, inputs=images, scale=0.5)
resnet_single, resnet_ddp = single(frozen, inputs=larger), ddp(frozen, inputs=larger)
resnet_ddp_batch_norm = ddp(models.resnet, inputs=larger)
gemma_single, gemma_fsdp2 = single(models.gemma), fsdp2(models.gemma, decoder)
gemma_fsdp2_added = fsdp2(models.gemma, decoder, after=added)
gemma3_single, gemma3_fsdp2 = single(models.gemma3), fsdp2(models.gemma3, decoder)
gemma3_fsdp2_without_root = fsdp2(models.gemma3, decoder, root=False)
granite_single, granite_fsdp2 = single(models.granite), fsdp2(models.granite, decoder)
granite_fsdp2_without_root = fsdp2(models.granite, decoder, root=False)
smollm3_single, smollm3_fsdp2 = single(models.smollm3), fsdp2(models.smollm3, decoder)
smollm3_fsdp2_without_root = fsdp2(models.smollm3, decoder, root=False)
starcoder2_single, starcoder2_ddp = single(models.starcoder2), ddp(models.starcoder2)
starcoder2_ddp_scaled = ddp(models.starcoder2, scale=0.5)
glm4_single, glm4_fsdp2 = single(models.glm4), fsdp2(models.glm4, decoder)
glm4_fsdp2_without_root = fsdp2(models.glm4, decoder, root=False)
olmo3_single, olmo3_fsdp2 = single(models.olmo3), fsdp2(models.olmo3, decoder)
olmo3_fsdp2_without_root = fsdp2(models.olmo3, decoder, root=False)
stablelm_single, stablelm_fsdp2 = single(models.stablelm), fsdp2(models.stablelm, decoder)
stablelm_fsdp2_without_root = fsdp2(models.stablelm, decoder, root=False)
cohere_single, cohere_fsdp2 = single(models.cohere), fsdp2(models.cohere, decoder)
cohere_fsdp2_without_root = fsdp2(models.cohere, decoder, root=False)
accumulated_fsdp2 = fsdp2(models.llama, decoder, accumulated)
accumulated_fsdp2_own_count = fsdp2(models.llama, decoder, accumulated, counted=3)
