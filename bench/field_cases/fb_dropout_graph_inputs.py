"""A graph convolution with dropout of 0.97 on its inputs and on its hidden layer, "because the citation benchmark uses
a lot of it". Almost nothing of the signal is left in training: the loss stays near chance. Repair: 0.3."""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

META = dict(
    id="fb_dropout_graph_inputs",
    source="a public report",
    cause="excessive_dropout",
    also=[],
    layer=["drop_input", "drop_hidden", ""],
    onset=(0, 0),
    symptom="slow",
)


class GraphConvolution(nn.Module):
    def __init__(self, rate: float, inputs: int = 24, width: int = 24, classes: int = 5) -> None:
        super().__init__()
        self.drop_input = nn.Dropout(rate)
        self.first = nn.Linear(inputs, width)
        self.drop_hidden = nn.Dropout(rate)
        self.second = nn.Linear(width, classes)

    def forward(self, x: Tensor, adjacency: Tensor) -> Tensor:
        h = F.relu(adjacency @ self.first(self.drop_input(x)))
        return adjacency @ self.second(self.drop_hidden(h))


def run(seed: int, healthy: bool, debug: Callable) -> list[float]:
    torch.manual_seed(seed)
    label = torch.randint(0, 5, (120,))
    near = (torch.rand(120, 120) < torch.where(label[:, None] == label[None], 0.08, 0.01)).float()
    near = ((near + near.T + torch.eye(120)) > 0).float()
    scale = near.sum(dim=1).rsqrt()
    adjacency = scale[:, None] * near * scale[None]
    x = torch.randn(5, 24)[label] + 1.0 * torch.randn(120, 24)
    model = GraphConvolution(rate=0.3 if healthy else 0.97)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2, weight_decay=5e-4)
    losses = []
    with debug(model):
        for epoch in range(250):
            model.train()
            loss = F.cross_entropy(model(x, adjacency), label)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
            if epoch % 25 == 0:
                model.eval()
                with torch.no_grad():
                    F.cross_entropy(model(x, adjacency), label)
    return losses
