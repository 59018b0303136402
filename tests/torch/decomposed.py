"""Rows of a batch behind a linear layer and operators that are recorded as others. For tests."""

import functools

import torch
import torch.distributed as dist
from torch import nn
from torch.nn import functional

from verdict.torch import Program, mean, shard

ROWS, SIZE = 4, 6


def image(y):
    return y.reshape(-1, 1, 2, 3)


OPERATORS = {
    "shifts": {
        "addmv": lambda y: torch.addmv(torch.ones(len(y)), y, torch.ones(SIZE)),
        "diag_embed": torch.diag_embed,
        "index_fill": lambda y: y.index_fill(1, torch.tensor([0, 2]), 3.0),
        "index_copy": lambda y: y.index_copy(1, torch.tensor([0, 2]), y[:, 3:5]),
        "rot90": lambda y: torch.rot90(y.reshape(-1, 2, 3), 1, (1, 2)),
    },
    "blocks": {
        "pixel_shuffle": lambda y: functional.pixel_shuffle(y.repeat(1, 2).reshape(-1, 4, 1, 3), 2),
        "channel_shuffle": lambda y: functional.channel_shuffle(y[:, :, None, None], 2),
        "block_diag": lambda y: torch.stack([torch.block_diag(row[None], row[None]) for row in y]),
        "cross": lambda y: torch.linalg.cross(y[:, :3], y[:, 3:]),
    },
    "windows": {
        "unfold": lambda y: y.unfold(1, 3, 1),
        "im2col": lambda y: functional.unfold(image(y), (2, 2)),
        "col2im": lambda y: functional.fold(y.repeat(1, 4).reshape(-1, 4, 6)[:, :, :2], (2, 3), (2, 2)),
        "reflected": lambda y: functional.pad(image(y), (1, 1, 1, 1), mode="reflect"),
        "replicated": lambda y: functional.pad(image(y), (1, 0, 2, 1), mode="replicate"),
        "adaptive_max": lambda y: functional.adaptive_max_pool2d(image(y), 1),
    },
    "transposed": {
        "line": lambda y: functional.conv_transpose1d(y[:, None], 0.1 * torch.arange(6.0).reshape(1, 2, 3), stride=2),
        "plane": lambda y: functional.conv_transpose2d(image(y), torch.ones(1, 1, 2, 2), padding=1, output_padding=0),
    },
    "sizes": {
        "nearest": lambda y: functional.interpolate(image(y), scale_factor=2),
        "bilinear": lambda y: functional.interpolate(image(y), size=(3, 5), mode="bilinear", align_corners=True),
        "bicubic": lambda y: functional.interpolate(image(y), scale_factor=1.5, mode="bicubic"),
        "linear": lambda y: functional.interpolate(y[:, None], size=4, mode="linear"),
    },
    "bends": {
        "hardshrink": functional.hardshrink,
        "softshrink": functional.softshrink,
        "threshold": lambda y: functional.threshold(y, 0.1, 20.0),
        "prelu": lambda y: functional.prelu(y, torch.full((1,), 0.25)),
        "isfinite": lambda y: torch.where(torch.isfinite(y), y, 0.0),
    },
    "margins": {
        "soft_margin": lambda y: functional.soft_margin_loss(y, torch.ones_like(y), reduction="none"),
        "frac": torch.frac,
        "nan_to_num": torch.nan_to_num,
    },
    "curves": {
        "sinh": torch.sinh,
        "cosh": torch.cosh,
        "asinh": torch.asinh,
        "tan": torch.tan,
        "in_place": lambda y: y.clone().sinh_(),
        "erfc": torch.erfc,
        "hypot": lambda y: torch.hypot(y, y + 1),
        "logit": lambda y: torch.logit(torch.sigmoid(y), eps=1e-6),
        "vdot": lambda y: torch.stack([torch.vdot(row, row) for row in y]),
    },
    "angles": {
        "acos": lambda y: torch.acos(y.tanh() / 2),
        "asin": lambda y: torch.asin(y.tanh() / 2),
        "atan": torch.atan,
        "atan2": lambda y: y * torch.atan2(y.detach(), y.detach() + 3),
    },
    "signs": {
        "copysign": lambda y: torch.copysign(y, y.flip(1)),
        "copysign_number": lambda y: torch.copysign(y, -1.0),
        "signbit": lambda y: torch.where(torch.signbit(y), 2 * y, y),
        "fmod": lambda y: torch.fmod(y, 1.5),
        "fmod_tensor": lambda y: torch.fmod(y, y.flip(1).exp()),
    },
    "numbers": {
        "fmax": lambda y: torch.fmax(y, -2 * y),
        "xlogy": lambda y: torch.xlogy(y.flip(1), y.exp()),
        "entropy": lambda y: torch.xlogy(y.exp(), y.exp()),
        "lgamma": lambda y: torch.lgamma(y.abs() + 1),
        "digamma": lambda y: torch.digamma(y.abs() + 1),
        "erfinv": lambda y: torch.erfinv(y.tanh() / 2),
    },
    "runs": {
        "cummax": lambda y: y.cummax(1)[0],
        "cummin": lambda y: y.cummin(1)[0],
        "scatter_amax": lambda y: torch.zeros(len(y), 3).scatter_reduce(1, places(y), y, "amax"),
        "scatter_amin": lambda y: y.scatter_reduce(1, places(y), y, "amin", include_self=False),
    },
    "quantized": {
        "tensor": lambda y: torch.fake_quantize_per_tensor_affine(y, 0.1, 1, -8, 7),
        "channels": lambda y: torch.fake_quantize_per_channel_affine(
            y, 0.1 * torch.arange(1.0, SIZE + 1), torch.zeros(SIZE, dtype=torch.int32), 1, -8, 7
        ),
    },
    "distances": {
        "cdist": lambda y: torch.cdist(y[:, None], y.reshape(-1, 1, SIZE) + 1).flatten(1),
        "manhattan": lambda y: torch.cdist(y.reshape(-1, 2, 3), y.reshape(-1, 2, 3) + 1, p=1.0).flatten(1),
        "by_products": lambda y: torch.cdist(y.reshape(-1, 2, 3), y.reshape(-1, 2, 3) + 1).flatten(1),
    },
    "volumes": {
        "avg_pool3d": lambda y: functional.avg_pool3d(y.reshape(-1, 1, 1, 2, 3), (1, 2, 2), (1, 1, 1), (0, 1, 1)),
    },
    "orders": {
        "kthvalue": lambda y: y.kthvalue(2, 1)[0],
        "median": lambda y: y.median(1)[0],
        "stable": lambda y: y.sort(dim=1, stable=True)[0],
        "aminmax": lambda y: sum(torch.aminmax(y, dim=1)),
        "searchsorted": lambda y: torch.arange(3.0)[torch.searchsorted(torch.tensor([-0.5, 0.5]), y.detach())] * y,
    },
    "patterns": {
        "diagonal": lambda y: y @ torch.eye(300)[:SIZE, :SIZE],
        "lower": lambda y: y.reshape(-1, 2, 3)[:, *torch.tril_indices(2, 3)],
        "upper": lambda y: y.reshape(-1, 3, 2)[:, *torch.triu_indices(3, 2, 1)],
        "isin": lambda y: y * torch.isin(torch.arange(SIZE), torch.tensor([1, 4])),
        "nearest_exact": lambda y: functional.interpolate(y[:, None], size=4, mode="nearest-exact"),
    },
    "routes": {
        "topk": lambda y: y.topk(2, 1)[0],
        "argmax": lambda y: y.gather(1, y.argmax(1, keepdim=True)),
        "gates": lambda y: routed(y.softmax(-1)),
    },
    "put": {
        "take": lambda y: y[None].take(torch.arange(len(y) * SIZE).flip(0)).reshape(y.shape),
        "put": lambda y: y.put(torch.arange(len(y) * SIZE)[::2], y[:, :3] * y[:, 3:]),
        "scattered": lambda y: y.masked_scatter(torch.tensor([True, False, False] * 2), y[:, 2:4]),
        "rows": lambda y: y.index_reduce(1, torch.tensor([0, 4, 0]), y[:, 1:4], "mean"),
        "best": lambda y: y.index_reduce(1, torch.tensor([0, 4, 0]), y[:, 1:4], "amax", include_self=False),
        "some": lambda y: y.scatter_reduce(1, torch.tensor([[1, 1, 0]]).expand(len(y), 3), y[:, 3:], "prod"),
    },
    "grids": {
        "bilinear": lambda y: sampled(y, "bilinear", "reflection", False),
        "nearest": lambda y: sampled(y, "nearest", "zeros", True),
        "bicubic": lambda y: sampled(y, "bicubic", "border", True),
        "volume": lambda y: functional.grid_sample(
            y.reshape(-1, 1, 1, 2, 3), points(y)[:, None, ..., [0, 1, 1]], align_corners=False
        ),
    },
    "points": {
        "grid": lambda y: functional.grid_sample(
            torch.tensor([0.5, -1.0]).expand(len(y), 1, 1, 2), y[:, None, :1, None].expand(-1, 1, 1, 2) / 8
        ),
    },
    "ceilings": {
        "max": lambda y: functional.max_pool2d(image(y), 2, 2, ceil_mode=True),
        "mean": lambda y: functional.avg_pool2d(image(y), 2, 2, ceil_mode=True, count_include_pad=False),
        "unlike": lambda y: functional.adaptive_max_pool2d(image(y), (1, 2)),
        "volume": lambda y: functional.adaptive_avg_pool3d(y.reshape(-1, 1, 1, 2, 3), (1, 1, 2)),
        "decimals": lambda y: y * torch.round(y.detach(), decimals=1),
        "middle": lambda y: y.nanmedian(1)[0],
        "margin": lambda y: functional.multi_margin_loss(y, torch.full((len(y),), 2), p=2, reduction="none"),
        "copied": lambda y: torch.transpose_copy(torch.view_copy(y, (-1, 2, 3)), 1, 2),
        "bits": lambda y: y * ((torch.arange(SIZE) << 2) >> torch.tensor([0, 1, 2, 3, 64, 0])),
    },
    "constants": {
        "repeated": lambda y: y.repeat_interleave(torch.tensor([1, 2, 0, 3, 0, 1]), 1),
        "masked": lambda y: y[:, torch.tensor([True, False, True, True, False, False])],
        "scattered": lambda y: y.masked_scatter(torch.tensor([True, False] * 3), y[:, :3].contiguous()),
        "put": lambda y: torch.zeros_like(y).index_put((torch.ones(len(y), SIZE) > 0,), y.reshape(-1)),
        "unique": lambda y: y[:, torch.unique(torch.tensor([0, 2, 2, 5]))],
    },
    "inverses": {
        "inv": lambda y: torch.linalg.inv(definite(y)),
        "solve": lambda y: torch.linalg.solve(definite(y), y[:, :2]),
        "triangular": lambda y: torch.linalg.solve_triangular(definite(y), y[:, 4:, None], upper=True),
        "cholesky": lambda y: torch.cholesky_solve(y[:, 4:, None], torch.linalg.cholesky(definite(y))),
        "determinant": lambda y: torch.linalg.slogdet(definite(y))[1] * torch.det(squares(y)),
    },
    "spectra": {
        "eigenvectors": lambda y: roots(definite(y)),
        "singular": lambda y: torch.linalg.svdvals(y.reshape(-1, 2, 3)),
        "orthogonal": lambda y: torch.linalg.qr(y.reshape(-1, 3, 2))[0],
        "exponential": lambda y: torch.matrix_exp(squares(y)),
        "pseudo": lambda y: torch.linalg.pinv(y.reshape(-1, 3, 2)),
    },
    "sums": {
        "scatter_mean": lambda y: torch.zeros(len(y), 3).scatter_reduce(1, places(y), y, "mean"),
        "std_mean": lambda y: sum(torch.std_mean(y, 1)),
        "count_nonzero": lambda y: y * torch.count_nonzero(y > 0, 1)[:, None],
        "pairwise": lambda y: functional.pairwise_distance(y, torch.ones_like(y)),
        "trilinear": lambda y: functional.bilinear(y[:, :3], y[:, 3:], torch.ones(2, 3, 3)),
    },
}


