"""Llama under tensor and sequence parallelism with a vocabulary of 7 on 2 ranks, of 4 and 3 words.

DTensor pads the shorter shards before it communicates, and cuts the padding off again. A sequence that does not divide
is not for these styles: what one hands to the next as a local tensor is taken for an even shard.

verdict torch examples/torch/llama_uneven.py --world 2
"""

import llama
import llama_tp_sp

SIZES = llama.SMALL._replace(vocab=7)


def build_single(ctx):
    return llama.train(llama.Llama(SIZES))


def build(ctx):
    model = llama_tp_sp.parallelize(llama.Llama(SIZES), llama_tp_sp.mesh_of(ctx))
    return llama_tp_sp.with_loss_parallel(llama.train(model))
