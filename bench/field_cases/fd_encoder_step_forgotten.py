"""Encoder and decoder of a summing model have an optimizer each, as in the translation tutorial; the encoder's step
is missing. What the decoder reads is noise of the encoder's first weights. Repair: both steps."""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

META = dict(
    id="fd_encoder_step_forgotten",
    source="widely reported: encoder_optimizer.step() forgotten beside decoder_optimizer.step()",
    cause="missing_optimizer_step",
    also=["parameters_not_in_optimizer"],
    layer=None,
    onset=(0, 0),
    symptom="slow",
)


class Pair(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.encoder = nn.LSTM(1, 4, batch_first=True)
        self.decoder = nn.Sequential(nn.Linear(4, 4), nn.Tanh(), nn.Linear(4, 2))

    def forward(self, sequence: Tensor) -> Tensor:
        return self.decoder(self.encoder(sequence)[1][0][0])


def run(seed: int, healthy: bool, debug: Callable) -> list[float]:
    torch.manual_seed(seed)
    pair = Pair()
    encoder_optimizer = torch.optim.Adam(pair.encoder.parameters(), lr=2e-2)
    decoder_optimizer = torch.optim.Adam(pair.decoder.parameters(), lr=2e-2)
    losses = []
    with debug(pair):
        for _ in range(350):
            sequence = torch.randn(48, 10, 1)
            target = torch.stack([sequence[:, :3, 0].mean(1) * 1.7, sequence.amax((1, 2)) - 1.5], 1)
            loss = F.mse_loss(pair(sequence), target)
            encoder_optimizer.zero_grad()
            decoder_optimizer.zero_grad()
            loss.backward()
            if healthy:
                encoder_optimizer.step()
            decoder_optimizer.step()
            losses.append(loss.item())
    return losses
