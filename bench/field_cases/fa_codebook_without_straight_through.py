"""An autoencoder with a codebook picks the nearest code by argmin and decodes it as it is. No gradient passes the
choice: decoder and codebook train, the encoder stays as it was drawn. Repair: the straight-through estimate and the
commitment term."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

META: dict[str, Any] = dict(
    id="fa_codebook_without_straight_through",
    source="widely reported: vector quantization whose encoder gets no gradient",
    cause="detached_graph",
    also=[],
    layer=["encoder", "encoder.0", "encoder.2", "quantizer"],
    onset=(0, 0),
    symptom="slow",
)


class Quantizer(nn.Module):
    def __init__(self, codes: int, width: int, healthy: bool) -> None:
        super().__init__()
        self.codebook = nn.Embedding(codes, width)
        self.healthy = healthy

    def forward(self, z: Tensor) -> tuple[Tensor, Tensor]:
        nearest = torch.cdist(z, self.codebook.weight).argmin(dim=-1)
        code = self.codebook(nearest)
        if self.healthy:
            commitment = 0.25 * (code.detach() - z).pow(2).mean() + (code - z.detach()).pow(2).mean()
            return z + (code - z).detach(), commitment
        return code, (code - z.detach()).pow(2).mean()


class CodebookAutoencoder(nn.Module):
    """Four codes per row; the input hides four symbols behind an exclusive-or, so that a random encoder loses them."""

    def __init__(self, healthy: bool) -> None:
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(16, 48), nn.ReLU(), nn.Linear(48, 16))
        self.quantizer = Quantizer(8, 4, healthy)
        self.decoder = nn.Sequential(nn.Linear(16, 48), nn.ReLU(), nn.Linear(48, 16))

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        z = self.encoder(x).view(-1, 4, 4)
        code, extra = self.quantizer(z)
        return self.decoder(code.flatten(1)), extra


def run(seed: int, healthy: bool, debug: Callable[[nn.Module], Any]) -> list[float]:
    """The returned list is the reconstruction error."""
    torch.manual_seed(seed)
    basis = torch.randn(4, 4, 16)
    model = CodebookAutoencoder(healthy)
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    losses = []
    with debug(model):
        for _step in range(450):
            symbol = torch.randint(0, 4, (48, 4))
            x = sum(basis[k, symbol[:, k]] for k in range(4)) / 2 + 0.05 * torch.randn(48, 16)
            restored, extra = model(x)
            error = nn.functional.mse_loss(restored, x)
            optimizer.zero_grad()
            (error + extra).backward()
            optimizer.step()
            losses.append(error.item())
    return losses
