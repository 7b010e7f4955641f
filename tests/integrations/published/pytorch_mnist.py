"""The shape of PyTorch's ``examples/mnist``: a convolutional network, Adadelta, StepLR, a test after each epoch."""

from __future__ import annotations

import argparse
import contextlib

import torch
import torch.nn.functional as F
from torch import nn, optim
from torch.optim.lr_scheduler import StepLR
from torch.utils.data import DataLoader, TensorDataset


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 8, 3, 1)
        self.conv2 = nn.Conv2d(8, 16, 3, 1)
        self.dropout1 = nn.Dropout(0.25)
        self.dropout2 = nn.Dropout(0.5)
        self.fc1 = nn.Linear(256, 32)
        self.fc2 = nn.Linear(32, 4)

    def forward(self, x):
        x = F.relu(self.conv1(x))
        x = F.relu(self.conv2(x))
        x = self.dropout1(F.max_pool2d(x, 2))
        x = self.dropout2(F.relu(self.fc1(torch.flatten(x, 1))))
        return F.log_softmax(self.fc2(x), dim=1)


def digits(count, seed):
    """Four blurred patterns of 12 x 12 with noise."""
    patterns = torch.randn(4, 1, 12, 12, generator=torch.Generator().manual_seed(0))
    generator = torch.Generator().manual_seed(seed)
    labels = torch.randint(0, 4, (count,), generator=generator)
    return TensorDataset(patterns[labels] + 0.5 * torch.randn(count, 1, 12, 12, generator=generator), labels)


def train(model, loader, optimizer):
    model.train()
    for data, target in loader:
        optimizer.zero_grad()
        loss = F.nll_loss(model(data), target)
        loss.backward()
        optimizer.step()


def test(model, loader):
    model.eval()
    loss = 0.0
    with torch.no_grad():
        for data, target in loader:
            loss += F.nll_loss(model(data), target, reduction="sum").item()
    return loss / len(loader.dataset)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--lr", type=float, default=1.0)
    parser.add_argument("--gamma", type=float, default=0.7)
    parser.add_argument("--watch", action="store_true")
    parser.add_argument("--save", required=True)
    args = parser.parse_args()
    torch.manual_seed(1)
    train_loader = DataLoader(digits(512, 1), batch_size=32, shuffle=True)
    test_loader = DataLoader(digits(128, 2), batch_size=64)
    model = Net()
    optimizer = optim.Adadelta(model.parameters(), lr=args.lr)
    scheduler = StepLR(optimizer, step_size=1, gamma=args.gamma)
    with contextlib.ExitStack() as stack:
        if args.watch:
            from neuraldbg import NeuralDbg

            stack.enter_context(NeuralDbg(model))
        for _ in range(args.epochs):
            train(model, train_loader, optimizer)
            test(model, test_loader)
            scheduler.step()
    torch.save(model.state_dict(), args.save)


if __name__ == "__main__":
    main()
