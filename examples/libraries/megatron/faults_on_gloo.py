"""Two silent faults of Megatron-Core on two gloo processes, without Verdict: python faults_on_gloo.py

One device and two tensor parallel ranks get the same logits. Each line shows the losses of one token.
"""

import os
import sys

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from megatron.core import parallel_state
from megatron.core.tensor_parallel import vocab_parallel_cross_entropy

VOCAB, RANKS = 16, 2


def losses(logits, targets):
    """The plain loss of the rank's shard, with label smoothing, and the plain loss of logits that were gathered."""
    part = VOCAB // parallel_state.get_tensor_model_parallel_world_size()
    first = parallel_state.get_tensor_model_parallel_rank() * part
    shard = logits[..., first : first + part].contiguous()
    plain = vocab_parallel_cross_entropy(shard.clone(), targets)
    smoothed = vocab_parallel_cross_entropy(shard.clone(), targets, label_smoothing=0.1)
    gathered = vocab_parallel_cross_entropy(logits.clone(), targets)
    return [float(loss[0, 0]) for loss in (plain, smoothed, gathered)]


def run(rank, ranks, port):
    os.environ |= {"MASTER_ADDR": "localhost", "MASTER_PORT": str(port), "RANK": str(rank), "WORLD_SIZE": str(ranks)}
    dist.init_process_group("gloo")
    parallel_state.initialize_model_parallel(tensor_model_parallel_size=ranks)
    torch.manual_seed(0)
    found = losses(torch.randn(4, 2, VOCAB), torch.randint(VOCAB, (4, 2)))
    sys.stdout.write("{} of {}: plain {:.4f}  smoothed {:.4f}  gathered {:.4f}\n".format(rank, ranks, *found))
    dist.destroy_process_group()


if __name__ == "__main__":
    for ranks in (1, RANKS):
        mp.spawn(run, (ranks, 29650 + ranks), nprocs=ranks)
