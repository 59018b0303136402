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

PARTS = 2


def models_of(stages, layers, chunks):
    """The parts of the model that this rank has, one for each of its virtual stages."""
    initialize_rng_tracker(inference_rng_tracker=True)
    parallel_state.destroy_model_parallel()
    virtual = chunks if chunks > 1 else None
    parallel_state.initialize_model_parallel(
        pipeline_model_parallel_size=stages, virtual_pipeline_model_parallel_size=virtual
    )
    sizes = {**SIZES, "num_layers": layers, "virtual_pipeline_model_parallel_size": virtual}
    config = TransformerConfig(
        **sizes, **PLAIN, pipeline_model_parallel_size=stages, pipeline_dtype=torch.float32, variable_seq_lengths=False
    )
    return [part_of(config, chunk if virtual else None) for chunk in range(chunks)]


def part_of(config, chunk):
    first = parallel_state.is_pipeline_first_stage(ignore_virtual=False, vp_stage=chunk)
    last = parallel_state.is_pipeline_last_stage(ignore_virtual=False, vp_stage=chunk)
    spec, more = get_gpt_layer_local_spec(), {"position_embedding_type": "rope", "vp_stage": chunk}
    return GPTModel(config, spec, VOCAB, SEQ, first, last, **more)


def program(stages, scale=1, layers=2, chunks=1):
    """One step of AdamW. scale: what a microbatch's loss is multiplied by; the schedule divides it by their number."""
    with cuda_as_cpu():
        models = models_of(stages, layers, chunks)
    stage, last = parallel_state.get_pipeline_model_parallel_rank(), parallel_state.is_pipeline_last_stage()
    batches = [tuple(torch.randint(VOCAB, (BATCH, SEQ)) for _ in range(2)) for _ in range(PARTS)]
    places, mask = torch.arange(SEQ).expand(BATCH, SEQ), torch.ones(1, 1, SEQ, SEQ).tril() < 0.5
    adam = torch.optim.AdamW([param for model in models for param in model.parameters()], lr=0.01)
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
            # each virtual stage reads the microbatches by itself
            data = [iter(batches) for _ in models] if chunks > 1 else iter(batches)
            model = models if chunks > 1 else models[0]
            run(forward_step_func=forward, data_iterator=data, model=model, forward_only=False, **sizes)
        adam.step()
        return sum(loss / PARTS for loss in losses) if last else None

    params = {
        numbered(name, (chunk * stages + stage) * (layers // (stages * chunks))): param
        for chunk, model in enumerate(models)
        for name, param in model.named_parameters()
    }
    inputs = {f"tokens.{k}": tokens for k, (tokens, _) in enumerate(batches)}
    inputs |= {f"labels.{k}": labels for k, (_, labels) in enumerate(batches)}
    ranges = {f"labels.{k}": (0, VOCAB - 1) for k in range(PARTS)}
    return Program(inputs=inputs, params=params, step=step, optimizer=adam, ranges=ranges)


def numbered(name, first):
    """A parameter's name in the whole model. first: the number of the first layer that is here."""
    before, mark, after = name.partition("layers.")
    number, dot, rest = after.partition(".")
    return f"{before}{mark}{int(number) + first}{dot}{rest}" if mark else name


def build_single(ctx):
    return program(1)


def build_1f1b(ctx):
    return program(ctx.world)


def build_1f1b_summed(ctx):
    """Losses of microbatches are added: nobody divides by them."""
    return program(ctx.world, scale=PARTS)


def build_four_layers(ctx):
    return program(1, layers=4)


def build_interleaved(ctx):
    """Its interleaved schedule: each rank has two parts of the model, two layers apart."""
    return program(ctx.world, layers=4, chunks=2)


def build_interleaved_summed(ctx):
    """Losses of microbatches are added: nobody divides by them."""
    return program(ctx.world, scale=PARTS, layers=4, chunks=2)
