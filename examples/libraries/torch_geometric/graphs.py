"""Graph networks of torch_geometric: a batch of graphs, of which each data parallel rank has its own."""

import torch
import torch.distributed as dist
from torch import nn
from torch.nn import functional
from torch.nn.parallel import DistributedDataParallel
from torch_geometric.nn import GATConv, GCNConv, TransformerConv, global_mean_pool

from verdict.torch import Step

ROWS, NODES, SIZE, CLASSES = 4, 3, 4, 3


class Attending(nn.Module):
    """The graphs are one, of parts that have no edge between them."""

    def __init__(self):
        super().__init__()
        self.layer, self.last = GATConv(SIZE, SIZE // 2, heads=2), nn.Linear(SIZE, CLASSES)

    def forward(self, x):
        edges = torch.tensor([[0, 1, 2, 2], [1, 2, 0, 1]])
        joined = torch.cat([edges + graph * NODES for graph in range(len(x))], 1)
        batch = torch.arange(len(x)).repeat_interleave(NODES)
        made = functional.relu(self.layer(x.flatten(0, 1), joined))
        return self.last(global_mean_pool(made, batch, size=len(x)))


class Convolving(nn.Module):
    """All graphs have the same edges, a buffer: the layer asks them which nodes have an edge to themselves."""

    def __init__(self):
        super().__init__()
        self.layer, self.last = GCNConv(SIZE, SIZE, node_dim=-2), nn.Linear(SIZE, CLASSES)
        self.register_buffer("edges", torch.tensor([[0, 1, 2, 2], [1, 2, 0, 1]]))

    def forward(self, x):
        return self.last(functional.relu(self.layer(x, self.edges)).mean(-2))


def graphs():
    return {"x": torch.randn(ROWS, NODES, SIZE), "target": torch.randint(CLASSES, (ROWS,))}


def loss(output, batch):
    return functional.cross_entropy(output, batch["target"])


def scaled(output, batch):
    return loss(output, batch) / (dist.get_world_size() if dist.is_initialized() else 1)


def adam(params):
    return torch.optim.AdamW(params, lr=0.01)


def ddp(model, mesh):
    return DistributedDataParallel(model)


def untouched(model, mesh):
    """Nobody averages the gradients."""
    return model


RANGES = {"target": (0, CLASSES - 1)}
gat_ddp = Step(Attending, ddp, graphs, {"dp": 2}, loss, adam, ranges=RANGES)
gat_ddp_scaled = Step(Attending, ddp, graphs, {"dp": 2}, scaled, adam, ranges=RANGES)
gcn_ddp = Step(Convolving, ddp, graphs, {"dp": 2}, loss, adam, ranges=RANGES)
gcn_alone = Step(Convolving, untouched, graphs, {"dp": 2}, loss, adam, ranges=RANGES)


class Transforming(Attending):
    """The same, with the attention of transformers between nodes that have an edge."""

    def __init__(self):
        super().__init__()
        self.layer = TransformerConv(SIZE, SIZE // 2, heads=2)


transformer_ddp = Step(Transforming, ddp, graphs, {"dp": 2}, loss, adam, ranges=RANGES)
transformer_ddp_scaled = Step(Transforming, ddp, graphs, {"dp": 2}, scaled, adam, ranges=RANGES)
