"""A perceptron of DTensors whose weights are cut over both axes of a mesh. For tests."""

import torch
from torch.distributed.device_mesh import DeviceMesh
from torch.distributed.tensor import Replicate, Shard, distribute_tensor
from torch.nn import functional

from verdict.torch import Program

SHAPES = {"up": (8, 3), "down": (3, 8), "x": (4, 3), "target": (4, 3)}
CUT = {"up": (Shard(0), Shard(0)), "down": (Shard(0), Shard(1)), "x": (Shard(0), Replicate())}
CUT["target"] = CUT["x"]


def program(place):
    held = {name: place(name, torch.randn(shape)) for name, shape in SHAPES.items()}
    params = {name: torch.nn.Parameter(held.pop(name)) for name in ("up", "down")}

    def step():
        made = torch.tanh(held["x"] @ params["up"].T) @ params["down"].T
        loss = functional.mse_loss(made, held["target"])
        loss.backward()
        return loss.full_tensor() if hasattr(loss, "full_tensor") else loss

    return Program(inputs=held, params=params, step=step)


def build_single(ctx):
    return program(lambda name, whole: whole)


def build(ctx):
    """Wrong: torch 2.13 joins pieces in the products that are not those of one tensor."""
    mesh = DeviceMesh("cpu", [[0, 1], [2, 3]])
    return program(lambda name, whole: distribute_tensor(whole, mesh, CUT[name], src_data_rank=None))
