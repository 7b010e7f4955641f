"""Pictures come in the order of os.listdir, labels in the order of the table. Repair: look the label up by the file's name."""

import torch
import torch.nn.functional as F
from torch import nn

META = dict(
    id="fe_images_in_listing_order",
    source='widely reported: os.listdir order of the images against the order of the csv file',
    cause="uninformative_labels",
    also=[],
    layer=None,
    onset=(0, 5),
    symptom='plateau',
)


from torch.utils.data import DataLoader, TensorDataset


def run(seed, healthy, debug):
    torch.manual_seed(seed)
    y = torch.randint(0, 6, (4000,))
    x = torch.randn(6, 1, 12, 12)[y] + 0.8 * torch.randn(4000, 1, 12, 12)
    listing = torch.randperm(4000)
    loader = DataLoader(TensorDataset(x[listing], y[listing] if healthy else y), batch_size=32, shuffle=True)
    model = nn.Sequential(
        nn.Conv2d(1, 12, 3, 2, 1), nn.BatchNorm2d(12), nn.ReLU(), nn.Conv2d(12, 16, 3, 2, 1), nn.ReLU(),
        nn.Flatten(), nn.Linear(144, 6),
    )
    opt = torch.optim.AdamW(model.parameters(), lr=1e-3)
    losses = []
    with debug(model):
        for _ in range(3):
            for a, b in loader:
                loss = F.cross_entropy(model(a), b)
                opt.zero_grad()
                loss.backward()
                opt.step()
                losses.append(loss.item())
    return losses
