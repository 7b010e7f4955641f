"""A binary classifier has one output and a softmax over it: one divided by one. It answers 1 whatever comes in, no
gradient passes, and the loss depends on the batch's share of zeros alone. Repair: a sigmoid."""

from collections.abc import Callable

import torch
from torch import Tensor, nn

META = dict(
    id="fc_softmax_of_one_logit",
    source="widely reported: softmax over a single output, accuracy stuck at the share of ones",
    cause="wrong_output_activation",
    also=["saturating_activation"],
    layer=["answer", ""],
    onset=(0, 0),
    symptom="loss_plateau",
)


class ChurnNet(nn.Module):
    def __init__(self, answer: nn.Module) -> None:
        super().__init__()
        self.plan = nn.Embedding(6, 4)
        self.net = nn.Sequential(nn.Linear(10, 32), nn.BatchNorm1d(32), nn.ReLU(), nn.Linear(32, 1))
        self.answer = answer

    def forward(self, usage: Tensor, plan: Tensor) -> Tensor:
        return self.answer(self.net(torch.cat([usage, self.plan(plan)], 1)))


def run(seed: int, healthy: bool, debug: Callable) -> list[float]:
    torch.manual_seed(seed)
    usage, plan = torch.randn(1200, 6), torch.randint(0, 6, (1200,))
    leaves = ((usage[:, 0] - usage[:, 1] * usage[:, 2] + torch.randn(6)[plan]) > 0).float()
    model = ChurnNet(nn.Sigmoid() if healthy else nn.Softmax(dim=1))
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    criterion = nn.BCELoss()
    losses = []
    with debug(model):
        for _epoch in range(8):
            for rows in torch.randperm(1200).split(40):
                optimizer.zero_grad()
                loss = criterion(model(usage[rows], plan[rows]).squeeze(1), leaves[rows])
                loss.backward()
                optimizer.step()
                losses.append(loss.item())
    return losses
