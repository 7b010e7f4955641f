"""The shape of Ignite's ``examples/mnist``: supervised trainer and evaluator, metrics, handlers."""

from __future__ import annotations

import argparse

import torch
import torch.nn.functional as F
from ignite.engine import Events, create_supervised_evaluator, create_supervised_trainer
from ignite.metrics import Accuracy, Loss
from torch import nn
from torch.optim import SGD
from torch.utils.data import DataLoader, TensorDataset


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 6, 3)
        self.conv2 = nn.Conv2d(6, 12, 3)
        self.conv2_drop = nn.Dropout2d(0.2)
        self.fc1 = nn.Linear(48, 24)
        self.fc2 = nn.Linear(24, 4)

    def forward(self, x):
        x = F.relu(F.max_pool2d(self.conv1(x), 2))
        x = F.relu(F.max_pool2d(self.conv2_drop(self.conv2(x)), 2, ceil_mode=True))
        x = F.relu(self.fc1(x.flatten(1)))
        return F.log_softmax(self.fc2(x), dim=-1)


def get_data_loaders(bad_row):
    generator = torch.Generator().manual_seed(0)
    patterns = torch.randn(4, 1, 12, 12, generator=generator)
    labels = torch.randint(0, 4, (576,), generator=generator)
    images = patterns[labels] + 0.5 * torch.randn(576, 1, 12, 12, generator=generator)
    if bad_row >= 0:
        images[bad_row, 0, 3, 3] = float("nan")
    training, validation = TensorDataset(images[:448], labels[:448]), TensorDataset(images[448:], labels[448:])
    return DataLoader(training, batch_size=32), DataLoader(validation, batch_size=64)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--lr", type=float, default=0.05)
    parser.add_argument("--momentum", type=float, default=0.5)
    parser.add_argument("--bad_row", type=int, default=-1, help="this image has a value that is not a number")
    parser.add_argument("--watch", action="store_true")
    parser.add_argument("--save", required=True)
    args = parser.parse_args()
    torch.manual_seed(0)
    train_loader, val_loader = get_data_loaders(args.bad_row)
    model = Net()
    optimizer = SGD(model.parameters(), lr=args.lr, momentum=args.momentum)
    criterion = nn.NLLLoss()
    trainer = create_supervised_trainer(model, optimizer, criterion)
    evaluator = create_supervised_evaluator(model, metrics={"accuracy": Accuracy(), "nll": Loss(criterion)})

    @trainer.on(Events.ITERATION_COMPLETED(every=10))
    def log_training_loss(engine):
        assert isinstance(engine.state.output, float)

    @trainer.on(Events.EPOCH_COMPLETED)
    def log_validation_results(engine):
        evaluator.run(val_loader)
        assert 0 <= evaluator.state.metrics["accuracy"] <= 1

    if args.watch:
        from neuraldbg.integrations.ignite import attach

        attach(trainer, model)
    trainer.run(train_loader, max_epochs=args.epochs)
    torch.save(model.state_dict(), args.save)


if __name__ == "__main__":
    main()
