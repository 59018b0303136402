"""Megatron-Core: its DistributedDataParallel and optimizers, which copy weights and are made in the step."""

import torch
from gpt import BATCH, SEQ, VOCAB
from megatron.core import parallel_state
from megatron.core.distributed import DistributedDataParallel, DistributedDataParallelConfig
from megatron.core.optimizer import OptimizerConfig, get_megatron_optimizer

from verdict.torch import Program, cuda_as_cpu, mean, shard

RATE = 0.01


def wrapped(model, distributed):
    """The model in Megatron's wrapper, and its optimizer. distributed: whether states are spread over the ranks."""
    settings = DistributedDataParallelConfig(use_distributed_optimizer=distributed)
    sizes = {"optimizer": "adam", "lr": RATE, "weight_decay": 0.0, "clip_grad": 0.0}
    module = DistributedDataParallel(model.config, settings, model)
    return module, get_megatron_optimizer(OptimizerConfig(use_distributed_optimizer=distributed, **sizes), [module])


def finished(module):
    """What Megatron's training loop calls after the backward pass."""
    module.finish_grad_sync()


def program(ctx, make, train, names=lambda name: name):
    """A step on a model that `make` makes, with weights that are loaded into it. train: makes the step of a model and
    a function that runs it. names: of a parameter in the single-device program.
    """
    rank, ranks = parallel_state.get_data_parallel_rank(), parallel_state.get_data_parallel_world_size()
    rows = BATCH // ranks
    tokens, labels = (torch.randint(VOCAB, (rows, SEQ)) for _ in range(2))
    places, mask = torch.arange(SEQ).expand(rows, SEQ), torch.ones(1, 1, SEQ, SEQ).tril() < 0.5
    with cuda_as_cpu():
        weights = {names(name): param.detach().clone() for name, param in make().named_parameters()}
    after = {}

    def step():
        with cuda_as_cpu():
            model = make()
            with torch.no_grad():
                for name, param in model.named_parameters():
                    param.copy_(weights[names(name)])
            loss = train(model, lambda module: module(tokens, places, mask, labels=labels).mean())
        after.update({f"new {names(name)}": param.detach() for name, param in model.named_parameters()})
        return loss

    inputs, part = {"tokens": tokens, "labels": labels}, shard(0, rank, ranks)
    more = {"specs": dict.fromkeys(inputs, part), "loss": mean(rank, ranks), "ranges": {"labels": (0, VOCAB - 1)}}
    return Program(inputs=inputs, params=weights, step=step, outputs=lambda: after, **more)


def alone(model, loss_of):
    """On one device: torch's AdamW."""
    adam = torch.optim.AdamW(model.parameters(), lr=RATE, weight_decay=0.0)
    loss = loss_of(model)
    loss.backward()
    adam.step()
    return loss


def by_megatron(distributed, finish=finished):
    """Megatron's wrapper and optimizer."""

    def train(model, loss_of):
        module, optimizer = wrapped(model, distributed)
        module.zero_grad_buffer()
        optimizer.zero_grad()
        loss = loss_of(module)
        loss.backward()
        finish(module)
        optimizer.step()
        return loss

    return train
