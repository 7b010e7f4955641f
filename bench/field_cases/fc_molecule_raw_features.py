"""A graph net reads each atom's mass in daltons, its number of electrons and its partial charge as they stand in the
table: two features of dozens and one of tenths. The tanh units of the first layer sit at their limits and the charge,
which decides, is lost. Repair: standardize the features."""

from collections.abc import Callable

import torch
from torch import Tensor, nn

META = dict(
    id="fc_molecule_raw_features",
    source="widely reported: raw table columns of very different scale",
    cause="unnormalized_input",
    also=["saturating_activation"],
    layer=None,
    onset=(0, 0),
    symptom="loss_plateau",
)


class GraphLayer(nn.Module):
    def __init__(self, fan_in: int, fan_out: int) -> None:
        super().__init__()
        self.own = nn.Linear(fan_in, fan_out)
        self.near = nn.Linear(fan_in, fan_out, bias=False)

    def forward(self, x: Tensor, adjacency: Tensor) -> Tensor:
        return torch.tanh(self.own(x) + self.near(adjacency @ x))


class MoleculeNet(nn.Module):
    def __init__(self, width: int = 24) -> None:
        super().__init__()
        self.first = GraphLayer(3, width)
        self.second = GraphLayer(width, width)
        self.readout = nn.Linear(width, 1)

    def forward(self, x: Tensor, adjacency: Tensor) -> Tensor:
        h = self.second(self.first(x, adjacency), adjacency)
        return self.readout(h.mean(1)).squeeze(1)


def molecules(count: int, atoms: int = 8) -> tuple[Tensor, Tensor, Tensor]:
    mass = torch.tensor([12.0, 14.0, 16.0, 35.5, 79.9])[torch.randint(0, 5, (count, atoms))]
    electrons = (mass / 2).round() + torch.randint(-1, 2, (count, atoms))
    charge = 0.3 * torch.randn(count, atoms)
    edges = (torch.rand(count, atoms, atoms) < 0.3).float()
    adjacency = ((edges + edges.transpose(1, 2)) > 0).float()
    adjacency = adjacency / adjacency.sum(2, keepdim=True).clamp(min=1)
    near = (adjacency @ charge[..., None]).squeeze(2)
    dipole = (charge + near).mean(1) / 0.12 + 0.3 * (charge.abs().mean(1) - 0.24) / 0.06
    return torch.stack([mass, electrons, charge], 2), adjacency, dipole


def run(seed: int, healthy: bool, debug: Callable) -> list[float]:
    torch.manual_seed(seed)
    x, adjacency, y = molecules(1500)
    if healthy:
        x = (x - x.mean((0, 1))) / x.std((0, 1))
    model = MoleculeNet()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    losses = []
    with debug(model):
        for _ in range(400):
            rows = torch.randint(0, 1500, (32,))
            loss = nn.functional.mse_loss(model(x[rows], adjacency[rows]), y[rows])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
    return losses
