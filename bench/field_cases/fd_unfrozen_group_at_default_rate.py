"""The head is trained alone first. Then the backbone is unfrozen with add_param_group, which takes the optimizer's
default rate: half of one, meant for the head, a hundred times what the pretrained layers bear. Repair: a rate of its
own."""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

META = dict(
    id="fd_unfrozen_group_at_default_rate",
    source="widely reported: add_param_group without lr when the backbone is unfrozen",
    cause="learning_rate_jump",
    also=["learning_rate_too_high"],
    layer=None,
    onset=(120, 128),
    symptom="divergence",
)


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.backbone = nn.Sequential(
            nn.Linear(20, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU()
        )
        self.head = nn.Linear(64, 6)

    def forward(self, x: Tensor) -> Tensor:
        return self.head(self.backbone(x))


def run(seed: int, healthy: bool, debug: Callable) -> list[float]:
    torch.manual_seed(seed)
    rule = torch.randn(20, 6)
    model = Net()
    with torch.no_grad():
        for layer in model.backbone[::2]:
            nn.init.orthogonal_(layer.weight, 1.4)
    model.backbone.requires_grad_(False)
    optimizer = torch.optim.SGD(model.head.parameters(), lr=0.5, momentum=0.9)
    losses = []
    with debug(model):
        for step in range(300):
            if step == 120:
                model.backbone.requires_grad_(True)
                group = {"params": list(model.backbone.parameters())}
                optimizer.add_param_group(group | {"lr": 0.005} if healthy else group)
                if healthy:
                    optimizer.param_groups[0]["lr"] = 0.05
            x = torch.randn(48, 20)
            label = (x @ rule + 0.3 * (x[:, :6] * x[:, 6:12])).argmax(1)
            loss = F.cross_entropy(model(x), label)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
    return losses