class Bags(nn.Module):
    """Rows times the mean of a bag of a table's rows, and the sum of two weighted bags."""

    def __init__(self, linear):
        super().__init__()
        self.linear = linear
        self.mean, self.sum = (nn.EmbeddingBag(4, SIZE, mode=mode, padding_idx=0) for mode in ("mean", "sum"))

    def forward(self, x):
        ids, weights = torch.tensor([[0, 1, 3, 3]]).expand(len(x), 4), self.linear.weight[0, :3]
        both = self.sum(torch.tensor([3, 1, 2]), torch.tensor([0, 2]), per_sample_weights=weights)
        return self.linear(x) * self.mean(ids) + both.sum(0)


class Tangent(nn.Module):
    """What a layer makes, and how the slope of its bend changes along the squares of its input: the bias stays."""

    def __init__(self, linear):
        super().__init__()
        self.linear = linear

    def forward(self, x):
        slope = torch.func.grad(lambda z: self.linear(z).tanh().sum())
        return torch.func.jvp(slope, (x,), (x * x,))[1] + self.linear(x)


def routed(scores):
    """Each row by the weights of its two best experts, which add up to one."""
    best, at = scores.topk(2, 1)
    return torch.zeros(len(scores), SIZE).scatter(1, at, best / best.sum(1, keepdim=True)) @ torch.eye(SIZE)


