"""Healthy. Truncated backpropagation through time: the state is carried from chunk to chunk and detached in between."""

import torch
import torch.nn.functional as F
from torch import nn

META = dict(
    id="fe_ok_state_carried_and_cut",
    source='a common practice',
    cause="none",
    also=[],
    layer=None,
    onset=None,
    symptom=None,
)


class Stateful(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(3, 32, batch_first=True)
        self.out = nn.Linear(32, 1)

    def forward(self, x, state):
        h, state = self.lstm(x, state)
        return self.out(h), state


def run(seed, healthy, debug):
    torch.manual_seed(seed)
    model = Stateful()
    opt = torch.optim.Adam(model.parameters(), lr=5e-3)
    losses = []
    with debug(model):
        for _ in range(30):
            x = torch.randn(16, 100, 3)
            y = torch.zeros(16, 100, 1)
            level = torch.zeros(16)
            for t in range(100):
                level = 0.8 * level + x[:, t, 0] * torch.sigmoid(x[:, t, 1])
                y[:, t, 0] = level
            state = None
            for k in range(10):
                out, state = model(x[:, 10 * k : 10 * k + 10], state)
                loss = F.mse_loss(out, y[:, 10 * k : 10 * k + 10])
                opt.zero_grad()
                loss.backward()
                opt.step()
                state = tuple(s.detach() for s in state)
                losses.append(loss.item())
    return losses
