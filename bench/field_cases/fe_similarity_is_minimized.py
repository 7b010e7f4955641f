"""A caption encoder should come close to the picture's vector; the loss is the cosine itself. Repair: one minus it. The list holds 1 - cosine."""

import torch
import torch.nn.functional as F
from torch import nn

META = dict(
    id="fe_similarity_is_minimized",
    source='widely reported: cosine similarity as the loss where one minus it was meant',
    cause="loss_sign",
    also=[],
    layer=None,
    onset=(0, 30),
    symptom='plateau',
)


class Caption(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.EmbeddingBag(40, 24)
        self.out = nn.Sequential(nn.Linear(24, 48), nn.ReLU(), nn.Linear(48, 16))

    def forward(self, x):
        return self.out(self.embed(x))


def run(seed, healthy, debug):
    torch.manual_seed(seed)
    meaning = torch.randn(40, 16)
    model = Caption()
    opt = torch.optim.Adam(model.parameters(), lr=3e-3)
    values = []
    with debug(model):
        for _ in range(300):
            x = torch.randint(0, 40, (32, 4))
            cosine = F.cosine_similarity(model(x), meaning[x].mean(1)).mean()
            loss = 1 - cosine if healthy else cosine
            opt.zero_grad()
            loss.backward()
            opt.step()
            values.append(1 - cosine.item())
    return values
