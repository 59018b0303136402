"""Llama under FSDP2 and tensor and sequence parallelism, on a mesh of dp x tp ranks.

verdict torch examples/torch/llama_fsdp2_tp.py --world 4
"""

import llama
import llama_tp_sp
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor import Replicate

from verdict.torch import mean, shard

TP = 2


def build_single(ctx):
    return llama.train(llama.Llama(), loss_of=llama.token_loss)


def build(ctx):
    """dp = world / 2 replicas of tp = 2 ranks."""
    mesh = init_device_mesh("cpu", (ctx.world // TP, TP), mesh_dim_names=("dp", "tp"))
    model = llama_tp_sp.parallelize(llama.Llama(), mesh["tp"], logits=Replicate())
    for layer in model.layers:
        fully_shard(layer, mesh=mesh["dp"])
    fully_shard(model, mesh=mesh["dp"])
    dp, replica = ctx.world // TP, ctx.rank // TP
    rows = shard(0, replica, dp)
    return llama.train(
        model,
        llama.BATCH // dp,
        specs={"tokens": rows, "targets": rows},
        loss=mean(replica, dp),
        loss_of=lambda logits, targets: llama.token_loss(logits.to_local(), targets),
    )
