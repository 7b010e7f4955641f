"""What an intervention changes of a model and what it has to leave as it is."""

from __future__ import annotations

import torch
from torch import nn

from neuraldbg.verify._lever import Target
from neuraldbg.verify.interventions import intervene


class Graph(nn.Module):
    """Gives what it was given."""

    def forward(self, features: torch.Tensor, adjacency: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return features, adjacency


def test_features_are_standardized_and_the_adjacency_beside_them_stays():
    torch.manual_seed(0)
    links = (torch.rand(16, 8, 8) < 0.35).float()
    adjacency = links / links.sum(2, keepdim=True).clamp_min(1)
    features = 80 * torch.randn(16, 8, 6)
    with intervene("standardize_inputs") as lever:
        scaled, kept = Graph()(features, adjacency)
    assert lever.acted == 1
    assert torch.equal(kept, adjacency)
    assert scaled.std() < 2


def test_one_hot_rows_stay_and_small_pixels_are_standardized():
    torch.manual_seed(0)
    one_hot = nn.functional.one_hot(torch.randint(30, (64,)), 30).float()
    with intervene("standardize_inputs") as lever:
        assert torch.equal(nn.Identity()(one_hot), one_hot)
    assert lever.acted == 0
    # Divided by 255 twice: many zeros, too, but far below one.
    pixels = torch.relu(torch.randn(64, 30)) / 255
    with intervene("standardize_inputs") as lever:
        assert nn.Identity()(pixels).std() > 0.5
    assert lever.acted == 1


class Residual(nn.Module):
    """Twelve branches, each as large as what it is added to."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(8, 32)
        self.branches = nn.ModuleList(nn.Linear(32, 32) for _ in range(12))
        self.last = nn.Linear(32, 1)
        for branch in self.branches:
            nn.init.kaiming_normal_(branch.weight)

    def trunk(self, x: torch.Tensor) -> torch.Tensor:
        hidden = self.first(x)
        for branch in self.branches:
            hidden = hidden + branch(hidden.relu())
        return hidden

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        hidden = self.trunk(x)
        return self.last(hidden), hidden


def test_against_an_explosion_constants_keep_the_size_of_each_sample():
    torch.manual_seed(0)
    model, x = Residual(), torch.randn(64, 8)
    assert model(x)[1].std() > 10
    sizes = {}
    for strength in (1.0, 0.0):
        with intervene("normalize_layer", Target("exploding_depth"), strength) as lever:
            model(x)
            small, large = (model(factor * x)[1].square().mean() for factor in (0.5, 1.0))
        sizes[strength] = large / small, large
        assert lever.acted and lever.changes
    assert sizes[0.0][1] < 5
    # A layer norm takes most of the difference away.
    assert sizes[0.0][0] > 2.5 > sizes[1.0][0]


def test_against_a_vanishing_signal_constants_bring_its_spread_back():
    torch.manual_seed(0)
    model = nn.Sequential(*(layer for _ in range(8) for layer in (nn.Linear(16, 16), nn.Sigmoid())), nn.Linear(16, 2))
    x = torch.randn(64, 16)
    assert model[:-1](x).std(0).mean() < 1e-3
    with intervene("normalize_layer", Target("vanishing_depth"), 0.0) as lever:
        assert model(x).std(0).mean() > 0.05
    assert lever.changes == ["the output of each hidden layer shifted and scaled once"]
