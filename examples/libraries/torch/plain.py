"""Models of torch's own modules, as they are, under DistributedDataParallel."""

from functools import partial

import torch
from blocks import adam
from torch import nn
from torch.nn import functional
from torch.nn.parallel import DistributedDataParallel

from verdict.torch import Program, mean, shard

WORDS, CLASSES, ROWS = 8, 3, 4


class UNet(nn.Module):
    """A level down, and one up by a transposed convolution."""

    def __init__(self):
        super().__init__()
        self.wide, self.wide_norm = nn.Conv2d(1, 2, 3, padding=1), nn.GroupNorm(1, 2)
        self.deep, self.deep_norm = nn.Conv2d(2, 4, 3, padding=1), nn.GroupNorm(2, 4)
        self.up, self.last = nn.ConvTranspose2d(4, 2, 2, stride=2), nn.Conv2d(4, 1, 1)

    def forward(self, x):
        wide = torch.relu(self.wide_norm(self.wide(x)))
        deep = torch.relu(self.deep_norm(self.deep(functional.max_pool2d(wide, 2))))
        return self.last(torch.cat([wide, self.up(deep)], 1))


class Mobile(nn.Module):
    """A depthwise convolution, squeeze and excitation, as MobileNetV3 has them."""

    def __init__(self):
        super().__init__()
        self.stem, self.depthwise = nn.Conv2d(1, 4, 3, stride=2, padding=1), nn.Conv2d(4, 4, 3, padding=1, groups=4)
        self.pointwise, self.squeeze, self.excite = nn.Conv2d(4, 4, 1), nn.Conv2d(4, 2, 1), nn.Conv2d(2, 4, 1)
        self.last = nn.Linear(4, CLASSES)

    def forward(self, x):
        x = functional.hardswish(self.stem(x))
        made = self.pointwise(functional.hardswish(self.depthwise(x)))
        scale = torch.sigmoid(self.excite(torch.relu(self.squeeze(functional.adaptive_avg_pool2d(made, 1)))))
        return self.last((x + made * scale).mean((2, 3)))


class Recurrent(nn.Module):
    def __init__(self, kind):
        super().__init__()
        self.words, self.cell, self.last = nn.Embedding(WORDS, 4), kind(4, 4, batch_first=True), nn.Linear(4, CLASSES)

    def forward(self, x):
        return self.last(self.cell(self.words(x))[0][:, -1])


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        layer = nn.TransformerEncoderLayer(8, 2, 16, 0.0, batch_first=True, norm_first=True)
        self.words, self.layers = nn.Embedding(WORDS, 8), nn.TransformerEncoder(layer, 1, enable_nested_tensor=False)
        self.last = nn.Linear(8, CLASSES)

    def forward(self, x):
        return self.last(self.layers(self.words(x)).mean(1))


def pictures(rows):
    return {"x": torch.randn(rows, 1, 4, 4), "target": torch.randn(rows, 1, 4, 4)}


def classed(rows):
    return {"x": torch.randn(rows, 1, 4, 4), "target": torch.randint(CLASSES, (rows,))}


def words(rows):
    return {"x": torch.randint(WORDS, (rows, 4)), "target": torch.randint(CLASSES, (rows,))}


def builders(make, inputs):
    """Those of the single-device program, of the parallel one, and of that whose loss is divided by the ranks again."""

    def program(ctx, wrap=lambda model: model, scale=1.0):
        model, batch = make(), inputs(ROWS // ctx.world)
        wrapped, stepper = wrap(model), adam(model.parameters())
        error = functional.mse_loss if inputs is pictures else functional.cross_entropy

        def step():
            loss = error(wrapped(batch["x"]), batch["target"])
            (loss * scale).backward()
            stepper.step()
            return loss

        counts = {"x": WORDS, "target": CLASSES}
        ranges = {name: (0, counts[name] - 1) for name, x in batch.items() if not x.is_floating_point()}
        specs = {name: shard(0, ctx.rank, ctx.world) for name in batch}
        more = {"specs": specs, "loss": mean(ctx.rank, ctx.world), "ranges": ranges}
        return Program(inputs=batch, params=model, optimizer=stepper, step=step, **more)

    wrapped = partial(program, wrap=DistributedDataParallel)
    return program, wrapped, partial(wrapped, scale=0.5)


unet_single, unet_ddp, unet_ddp_scaled = builders(UNet, pictures)
mobile_single, mobile_ddp, mobile_ddp_scaled = builders(Mobile, classed)
lstm_single, lstm_ddp, lstm_ddp_scaled = builders(partial(Recurrent, nn.LSTM), words)
gru_single, gru_ddp, gru_ddp_scaled = builders(partial(Recurrent, nn.GRU), words)
encoder_single, encoder_ddp, encoder_ddp_scaled = builders(Encoder, words)
