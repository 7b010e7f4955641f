"""A trainer leaves the step to the module when automatic_optimization is off; the module calls backward alone. Repair: turn it on."""

import torch
import torch.nn.functional as F
from torch import nn

META = dict(
    id="fe_manual_optimization_without_step",
    source="widely reported: Lightning's automatic_optimization=False and no step in training_step",
    cause="missing_optimizer_step",
    also=[],
    layer=None,
    onset=(0, 5),
    symptom='plateau',
)


class Module(nn.Module):
    def __init__(self, automatic):
        super().__init__()
        self.automatic_optimization = automatic
        self.embed = nn.EmbeddingBag(50, 16)
        self.out = nn.Linear(16, 3)

    def training_step(self, batch):
        x, y = batch
        loss = F.cross_entropy(self.out(self.embed(x)), y)
        if not self.automatic_optimization:
            loss.backward()
        return loss


class Trainer:
    def fit(self, module, batches, optimizer):
        for batch in batches:
            optimizer.zero_grad()
            loss = module.training_step(batch)
            if module.automatic_optimization:
                loss.backward()
                optimizer.step()
            yield loss.item()


def batches(topic):
    for _ in range(300):
        y = torch.randint(0, 3, (32,))
        yield torch.multinomial(topic[y], 12, replacement=True), y


def run(seed, healthy, debug):
    torch.manual_seed(seed)
    topic = torch.softmax(torch.randn(3, 50), -1)
    module = Module(healthy)
    opt = torch.optim.Adam(module.parameters(), lr=0.01)
    with debug(module):
        return list(Trainer().fit(module, batches(topic), opt))
