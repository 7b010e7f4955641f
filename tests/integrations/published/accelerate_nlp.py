"""The shape of Accelerate's ``nlp_example.py`` with ``by_feature/gradient_accumulation.py``: all objects prepared, a
schedule that is warmed up, micro-batches under ``accumulate``, clipping, metrics gathered from all processes."""

from __future__ import annotations

import argparse
import contextlib

import torch
from accelerate import Accelerator
from accelerate.utils import set_seed
from torch import nn
from torch.optim import AdamW
from torch.optim.lr_scheduler import LambdaLR
from torch.utils.data import DataLoader, TensorDataset


class Encoder(nn.Module):
    def __init__(self, size=32):
        super().__init__()
        self.words, self.places = nn.Embedding(20, size), nn.Embedding(8, size)
        self.layer = nn.TransformerEncoderLayer(size, 2, 64, dropout=0.1, batch_first=True)
        self.head = nn.Linear(size, 2)

    def forward(self, ids):
        hidden = self.layer(self.words(ids) + self.places(torch.arange(ids.shape[1])))
        return self.head(hidden.mean(1))


def get_dataloaders(batch_size):
    ids = torch.randint(0, 20, (448, 8), generator=torch.Generator().manual_seed(0))
    labels = (ids > 9).sum(1).gt(4).long()
    training, validation = TensorDataset(ids[:384], labels[:384]), TensorDataset(ids[384:], labels[384:])
    return DataLoader(training, batch_size, shuffle=True), DataLoader(validation, 32)


def training_function(args):
    accelerator = Accelerator(cpu=True, gradient_accumulation_steps=args.gradient_accumulation_steps)
    set_seed(42)
    train_dataloader, eval_dataloader = get_dataloaders(8)
    model = Encoder()
    optimizer = AdamW(model.parameters(), lr=args.lr)
    schedule = LambdaLR(optimizer, lambda step: min(1.0, (step + 1) / 10))
    model, optimizer, train_dataloader, eval_dataloader, schedule = accelerator.prepare(
        model, optimizer, train_dataloader, eval_dataloader, schedule
    )
    with contextlib.ExitStack() as stack:
        if args.watch:
            from neuraldbg import NeuralDbg

            stack.enter_context(NeuralDbg(model))
        for _ in range(args.num_epochs):
            model.train()
            for ids, labels in train_dataloader:
                with accelerator.accumulate(model):
                    loss = nn.functional.cross_entropy(model(ids), labels)
                    accelerator.backward(loss)
                    if accelerator.sync_gradients and args.max_grad_norm:
                        accelerator.clip_grad_norm_(model.parameters(), args.max_grad_norm)
                    optimizer.step()
                    schedule.step()
                    if not args.keep_gradients:
                        optimizer.zero_grad()
            model.eval()
            for ids, labels in eval_dataloader:
                with torch.no_grad():
                    predictions = model(ids).argmax(dim=-1)
                accelerator.gather_for_metrics((predictions, labels))
    torch.save(accelerator.unwrap_model(model).state_dict(), args.save)
    accelerator.end_training()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--lr", type=float, default=2e-3)
    parser.add_argument("--num_epochs", type=int, default=3)
    parser.add_argument("--gradient_accumulation_steps", type=int, default=2)
    parser.add_argument("--max_grad_norm", type=float, default=1.0)
    parser.add_argument("--keep_gradients", action="store_true", help="leave zero_grad out")
    parser.add_argument("--watch", action="store_true")
    parser.add_argument("--save", required=True)
    training_function(parser.parse_args())


if __name__ == "__main__":
    main()
