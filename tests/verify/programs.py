"""Small programs, one per fault, each failing for the reason in its name and for no other."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

#: Rounds of each program; long enough for the healthy version to learn its task.
STEPS = 80


def regression(
    *,
    rate: float = 0.05,
    optimizer: Callable[..., Any] = torch.optim.SGD,
    settings: dict[str, Any] | None = None,
    build: Callable[[], nn.Module] = lambda: nn.Linear(8, 1),
    inputs: Callable[[torch.Tensor, int], torch.Tensor] = lambda x, step: x,
    targets: Callable[[torch.Tensor], torch.Tensor] = lambda y: y,
    loss: Callable[..., torch.Tensor] = lambda output, target, step: F.mse_loss(output, target),
    parameters: Callable[[nn.Module], Any] = lambda model: model.parameters(),
    rates: Callable[[int], float] | None = None,
    clear: bool = True,
    step: bool = True,
    rows: int = 32,
    evaluate: bool = False,
) -> Callable[[], None]:
    """A program that fits a linear function of 8 features; every argument is a way to spoil it."""

    def train() -> None:
        torch.manual_seed(0)
        weights = torch.randn(8, 1, generator=torch.Generator().manual_seed(1))
        model = build()
        chosen = optimizer(parameters(model), lr=rate, **(settings or {}))
        if evaluate:
            model.eval()
        for index in range(STEPS):
            x = torch.randn(rows, 8)
            y = targets(x @ weights)
            if rates is not None:
                for group in chosen.param_groups:
                    group["lr"] = rates(index)
            value = loss(model(inputs(x, index)), y, index)
            if clear:
                chosen.zero_grad()
            value.backward()
            if step:
                chosen.step()

    return train


def classes(
    loss: Callable[[torch.Tensor, torch.Tensor], torch.Tensor] = F.cross_entropy,
    build: Callable[[], nn.Module] = lambda: nn.Linear(8, 4),
    rate: float = 0.5,
) -> Callable[[], None]:
    """A program that learns which of four features is the largest."""

    def train() -> None:
        torch.manual_seed(0)
        model = build()
        optimizer = torch.optim.SGD(model.parameters(), lr=rate)
        for _ in range(STEPS):
            x = torch.randn(64, 8)
            value = loss(model(x), x[:, :4].argmax(1))
            optimizer.zero_grad()
            value.backward()
            optimizer.step()

    return train


def mlp(*layers: nn.Module) -> Callable[[], nn.Module]:
    return lambda: nn.Sequential(nn.Linear(8, 32), *layers, nn.Linear(32, 1))


def filled(model: nn.Module, weight: float | None = None, bias: float | None = None) -> nn.Module:
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if weight is not None and "weight" in name:
                parameter.fill_(weight)
            if bias is not None and name == "0.bias":
                parameter.fill_(bias)
    return model


def half_frozen() -> nn.Module:
    model = nn.Linear(8, 1)
    model.weight.requires_grad_(False)
    return model


def at(step: int, change: Callable[[torch.Tensor], torch.Tensor]) -> Callable[[torch.Tensor, int], torch.Tensor]:
    return lambda value, now: change(value) if now == step else value


def with_nan(x: torch.Tensor) -> torch.Tensor:
    x = x.clone()
    x[0, 0] = float("nan")
    return x


def shrinking(depth: int = 6) -> nn.Module:
    torch.manual_seed(3)
    layers: list[nn.Module] = []
    for index in range(depth):
        layer = nn.Linear(8 if index == 0 else 32, 32)
        nn.init.normal_(layer.weight, std=0.2 / 32**0.5)
        layers += [layer, nn.Tanh()]
    return nn.Sequential(*layers, nn.Linear(32, 1))


class Squares(nn.Module):
    """Leaves the range of float16 on its way, and comes back."""

    def __init__(self) -> None:
        super().__init__()
        self.inner = nn.Linear(8, 16)
        self.outer = nn.Linear(16, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.outer((self.inner(x) * 300).square().sqrt() / 300 + self.inner(x))


def autocast_squares() -> None:
    torch.manual_seed(0)
    model = Squares()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.02)
    for _ in range(STEPS):
        x = torch.randn(32, 8) * 2
        with torch.autocast("cpu", dtype=torch.float16):
            value = F.mse_loss(model(x).float(), x[:, :1])
        optimizer.zero_grad()
        value.backward()
        optimizer.step()


def half_weights() -> None:
    """Updates of 0.01 to weights of 100, where float16 has steps of 0.06."""
    torch.manual_seed(0)
    model = nn.Linear(8, 1)
    nn.init.constant_(model.weight, 100.0)
    model.half()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.006)
    for _ in range(STEPS):
        x = torch.randn(32, 8)
        away = model(x.half()) - x.sum(1, keepdim=True).to(model.weight.dtype) * 101
        value = away.float().square().mean()
        optimizer.zero_grad()
        value.backward()
        optimizer.step()


def clipped_scaled() -> None:
    torch.manual_seed(0)
    model = nn.Linear(8, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    scaler = torch.amp.GradScaler("cpu", init_scale=2.0**16)
    for _ in range(STEPS):
        x = torch.randn(32, 8)
        value = F.mse_loss(model(x), x.sum(1, keepdim=True))
        optimizer.zero_grad()
        scaler.scale(value).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()


def sorted_loader() -> None:
    """Two batches of one class, two of the next, and so on, so that the model chases each block."""
    torch.manual_seed(0)
    x = torch.randn(16 * STEPS, 8)
    labels = x[:, :4].argmax(1)
    order = torch.cat([part[labels[part].argsort()] for part in torch.arange(16 * STEPS).split(128)])
    model = nn.Linear(8, 4)
    optimizer = torch.optim.SGD(model.parameters(), lr=3.0)
    for inputs, target in DataLoader(TensorDataset(x[order], labels[order]), batch_size=16):
        value = F.cross_entropy(model(inputs), target)
        optimizer.zero_grad()
        value.backward()
        optimizer.step()


def entropy_by_hand(output: torch.Tensor, target: torch.Tensor, step: int) -> torch.Tensor:
    p = torch.sigmoid(10 * output)
    y = (target > 0).float()
    return -(y * p.log() + (1 - y) * (1 - p).log()).mean()


#: Cause → (program, kind of symptom, step of the onset).
PROGRAMS: dict[str, tuple[Callable[[], None], str, int]] = {
    "learning_rate_too_high": (regression(rate=3.0), "loss_non_finite", 0),
    "learning_rate_too_low": (regression(rate=3e-4), "slow", 0),
    "learning_rate_jump": (regression(rates=lambda i: 0.05 if i < 30 else 3.0), "loss_diverged", 30),
    "learning_rate_collapsed": (regression(rates=lambda i: 0.03 if i < 8 else 1e-7), "slow", 8),
    "no_warm_up": (regression(rates=lambda i: 3.0 if i < 10 else 0.05), "loss_diverged", 0),
    "missing_gradient_clipping": (
        regression(loss=lambda o, t, i: F.mse_loss(o, t) * (2e4 if i == 50 else 1)),
        "loss_spike",
        50,
    ),
    "missing_zero_grad": (regression(clear=False), "loss_diverged", 0),
    "missing_optimizer_step": (regression(step=False), "loss_plateau", 0),
    "parameters_not_in_optimizer": (regression(parameters=lambda model: [model.bias]), "loss_plateau", 0),
    "frozen_parameters": (regression(build=half_frozen), "loss_plateau", 0),
    "nan_in_input": (regression(inputs=at(30, with_nan)), "loss_non_finite", 30),
    "outlier_batch": (regression(inputs=at(60, lambda x: x * 1e4)), "loss_spike", 60),
    "unnormalized_input": (regression(inputs=lambda x, i: x * 100 + 300, rate=0.01), "loss_non_finite", 0),
    "unscaled_target": (
        regression(targets=lambda y: y * 1e4, optimizer=torch.optim.Adam, rate=0.05),
        "loss_plateau",
        0,
    ),
    "loss_shape_mismatch": (regression(targets=lambda y: y.squeeze(1)), "loss_plateau", 0),
    "loss_shape_mismatch_by_hand": (
        regression(targets=lambda y: y.squeeze(1), loss=lambda o, t, i: (o - t).square().mean()),
        "loss_plateau",
        0,
    ),
    "redundant_softmax": (classes(lambda o, t: F.cross_entropy(F.softmax(o, 1), t)), "loss_plateau", 0),
    "redundant_softmax_module": (
        classes(nn.CrossEntropyLoss(), lambda: nn.Sequential(nn.Linear(8, 4), nn.Softmax(dim=1))),
        "loss_plateau",
        0,
    ),
    "loss_sign": (classes(lambda o, t: -F.cross_entropy(o, t), rate=0.1), "loss_diverged", 0),
    "loss_scale": (regression(loss=lambda o, t, i: F.mse_loss(o, t, reduction="sum")), "loss_non_finite", 0),
    "loss_scale_by_hand": (regression(loss=lambda o, t, i: (o - t).square().sum()), "loss_non_finite", 0),
    "symmetric_init": (
        regression(
            build=lambda: filled(mlp(nn.Tanh())(), weight=0.1, bias=0.0),
            targets=lambda y: y.abs(),
            optimizer=torch.optim.Adam,
        ),
        "loss_plateau",
        0,
    ),
    "init_too_large": (regression(build=lambda: filled(mlp(nn.Tanh())(), weight=9.0), rate=0.01), "loss_plateau", 0),
    "dying_relu": (
        regression(build=lambda: filled(mlp(nn.ReLU())(), bias=-9.0), optimizer=torch.optim.Adam),
        "loss_plateau",
        0,
    ),
    "saturating_activation": (
        regression(build=lambda: filled(mlp(nn.Tanh())(), bias=9.0), rate=0.003, optimizer=torch.optim.Adam),
        "loss_plateau",
        0,
    ),
    "wrong_output_activation": (
        regression(build=lambda: nn.Sequential(nn.Linear(8, 1), nn.ReLU()), targets=lambda y: y - 5),
        "loss_plateau",
        0,
    ),
    "vanishing_depth": (regression(build=shrinking, rate=0.02), "loss_plateau", 0),
    "eval_mode_in_training": (
        regression(
            build=lambda: nn.Sequential(nn.BatchNorm1d(8), nn.Linear(8, 1)),
            inputs=lambda x, i: x * 50,
            evaluate=True,
        ),
        "loss_non_finite",
        0,
    ),
    "excessive_dropout": (regression(build=mlp(nn.Tanh(), nn.Dropout(0.98))), "loss_plateau", 0),
    "excessive_dropout_function": (
        regression(inputs=lambda x, i: F.dropout(x, 0.95), rate=0.01),
        "loss_plateau",
        0,
    ),
    "excessive_weight_decay": (regression(settings={"weight_decay": 8.0}), "loss_plateau", 0),
    "excessive_momentum": (regression(settings={"momentum": 0.999}), "loss_diverged", 0),
    "adam_epsilon_or_beta2": (regression(optimizer=torch.optim.Adam, settings={"eps": 100.0}), "loss_plateau", 0),
    "half_precision_overflow": (autocast_squares, "loss_non_finite", 0),
    "half_precision_underflow": (half_weights, "loss_plateau", 0),
    "clipping_scaled_gradients": (clipped_scaled, "loss_plateau", 0),
    "batchnorm_small_batch": (
        regression(build=lambda: nn.Sequential(nn.Linear(8, 32), nn.BatchNorm1d(32), nn.Linear(32, 1)), rows=2),
        "loss_plateau",
        0,
    ),
    "unshuffled_data": (sorted_loader, "loss_spike", 0),
    "loss_domain": (regression(loss=entropy_by_hand, rate=1.0), "loss_non_finite", 0),
}
