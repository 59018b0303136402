"""Llama under DTensor's tensor parallelism: column-wise and row-wise linears, a row-wise embedding.

verdict torch examples/torch/llama_tp.py --world 4
"""

import llama
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import Replicate
from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module

build_single = llama.build_single


def layer_plan(row=RowwiseParallel):
    return {
        "attention.wq": ColwiseParallel(),
        "attention.wk": ColwiseParallel(),
        "attention.wv": ColwiseParallel(),
        "attention.wo": row(),
        "feed_forward.w1": ColwiseParallel(),
        "feed_forward.w3": ColwiseParallel(),
        "feed_forward.w2": row(),
    }


def parallelize(model, mesh, row=RowwiseParallel):
    ends = {
        "embedding": RowwiseParallel(input_layouts=Replicate(), output_layouts=Replicate()),
        "output": ColwiseParallel(output_layouts=Replicate()),
    }
    parallelize_module(model, mesh, ends)
    for layer in model.layers:
        parallelize_module(layer, mesh, layer_plan(row))
    return model


def build(ctx):
    mesh = init_device_mesh("cpu", (ctx.world,), mesh_dim_names=("tp",))
    return llama.train(parallelize(llama.Llama(), mesh))


class ForgetfulRowwise(RowwiseParallel):
    """A row-wise linear that takes its partial output for the whole."""

    @staticmethod
    def _prepare_output_fn(output_layouts, use_local_output, mod, outputs, device_mesh):
        return outputs.to_local()


def build_missing_g(ctx):
    """Wrong: the row-wise linears hand on their partial outputs unreduced."""
    mesh = init_device_mesh("cpu", (ctx.world,), mesh_dim_names=("tp",))
    return llama.train(parallelize(llama.Llama(), mesh, ForgetfulRowwise))
