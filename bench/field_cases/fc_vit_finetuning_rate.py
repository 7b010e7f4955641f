"""A small vision transformer is trained from scratch at 3e-6, a rate taken over from a fine-tuning script. Loss and
gradients are in order and nothing moves in the time given. Repair: 1e-3."""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

META = dict(
    id="fc_vit_finetuning_rate",
    source="widely reported: a fine-tuning rate for a model from scratch",
    cause="learning_rate_too_low",
    also=[],
    layer=None,
    onset=(0, 0),
    symptom="slow",
)


class PatchTransformer(nn.Module):
    def __init__(self, width: int = 32, classes: int = 4) -> None:
        super().__init__()
        self.patch = nn.Conv2d(1, width, 4, stride=4)
        self.token = nn.Parameter(torch.zeros(1, 1, width))
        self.position = nn.Parameter(0.02 * torch.randn(1, 10, width))
        layer = nn.TransformerEncoderLayer(width, 4, 64, 0.0, "gelu", batch_first=True, norm_first=True)
        self.encoder = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.head = nn.Sequential(nn.LayerNorm(width), nn.Linear(width, classes))

    def forward(self, x: Tensor) -> Tensor:
        h = self.patch(x).flatten(2).transpose(1, 2)
        h = torch.cat([self.token.expand(len(h), -1, -1), h], 1) + self.position
        return self.head(self.encoder(h)[:, 0])


def run(seed: int, healthy: bool, debug: Callable) -> list[float]:
    torch.manual_seed(seed)
    shape = F.avg_pool2d(torch.randn(4, 1, 12, 12), 3, 1, 1) * 3
    label = torch.randint(0, 4, (600,))
    image = shape[label] + 0.7 * torch.randn(600, 1, 12, 12)
    model = PatchTransformer()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3 if healthy else 3e-6, weight_decay=0.05)
    losses = []
    with debug(model):
        for _ in range(180):
            rows = torch.randint(0, 600, (16,))
            optimizer.zero_grad(set_to_none=True)
            loss = F.cross_entropy(model(image[rows]), label[rows], label_smoothing=0.05)
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
    return losses
