"""Every parameter of a GRU language model is drawn from a uniform distribution over -3 to 3, where the recipe said
-0.08 to 0.08. The gates are open or shut at random from the first step, the first loss is several times
ln(vocabulary), and the run is spent on coming down from there. Repair: -0.15 to 0.15."""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

META = dict(
    id="fb_init_large_gru_uniform",
    source="a public report",
    cause="init_too_large",
    also=["saturating_activation"],
    layer=["gru", "out", "embed", ""],
    onset=(0, 0),
    symptom="slow",
)


class LanguageModel(nn.Module):
    def __init__(self, words: int = 24, width: int = 32) -> None:
        super().__init__()
        self.embed = nn.Embedding(words, width)
        self.gru = nn.GRU(width, width, batch_first=True)
        self.out = nn.Linear(width, words)

    def forward(self, ids: Tensor) -> Tensor:
        states, _ = self.gru(self.embed(ids))
        return self.out(states)


def run(seed: int, healthy: bool, debug: Callable) -> list[float]:
    torch.manual_seed(seed)
    follow = torch.stack([torch.randperm(24), torch.randperm(24)])
    model = LanguageModel()
    bound = 0.15 if healthy else 3.0
    for parameter in model.parameters():
        nn.init.uniform_(parameter, -bound, bound)
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    losses = []
    with debug(model):
        for _ in range(300):
            ids = [torch.randint(0, 24, (16,))]
            mode = torch.randint(0, 2, (16,))
            for _ in range(9):
                ids.append(follow[mode, ids[-1]])
            text = torch.stack(ids, dim=1)
            loss = F.cross_entropy(model(text[:, :-1]).flatten(0, 1), text[:, 1:].flatten())
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 5.0)
            optimizer.step()
            losses.append(loss.item())
    return losses
