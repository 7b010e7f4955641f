"""A sparse autoencoder with a penalty on its codes. The coefficient, 2.0, comes from a paper that sums over the
inputs where this one averages: within some steps every code is off, and a code that is off on every input never
comes back. Repair: 0.002. The returned list is the reconstruction's error."""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

META = dict(
    id="fd_loss_on_sparse_codes",
    source="widely reported: an L1 coefficient taken from a loss with another reduction",
    cause="dying_relu",
    also=["loss_scale"],
    layer=["codes", "encode"],
    onset=(2, 80),
    symptom="dead_units",
)


class SparseAutoencoder(nn.Module):
    def __init__(self, inputs: int = 20, codes: int = 60) -> None:
        super().__init__()
        self.encode, self.codes = nn.Linear(inputs, codes), nn.ReLU()
        self.decode = nn.Linear(codes, inputs)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        codes = self.codes(self.encode(x))
        return self.decode(codes), codes


def run(seed: int, healthy: bool, debug: Callable) -> list[float]:
    torch.manual_seed(seed)
    words = F.normalize(torch.randn(40, 20), dim=1)
    model = SparseAutoencoder()
    optimizer = torch.optim.Adam(model.parameters(), lr=4e-3)
    factor = 0.002 if healthy else 2.0
    errors = []
    with debug(model):
        for _ in range(400):
            use = torch.rand(64, 40) * (torch.rand(64, 40) < 0.08)
            x = 3 * use @ words
            guess, codes = model(x)
            error = F.mse_loss(guess, x)
            loss = error + factor * codes.abs().sum(1).mean() / 10
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            errors.append(error.item())
    return errors
