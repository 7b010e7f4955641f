"""More loops, of the shapes that a counter of steps stumbles over; see loops.py."""

from __future__ import annotations

import copy
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from helpers.loop_parts import Block, batch, ended, labels


def accumulation(block: Block) -> list[Any]:
    model = nn.Sequential(nn.Linear(5, 8), nn.Tanh(), nn.Linear(8, 3))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    losses = []
    with block(model):
        for index in range(12):
            loss = F.cross_entropy(model(batch(4, 5)), labels(4)) / 3
            loss.backward()
            losses.append(loss.item())
            if index % 3 == 2:
                optimizer.step()
                optimizer.zero_grad()
    return ended(model, optimizer, losses=losses)


def lbfgs(block: Block) -> list[Any]:
    model = nn.Sequential(nn.Linear(4, 6), nn.Tanh(), nn.Linear(6, 1))
    optimizer = torch.optim.LBFGS(model.parameters(), lr=0.5, max_iter=4, line_search_fn="strong_wolfe")
    inputs, targets = batch(10, 4), batch(10, 1)
    losses = []
    with block(model):
        for _ in range(3):

            def closure() -> Tensor:
                optimizer.zero_grad()
                loss = F.mse_loss(model(inputs), targets)
                loss.backward()
                return loss

            losses.append(optimizer.step(closure).item())
    return ended(model, optimizer, losses=losses)


class Tied(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Embedding(9, 6)
        self.shared = nn.Linear(6, 6)
        self.head = nn.Linear(6, 9, bias=False)
        self.head.weight = self.embed.weight

    def forward(self, ids: Tensor) -> Tensor:
        x = self.embed(ids)
        for _ in range(3):
            x = torch.tanh(self.shared(x))
        return self.head(x)


def shared_weights(block: Block) -> list[Any]:
    model = Tied()
    optimizer = torch.optim.NAdam(model.parameters(), lr=0.01)
    losses = []
    with block(model):
        for _ in range(5):
            ids = labels(7, 9)
            optimizer.zero_grad()
            loss = F.nll_loss(F.log_softmax(model(ids), 1), ids)
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
    return ended(model, optimizer, losses=losses)


def optimizer_in_backward(block: Block) -> list[Any]:
    model = nn.Sequential(nn.Linear(5, 8), nn.Tanh(), nn.Linear(8, 1))
    optimizers = {parameter: torch.optim.Adam([parameter], lr=0.02) for parameter in model.parameters()}

    def step(parameter: Tensor) -> None:
        optimizers[parameter].step()
        optimizers[parameter].zero_grad()

    for parameter in model.parameters():
        parameter.register_post_accumulate_grad_hook(step)
    losses = []
    with block(model):
        for _ in range(5):
            loss = F.smooth_l1_loss(model(batch(8, 5)), batch(8, 1))
            loss.backward()
            losses.append(loss.item())
    return ended(model, *optimizers.values(), losses=losses)


def several_forwards_per_backward(block: Block) -> list[Any]:
    model = nn.Sequential(nn.Linear(5, 8), nn.ReLU(), nn.Linear(8, 4))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    losses = []
    with block(model):
        for _ in range(5):
            anchor, near, far = model(batch(8, 5)), model(batch(8, 5)), model(batch(8, 5))
            with torch.no_grad():
                shift = model(batch(8, 5)).mean()
            optimizer.zero_grad()
            loss = F.triplet_margin_loss(anchor, near + shift, far)
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
    return ended(model, optimizer, losses=losses)


def retained_graph(block: Block) -> list[Any]:
    model = nn.Sequential(nn.Linear(5, 8), nn.Softplus(), nn.Linear(8, 2))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, nesterov=True, momentum=0.8)
    losses = []
    with block(model):
        for _ in range(5):
            optimizer.zero_grad()
            inputs = batch(6, 5).requires_grad_()
            output = model(inputs)
            first = output[:, 0].pow(2).mean()
            first.backward(retain_graph=True)
            (slope,) = torch.autograd.grad(output.sum(), inputs, create_graph=True)
            second = (slope.norm(dim=1) - 1).pow(2).mean() + output[:, 1].abs().mean()
            second.backward()
            optimizer.step()
            losses += [first.item(), second.item()]
    return ended(model, optimizer, losses=losses)


def torch_func_inside(block: Block) -> list[Any]:
    model = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    losses = []
    with block(model):
        for _ in range(5):
            inputs = batch(6, 4)
            weights = {name: value.detach() for name, value in model.named_parameters()}

            def one(values: dict[str, Tensor], x: Tensor) -> Tensor:
                return torch.func.functional_call(model, values, (x[None],)).pow(2).sum()

            each = torch.func.vmap(torch.func.grad(one), in_dims=(None, 0))(weights, inputs)
            curvature = torch.vmap(torch.func.hessian(lambda x: model(x).sum()))(inputs)
            optimizer.zero_grad()
            loss = model(inputs).pow(2).mean() + 0.1 * curvature.pow(2).mean()
            loss.backward()
            optimizer.step()
            losses += [loss.item(), each["0.weight"].norm().item()]
    return ended(model, optimizer, losses=losses)


def averaged_copy(block: Block) -> list[Any]:
    """A moving average of the weights, copied and validated in the block."""
    model = nn.Sequential(nn.Linear(5, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 2))
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
    losses = []
    with block(model):
        average = copy.deepcopy(model)
        for _ in range(5):
            optimizer.zero_grad()
            loss = F.huber_loss(model(batch(8, 5)), batch(8, 2))
            loss.backward()
            optimizer.step()
            with torch.no_grad():
                for held, new in zip(average.parameters(), model.parameters()):
                    held.lerp_(new, 0.1)
                losses += [loss.item(), F.huber_loss(average(batch(8, 5)), batch(8, 2)).item()]
    return [*ended(model, optimizer, losses=losses), average.state_dict()]


def alarms(block: Block) -> list[Any]:
    """A spike, then a batch with NaN, then on with poisoned weights."""
    model = nn.Sequential(nn.Linear(5, 8), nn.ReLU(), nn.Dropout(0.1), nn.Linear(8, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.02)
    losses = []
    with block(model):
        for step in range(40):
            inputs = batch(8, 5)
            if step == 25:
                inputs = inputs * 100
            if step == 32:
                inputs[2, 3] = float("nan")
            optimizer.zero_grad()
            loss = F.mse_loss(model(inputs), inputs.sum(1, keepdim=True))
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
    return ended(model, optimizer, losses=losses)
