"""torchtitan: its Llama 3 of two layers in the stages that its own pipeline_llm makes, under torch's schedules.

Stages tell each other shapes when they first run: verdict torch FILE.py:build_1f1b --world 2 --live
"""

import llama3
import torch
from llama3 import BATCH, SEQ, VOCAB, llama, llama_config
from torchtitan.components.loss import CrossEntropyLoss
from torchtitan.config import CompileConfig, ParallelismConfig, TrainingConfig
from torchtitan.distributed import ParallelDims
from torchtitan.distributed.pipeline_parallel import pipeline_llm
from torchtitan.models.llama3 import parallelize_llama

from verdict.torch import Program, partial, shard

LAYERS = 2


class OwnTokens(CrossEntropyLoss):
    """A microbatch's loss is divided by its own tokens, as where gradients are averaged over microbatches."""

    def __call__(self, pred, labels, global_valid_tokens=None, **more):
        return super().__call__(pred, labels, torch.tensor(labels.numel()), **more)


def stages_of(ctx, schedule, loss, data):
    """The schedule, its parts of the model on this rank, and whether the first and the last of all are here."""
    parallelism = ParallelismConfig(
        pipeline_parallel_degree=ctx.world // data,
        pipeline_parallel_schedule=schedule,
        data_parallel_shard_degree=data,
        spmd_backend="partial_dtensor",
    )
    dims = ParallelDims.from_config(parallelism, ctx.world)
    dims.build_mesh()
    training = TrainingConfig(
        mixed_precision_param="float32", mixed_precision_reduce="float32", local_batch_size=BATCH // data, seq_len=SEQ
    )
    config, compiled = llama_config(count=LAYERS), CompileConfig()
    more = {"device": torch.device("cpu"), "compile_config": compiled, "ac_config": None, "dump_folder": ""}
    return pipeline_llm(
        config.build(),
        parallel_dims=dims,
        training=training,
        parallelism=parallelism,
        model_config=config,
        parallelize_fn=parallelize_llama,
        loss_fn=loss(loss.Config(), compile_config=compiled),
        **more,
    )


def program(ctx, schedule="1F1B", loss=CrossEntropyLoss, data=1):
    """One step of AdamW, one text a microbatch. data: how many ranks shard the parameters of a stage."""
    run, parts, first, last = stages_of(ctx, schedule, loss, data)
    tokens, labels = (torch.randint(VOCAB, (BATCH // data, SEQ)) for _ in range(2))
    adam = torch.optim.AdamW([param for part in parts for param in part.parameters()], lr=0.01)

    def step():
        losses = [] if last else None
        run.step(
            *([tokens] if first else []),
            target=labels if last else None,
            losses=losses,
            loss_kwargs={"global_valid_tokens": torch.tensor(BATCH * SEQ)},
            return_outputs=False,
        )
        adam.step()
        return torch.sum(torch.stack(losses)) if last else None

    part = ctx.rank % data
    rows = shard(0, part, data)
    return Program(
        inputs={**({"tokens": tokens} if first else {}), **({"labels": labels} if last else {})},
        params={name: param for each in parts for name, param in (*each.named_parameters(), *each.named_buffers())},
        step=step,
        optimizer=adam,
        ranges={"labels": (0, VOCAB - 1)} if last else {},
        specs={"tokens": rows, "labels": rows},
        loss=partial(part, data),
    )


def build_single(ctx):
    return llama3.program(llama(count=LAYERS))


def build_1f1b(ctx):
    return program(ctx)


def build_1f1b_own_tokens(ctx):
    """Each microbatch's loss is a mean, and nobody divides by their number."""
    return program(ctx, loss=OwnTokens)


def build_interleaved(ctx):
    """Two stages a rank."""
    return program(ctx, "Interleaved1F1B")


def build_interleaved_own_tokens(ctx):
    return program(ctx, "Interleaved1F1B", OwnTokens)


def build_fsdp(ctx):
    """Each stage sharded over two ranks, which have texts of their own."""
    return program(ctx, data=2)


def build_fsdp_own_tokens(ctx):
    return program(ctx, loss=OwnTokens, data=2)
