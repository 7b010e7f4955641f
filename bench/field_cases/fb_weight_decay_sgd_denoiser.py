"""A denoising autoencoder with SGD and weight_decay=0.1, because "the model overfits". The error per value is small, so
the decay is far stronger than the gradient: the weights of every layer go to zero and the output is the mean of the
data. Repair: 1e-5."""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

META = dict(
    id="fb_weight_decay_sgd_denoiser",
    source="a public report",
    cause="excessive_weight_decay",
    also=[],
    layer=None,
    onset=(0, 120),
    symptom="loss_plateau",
)


class Denoiser(nn.Module):
    def __init__(self, inputs: int = 20, width: int = 64, code: int = 10) -> None:
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(inputs, width), nn.SiLU(), nn.Linear(width, code))
        self.decoder = nn.Sequential(nn.SiLU(), nn.Linear(code, width), nn.SiLU(), nn.Linear(width, inputs))

    def forward(self, x: Tensor) -> Tensor:
        return self.decoder(self.encoder(x))


def run(seed: int, healthy: bool, debug: Callable) -> list[float]:
    torch.manual_seed(seed)
    mix = torch.randn(4, 20) / 2
    model = Denoiser()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.3, momentum=0.9, weight_decay=1e-5 if healthy else 0.1)
    losses = []
    with debug(model):
        for _ in range(400):
            clean = torch.tanh(torch.randn(64, 4) @ mix)
            noisy = clean + 0.2 * torch.randn_like(clean)
            loss = F.mse_loss(model(noisy), clean)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
    return losses