def squares(y):
    return y[:, :4].reshape(-1, 2, 2)


def definite(y):
    return squares(y) @ squares(y).mT + torch.eye(2)


def roots(matrices):
    values, vectors = torch.linalg.eigh(matrices)
    return vectors @ torch.diag_embed(values.rsqrt()) @ vectors.mT


def points(y):
    """Three points for each row, some of them outside of any image."""
    return torch.tensor([[0.1, -0.3], [1.7, -0.9], [-0.45, 2.5]]).expand(len(y), 1, 3, 2)


def sampled(y, how, padding, aligned):
    return functional.grid_sample(image(y), points(y), how, padding, align_corners=aligned)


def places(y):
    return torch.tensor([[0, 1, 2, 0, 1, 2]]).expand(len(y), SIZE)


def program(ctx, operators, reduced=True, wrap=nn.Sequential):
    torch.manual_seed(0)
    model, x = wrap(nn.Linear(SIZE, SIZE)), torch.randn(ROWS, SIZE)[: ROWS // ctx.world].clone()

    def step():
        y = model(x)
        loss = sum(operator(y).square().mean() for operator in operators)
        loss.backward()
        if ctx.world > 1 and reduced:
            for param in model.parameters():
                dist.all_reduce(param.grad, op=dist.ReduceOp.AVG)
        return loss

    specs = {"x": shard(0, ctx.rank, ctx.world)} if ctx.world > 1 else {}
    return Program({"x": x}, model, step, specs=specs, loss=mean(ctx.rank, ctx.world))


def shampoo(ctx, late=False):
    """A step along the gradient times the root of its inverse square. late: what ranks make of their own gradients
    is averaged, which is another mean.
    """
    torch.manual_seed(0)
    model, x = nn.Linear(SIZE, 2, bias=False), torch.randn(ROWS, SIZE)[: ROWS // ctx.world].clone()

    def reduce(grad):
        if ctx.world > 1:
            dist.all_reduce(grad, op=dist.ReduceOp.AVG)
        return grad

    def step():
        loss = model(x).square().mean()
        loss.backward()
        grad = model.weight.grad if late else reduce(model.weight.grad)
        along = roots(grad @ grad.mT + torch.eye(2)) @ grad
        with torch.no_grad():
            model.weight.sub_(0.1 * (reduce(along) if late else along))
        return loss

    specs = {"x": shard(0, ctx.rank, ctx.world)} if ctx.world > 1 else {}
    return Program({"x": x}, model, step, specs=specs, loss=mean(ctx.rank, ctx.world))


class Upwards(nn.ConvTranspose1d):
    def __init__(self):
        super().__init__(2, 2, 2, stride=2)

    def forward(self, y):
        return super().forward(y.reshape(len(y), 2, -1))


def built(operators, **how):
    return functools.partial(program, operators=operators, **how)


for name, group in OPERATORS.items():
    globals()[f"build_{name}"] = built([*group.values()])
    globals()[f"build_{name}_wrong"] = built([*group.values()], reduced=False)
build_deconvolution = built([torch.tanh], wrap=lambda linear: nn.Sequential(linear, Upwards()))
build_deconvolution_wrong = built([torch.tanh], wrap=lambda linear: nn.Sequential(linear, Upwards()), reduced=False)
build_bags = built([torch.tanh], wrap=Bags)
build_bags_wrong = built([torch.tanh], wrap=Bags, reduced=False)
build_weight_norm = built([torch.tanh], wrap=nn.utils.parametrizations.weight_norm)
build_weight_norm_wrong = built([torch.tanh], wrap=nn.utils.parametrizations.weight_norm, reduced=False)
build_shampoo = shampoo
build_shampoo_wrong = functools.partial(shampoo, late=True)
build_tangent = built([torch.tanh], wrap=Tangent)
build_tangent_wrong = built([torch.tanh], wrap=Tangent, reduced=False)
