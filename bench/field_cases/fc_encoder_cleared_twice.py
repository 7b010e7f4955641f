"""A sequence-to-sequence net has one optimizer for the encoder and one for the decoder. Of the two lines that clear
gradients, the second is a copy of the first, and the decoder's gradients pile up from the first step on. Repair: clear
both."""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

META = dict(
    id="fc_encoder_cleared_twice",
    source="widely reported: gradients of one of two optimizers never cleared",
    cause="missing_zero_grad",
    also=[],
    layer=None,
    onset=(0, 30),
    symptom="divergence",
)


class Reverser(nn.Module):
    def __init__(self, symbols: int = 8, width: int = 32) -> None:
        super().__init__()
        self.encoder = nn.ModuleDict(
            {"embed": nn.Embedding(symbols, width), "gru": nn.GRU(width, width, batch_first=True)}
        )
        self.decoder = nn.ModuleDict(
            {
                "embed": nn.Embedding(symbols + 1, width),
                "gru": nn.GRU(width, width, batch_first=True),
                "out": nn.Linear(width, symbols),
            }
        )

    def forward(self, source: Tensor, previous: Tensor) -> Tensor:
        _, state = self.encoder["gru"](self.encoder["embed"](source))
        output, _ = self.decoder["gru"](self.decoder["embed"](previous), state)
        return self.decoder["out"](output)


def run(seed: int, healthy: bool, debug: Callable) -> list[float]:
    torch.manual_seed(seed)
    model = Reverser()
    encoder_optimizer = torch.optim.SGD(model.encoder.parameters(), lr=0.5)
    decoder_optimizer = torch.optim.SGD(model.decoder.parameters(), lr=0.5)
    losses = []
    with debug(model):
        for _ in range(260):
            source = torch.randint(0, 8, (32, 3))
            goal = source.flip(1)
            previous = torch.cat([torch.full((32, 1), 8), goal[:, :-1]], 1)
            encoder_optimizer.zero_grad()
            if healthy:
                decoder_optimizer.zero_grad()
            else:
                encoder_optimizer.zero_grad()
            loss = F.cross_entropy(model(source, previous).flatten(0, 1), goal.flatten())
            loss.backward()
            encoder_optimizer.step()
            decoder_optimizer.step()
            losses.append(loss.item())
    return losses
