"""peft: further adapters on the same Llama, under DistributedDataParallel, one of them under FSDP2."""

from lora import SIZES, program
from peft import (
    IA3Config,
    LoHaConfig,
    LoraConfig,
    OFTConfig,
    PrefixTuningConfig,
    PromptTuningConfig,
    TaskType,
    TrainableTokensConfig,
    VeraConfig,
    get_peft_model,
)
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.nn.parallel import DistributedDataParallel
from transformers import LlamaConfig, LlamaForCausalLM

SEQ = 6


def llama(config):
    sizes = {**SIZES, "max_position_embeddings": SEQ}
    return get_peft_model(LlamaForCausalLM(LlamaConfig(**sizes)), config)


def scaled():
    modules = {"target_modules": ["k_proj", "v_proj", "down_proj"], "feedforward_modules": ["down_proj"]}
    return llama(IA3Config(task_type=TaskType.CAUSAL_LM, **modules))


def prompted():
    return llama(PromptTuningConfig(task_type=TaskType.CAUSAL_LM, num_virtual_tokens=2))


def prefixed():
    return llama(PrefixTuningConfig(task_type=TaskType.CAUSAL_LM, num_virtual_tokens=2))


def single(make):
    def build(ctx):
        model = make()
        return program(ctx, model, model)

    return build


def ddp(make, scale=1):
    def build(ctx):
        model = make()
        return program(ctx, model, DistributedDataParallel(model), scale)

    return build


ia3_single, ia3_ddp, ia3_ddp_scaled = single(scaled), ddp(scaled), ddp(scaled, 0.5)
prompt_single, prompt_ddp, prompt_ddp_scaled = single(prompted), ddp(prompted), ddp(prompted, 0.5)
prefix_single, prefix_ddp, prefix_ddp_scaled = single(prefixed), ddp(prefixed), ddp(prefixed, 0.5)


def low_rank():
    """With a head of its own, which is trained whole."""
    modules = {"target_modules": ["q_proj", "v_proj"], "modules_to_save": ["lm_head"]}
    return llama(LoraConfig(task_type=TaskType.CAUSAL_LM, r=2, lora_alpha=4, lora_dropout=0.0, **modules))


def orthogonal():
    return llama(OFTConfig(oft_block_size=4, target_modules=["q_proj", "v_proj"]))


def vectors():
    """Of matrices that are drawn and frozen."""
    return llama(VeraConfig(r=2, target_modules=["q_proj"]))


def tokens():
    """Some rows of the embedding."""
    return llama(TrainableTokensConfig(token_indices=[1, 3], target_modules=["embed_tokens"]))


def hadamard():
    """In training mode it asks whether a number that is drawn is above a probability of zero: record it with --live."""
    return llama(LoHaConfig(r=2, alpha=4, target_modules=["q_proj", "v_proj"]))


def head_ddp_ignored(ctx):
    """The head is kept out of the reduction."""
    model = low_rank()
    kept = [name for name, _ in model.named_parameters() if "modules_to_save" in name]
    DistributedDataParallel._set_params_and_buffers_to_ignore_for_model(model, kept)
    return program(ctx, model, DistributedDataParallel(model))


def fsdp2(make, around=True):
    """around: whether the model around the layers is sharded."""

    def build(ctx):
        model, mesh = make(), init_device_mesh("cpu", (ctx.world,))
        for layer in model.base_model.model.model.layers:
            fully_shard(layer, mesh=mesh)
        return program(ctx, model, fully_shard(model, mesh=mesh) if around else model)

    return build


head_single, head_ddp = single(low_rank), ddp(low_rank)
head_fsdp2, head_fsdp2_layers = fsdp2(low_rank), fsdp2(low_rank, around=False)
oft_single, oft_ddp, oft_ddp_scaled = single(orthogonal), ddp(orthogonal), ddp(orthogonal, 0.5)
vera_single, vera_ddp, vera_ddp_scaled = single(vectors), ddp(vectors), ddp(vectors, 0.5)
tokens_single, tokens_ddp, tokens_ddp_scaled = single(tokens), ddp(tokens), ddp(tokens, 0.5)
loha_single, loha_ddp, loha_ddp_scaled = single(hadamard), ddp(hadamard), ddp(hadamard, 0.5)
