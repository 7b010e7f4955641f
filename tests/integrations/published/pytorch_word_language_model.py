"""The shape of PyTorch's ``examples/word_language_model``: an LSTM whose state is carried on, clipping, SGD with a
learning rate that falls when validation does not improve."""

from __future__ import annotations

import argparse
import contextlib

import torch
from torch import nn

WORDS, BPTT, ROWS = 20, 10, 8


class RNNModel(nn.Module):
    def __init__(self, size=24):
        super().__init__()
        self.drop = nn.Dropout(0.2)
        self.encoder = nn.Embedding(WORDS, size)
        self.rnn = nn.LSTM(size, size, 1)
        self.decoder = nn.Linear(size, WORDS)
        nn.init.uniform_(self.encoder.weight, -0.1, 0.1)
        nn.init.uniform_(self.decoder.weight, -0.1, 0.1)

    def forward(self, text, hidden):
        output, hidden = self.rnn(self.drop(self.encoder(text)), hidden)
        return self.decoder(self.drop(output)).view(-1, WORDS), hidden

    def init_hidden(self, rows):
        return torch.zeros(1, rows, 24), torch.zeros(1, rows, 24)


def corpus(length, seed):
    """Each word is the one before plus one or two; shape (length, ROWS)."""
    steps = torch.randint(1, 3, (length, ROWS), generator=torch.Generator().manual_seed(seed))
    return steps.cumsum(0) % WORDS


def get_batch(source, i):
    length = min(BPTT, len(source) - 1 - i)
    return source[i : i + length], source[i + 1 : i + 1 + length].reshape(-1)


def evaluate(model, source, criterion):
    model.eval()
    hidden, total = model.init_hidden(ROWS), 0.0
    with torch.no_grad():
        for i in range(0, len(source) - 1, BPTT):
            data, targets = get_batch(source, i)
            output, hidden = model(data, hidden)
            total += len(data) * criterion(output, targets).item()
    return total / (len(source) - 1)


def train(model, source, criterion, optimizer, clip):
    model.train()
    hidden = model.init_hidden(ROWS)
    for i in range(0, len(source) - 1, BPTT):
        data, targets = get_batch(source, i)
        optimizer.zero_grad()
        hidden = tuple(state.detach() for state in hidden)
        output, hidden = model(data, hidden)
        loss = criterion(output, targets)
        loss.backward()
        if clip:
            torch.nn.utils.clip_grad_norm_(model.parameters(), clip)
        optimizer.step()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--lr", type=float, default=5.0)
    parser.add_argument("--clip", type=float, default=0.25)
    parser.add_argument("--watch", action="store_true")
    parser.add_argument("--save", required=True)
    args = parser.parse_args()
    torch.manual_seed(1111)
    training, validation = corpus(300, 1), corpus(60, 2)
    model, criterion, best = RNNModel(), nn.CrossEntropyLoss(), None
    optimizer = torch.optim.SGD(model.parameters(), lr=args.lr)
    with contextlib.ExitStack() as stack:
        if args.watch:
            from neuraldbg import NeuralDbg

            stack.enter_context(NeuralDbg(model))
        for _ in range(args.epochs):
            train(model, training, criterion, optimizer, args.clip)
            loss = evaluate(model, validation, criterion)
            if best is None or loss < best:
                best = loss
            else:
                for group in optimizer.param_groups:
                    group["lr"] /= 4.0
    torch.save(model.state_dict(), args.save)


if __name__ == "__main__":
    main()
