"""peft: other adapters than low-rank ones on the same Llama, under DistributedDataParallel."""

from lora import SIZES, program
from peft import IA3Config, PrefixTuningConfig, PromptTuningConfig, TaskType, get_peft_model
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
