"""Captions and pictures of one data set come from two loaders, each with shuffle=True. The contrastive loss pulls
together what has nothing in common, and stays at the logarithm of the batch size. Repair: one data set of pairs."""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.utils.data import DataLoader, TensorDataset

META = dict(
    id="fd_two_loaders_both_shuffle",
    source="widely reported: two shuffled loaders zipped together, pairs that do not match",
    cause="uninformative_labels",
    also=[],
    layer=None,
    onset=(0, 0),
    symptom="loss_plateau",
)


class TwoTowers(nn.Module):
    def __init__(self, width: int = 24) -> None:
        super().__init__()
        self.picture = nn.Sequential(nn.Linear(20, 48), nn.ReLU(), nn.Linear(48, width))
        self.words = nn.EmbeddingBag(50, 32, mode="mean")
        self.caption = nn.Linear(32, width)
        self.log_scale = nn.Parameter(torch.tensor(1.5))

    def forward(self, picture: Tensor, words: Tensor) -> Tensor:
        a = F.normalize(self.picture(picture), dim=1)
        b = F.normalize(self.caption(self.words(words)), dim=1)
        return self.log_scale.exp() * a @ b.t()


def run(seed: int, healthy: bool, debug: Callable) -> list[float]:
    torch.manual_seed(seed)
    words = torch.randint(0, 50, (960, 6))
    look = torch.randn(50, 20)
    picture = look[words].mean(1) * 2 + 0.2 * torch.randn(960, 20)
    pairs = DataLoader(TensorDataset(picture, words), batch_size=32, shuffle=True)
    pictures = DataLoader(picture, batch_size=32, shuffle=True)
    captions = DataLoader(words, batch_size=32, shuffle=True)
    model = TwoTowers()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    losses = []
    with debug(model):
        for _epoch in range(10):
            for image, text in pairs if healthy else zip(pictures, captions):
                scores = model(image, text)
                same = torch.arange(len(scores))
                loss = (F.cross_entropy(scores, same) + F.cross_entropy(scores.t(), same)) / 2
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                losses.append(loss.item())
    return losses
