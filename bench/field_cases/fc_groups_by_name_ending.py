"""Parameters are put into two groups by the end of their names, '.weight' with decay and '.bias' without. The recurrent
layer's names end in 'weight_hh_l0' and the like and fall through: it stays random. Repair: one group for the rest."""

from collections.abc import Callable

import torch
from torch import Tensor, nn

META = dict(
    id="fc_groups_by_name_ending",
    source="compare github.com/zjunlp/HVPNeT/issues/5: layers that no group got",
    cause="parameters_not_in_optimizer",
    also=[],
    layer=["gru"],
    onset=(0, 0),
    symptom="slow",
)


class Counter(nn.Module):
    """How many of ten symbols are an A, modulo three?"""

    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Embedding(5, 8)
        self.gru = nn.GRU(8, 24, batch_first=True)
        self.out = nn.Linear(24, 3)

    def forward(self, ids: Tensor) -> Tensor:
        return self.out(self.gru(self.embed(ids))[1][-1])


def run(seed: int, healthy: bool, debug: Callable) -> list[float]:
    torch.manual_seed(seed)
    ids = torch.randint(0, 5, (2000, 6))
    label = (ids == 0).sum(1) % 3
    model = Counter()
    named = list(model.named_parameters())
    decay = [p for name, p in named if name.endswith(".weight")]
    no_decay = [p for name, p in named if name.endswith(".bias")]
    rest = [p for name, p in named if not name.endswith((".weight", ".bias"))]
    groups = [{"params": decay, "weight_decay": 1e-4}, {"params": no_decay, "weight_decay": 0.0}]
    if healthy:
        groups.append({"params": rest, "weight_decay": 0.0})
    optimizer = torch.optim.AdamW(groups, lr=1e-2)
    losses = []
    with debug(model):
        for _ in range(350):
            rows = torch.randint(0, 2000, (48,))
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(model(ids[rows]), label[rows])
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            losses.append(loss.item())
    return losses
