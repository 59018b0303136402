"""Megatron-Core: its GPT of two layers under its own pipeline schedules, microbatches and all."""

import torch
from gpt import BATCH, PLAIN, SEQ, SIZES, VOCAB
from megatron.core import parallel_state
from megatron.core.models.gpt import GPTModel
from megatron.core.models.gpt.gpt_layer_specs import get_gpt_layer_local_spec
from megatron.core.pipeline_parallel import get_forward_backward_func
from megatron.core.tensor_parallel.random import initialize_rng_tracker
from megatron.core.transformer.transformer_config import TransformerConfig

from verdict.torch import Program, cuda_as_cpu

LAYERS, PARTS = 2, 2


def model_of(stages):
    """The part of the model that this rank's stage has."""
    initialize_rng_tracker(inference_rng_tracker=True)
    parallel_state.destroy_model_parallel()
    parallel_state.initialize_model_parallel(pipeline_model_parallel_size=stages)
    sizes = {**SIZES, "num_layers": LAYERS}
    config = TransformerConfig(
        **sizes, **PLAIN, pipeline_model_parallel_size=stages, pipeline_dtype=torch.float32, variable_seq_lengths=False
    )
    first, last = parallel_state.is_pipeline_first_stage(), parallel_state.is_pipeline_last_stage()
    spec = get_gpt_layer_local_spec()
    return GPTModel(config, spec, VOCAB, SEQ, first, last, position_embedding_type="rope")


def program(stages, scale=1):
    """One step of AdamW. scale: what a microbatch's loss is multiplied by; the schedule divides it by their number."""
    with cuda_as_cpu():
        model = model_of(stages)
    stage, last = parallel_state.get_pipeline_model_parallel_rank(), parallel_state.is_pipeline_last_stage()
    batches = [tuple(torch.randint(VOCAB, (BATCH, SEQ)) for _ in range(2)) for _ in range(PARTS)]
    places, mask = torch.arange(SEQ).expand(BATCH, SEQ), torch.ones(1, 1, SEQ, SEQ).tril() < 0.5
    adam = torch.optim.AdamW(model.parameters(), lr=0.01)
    losses = []

    def forward(iterator, part):
        tokens, labels = next(iterator)
        losses_of = part(tokens, places, mask, labels=labels)

        def loss_of(output):
            losses.append(output.mean())
            return (losses[-1] * scale if scale != 1 else losses[-1]), {}

        return losses_of, loss_of

    def step():
        run = get_forward_backward_func()
        sizes = {"num_microbatches": PARTS, "seq_length": SEQ, "micro_batch_size": BATCH}
        with cuda_as_cpu():
            run(forward_step_func=forward, data_iterator=iter(batches), model=model, forward_only=False, **sizes)
        adam.step()
        return sum(loss / PARTS for loss in losses) if last else None

    local, each = LAYERS // stages, stage * (LAYERS // stages)
    names = {
        name: name.replace(f"layers.{layer}.", f"layers.{layer + each}.")
        for name, _ in model.named_parameters()
        for layer in range(local)
        if f"layers.{layer}." in name
    }
    inputs = {f"tokens.{k}": tokens for k, (tokens, _) in enumerate(batches)}
    inputs |= {f"labels.{k}": labels for k, (_, labels) in enumerate(batches)}
    ranges = {f"labels.{k}": (0, VOCAB - 1) for k in range(PARTS)}
    more = {"optimizer": adam, "names": names, "ranges": ranges}
    return Program(inputs=inputs, params=dict(model.named_parameters()), step=step, **more)


def build_single(ctx):
    return program(1)


def build_1f1b(ctx):
    return program(ctx.world)


def build_1f1b_summed(ctx):
    """Losses of microbatches are added: nobody divides by them."""
    return program(ctx.world, scale=PARTS)
