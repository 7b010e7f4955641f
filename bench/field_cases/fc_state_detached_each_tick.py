"""The state of a recurrent cell is detached in every tick, a habit from truncated backpropagation, where it belongs
between chunks. No gradient goes back in time, and the cell never learns to keep the first symbol. Repair: detach at
the start of a sequence only."""

from collections.abc import Callable

import torch
from torch import Tensor, nn

META = dict(
    id="fc_state_detached_each_tick",
    source="widely reported: h.detach() inside the loop over time",
    cause="detached_graph",
    also=[],
    layer=["cell", ""],
    onset=(0, 0),
    symptom="loss_plateau",
)


class Recall(nn.Module):
    """Says at the end which of four symbols came first."""

    def __init__(self, detach_each_tick: bool, width: int = 32) -> None:
        super().__init__()
        self.embed = nn.Embedding(8, 16)
        self.cell = nn.RNNCell(16, width)
        self.out = nn.Linear(width, 4)
        self.width, self.detach_each_tick = width, detach_each_tick

    def forward(self, ids: Tensor) -> Tensor:
        state = torch.zeros(len(ids), self.width)
        for tick in range(ids.shape[1]):
            if self.detach_each_tick:
                state = state.detach()
            state = self.cell(self.embed(ids[:, tick]), state)
        return self.out(state)


def run(seed: int, healthy: bool, debug: Callable) -> list[float]:
    torch.manual_seed(seed)
    model = Recall(detach_each_tick=not healthy)
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    losses = []
    with debug(model):
        for _ in range(220):
            first = torch.randint(0, 4, (32, 1))
            ids = torch.cat([first, torch.randint(4, 8, (32, 8))], 1)
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(model(ids), first[:, 0])
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            losses.append(loss.item())
    return losses
