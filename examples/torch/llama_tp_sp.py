"""Llama under tensor and sequence parallelism with a loss on sharded logits.

verdict torch examples/torch/llama_tp_sp.py --world 2
"""

from dataclasses import replace

import llama
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import DTensor, Replicate, Shard
from torch.distributed.tensor.parallel import (
    ColwiseParallel,
    PrepareModuleInput,
    RowwiseParallel,
    SequenceParallel,
    loss_parallel,
    parallelize_module,
)

build_single = llama.build_single
ROWS, COLUMNS = Shard(1), Shard(-1)


def parallelize(model, mesh, norm=SequenceParallel, logits=COLUMNS):
    ends = {
        "embedding": RowwiseParallel(input_layouts=Replicate(), output_layouts=ROWS),
        "norm": norm(),
        "output": ColwiseParallel(input_layouts=ROWS, output_layouts=logits, use_local_output=False),
    }
    parallelize_module(model, mesh, ends)
    for layer in model.layers:
        plan = {
            "attention_norm": norm(),
            "attention": PrepareModuleInput(input_layouts=(ROWS,), desired_input_layouts=(Replicate(),)),
            "attention.wq": ColwiseParallel(),
            "attention.wk": ColwiseParallel(),
            "attention.wv": ColwiseParallel(),
            "attention.wo": RowwiseParallel(output_layouts=ROWS),
            "ffn_norm": norm(),
            "feed_forward": PrepareModuleInput(input_layouts=(ROWS,), desired_input_layouts=(Replicate(),)),
            "feed_forward.w1": ColwiseParallel(),
            "feed_forward.w3": ColwiseParallel(),
            "feed_forward.w2": RowwiseParallel(output_layouts=ROWS),
        }
        parallelize_module(layer, mesh, plan)
    return model


def mesh_of(ctx):
    return init_device_mesh("cpu", (ctx.world,), mesh_dim_names=("tp",))


def with_loss_parallel(program):
    """The same program, its loss computed on logits that are cut along the vocabulary."""

    def step():
        with loss_parallel():
            return program.step()

    return replace(program, step=step)


def build(ctx):
    """The norm weights' gradients stay partial sums over the ranks, as DTensor says of them."""
    return with_loss_parallel(llama.train(parallelize(llama.Llama(), mesh_of(ctx))))


def to_local(module, inputs):
    return tuple(x.to_local() if isinstance(x, DTensor) else x for x in inputs)


class LocalNorm(SequenceParallel):
    """A norm on the rank's rows whose weight does not know that it is shared."""

    def _apply(self, module, device_mesh):
        module.register_forward_pre_hook(to_local)
        return module


def build_norm_weights_not_reduced(ctx):
    """Wrong: each rank keeps the gradient that its own rows give the norm weights, and takes it for the whole."""
    return with_loss_parallel(llama.train(parallelize(llama.Llama(), mesh_of(ctx), LocalNorm)))
