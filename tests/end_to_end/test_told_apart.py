"""Causes that look alike, and runs that look ill: small programs, each with the one right answer."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from neuraldbg import NeuralDbg

Program = Callable[[Callable[[nn.Module], NeuralDbg]], None]


def _points(count: int = 300, classes: int = 4) -> tuple[Tensor, Tensor]:
    inputs = torch.randn(count, 10)
    return inputs, (inputs @ torch.randn(10, classes)).argmax(1)


def _network(outputs: int = 4) -> nn.Sequential:
    return nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, outputs))


def _train(
    model: nn.Module, loss: Callable[[], Tensor], steps: int, rate: float, watch: Any, adam: bool = False
) -> None:
    kind = torch.optim.Adam if adam else torch.optim.SGD
    optimizer = kind(model.parameters(), lr=rate)
    with watch(model):
        for _ in range(steps):
            optimizer.zero_grad()
            loss().backward()
            optimizer.step()


# runs that are well ---------------------------------------------------------------------------------------------------


def steps_by_hand(watch: Any) -> None:
    inputs, labels = _points()
    model = _network()
    with watch(model):
        for _ in range(30):
            F.cross_entropy(model(inputs), labels).backward()
            with torch.no_grad():
                for parameter in model.parameters():
                    parameter -= 0.1 * parameter.grad
                    parameter.grad = None


class _Swish(torch.autograd.Function):
    @staticmethod
    def forward(context: Any, values: Tensor) -> Tensor:  # type: ignore[override]
        context.save_for_backward(values)
        return values * torch.sigmoid(values)

    @staticmethod
    def backward(context: Any, gradient: Tensor) -> Tensor:  # type: ignore[override]
        (values,) = context.saved_tensors
        gate = torch.sigmoid(values)
        return gradient * (gate + values * gate * (1 - gate))


class _OwnActivation(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.last = nn.Linear(10, 32), nn.Linear(32, 4)

    def forward(self, inputs: Tensor) -> Tensor:
        return self.last(_Swish.apply(self.first(inputs)))


def nonlinearity_of_ones_own(watch: Any) -> None:
    inputs, labels = _points()
    model = _OwnActivation()
    _train(model, lambda: F.cross_entropy(model(inputs), labels), 40, 0.05, watch)


def short_and_slow(watch: Any) -> None:
    inputs, labels = _points(500)
    model = _network()

    def loss() -> Tensor:
        rows = torch.randint(0, 500, (32,))
        return F.cross_entropy(model(inputs[rows]), labels[rows])

    _train(model, loss, 30, 0.05, watch)


def trained_before(watch: Any) -> None:
    inputs, labels = _points()
    model = _network()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for _ in range(250):
        optimizer.zero_grad()
        F.cross_entropy(model(inputs), labels).backward()
        optimizer.step()
    _train(model, lambda: F.cross_entropy(model(inputs), labels), 120, 1e-4, watch, adam=True)


def adapters_on_a_frozen_model(watch: Any) -> None:
    inputs = torch.randn(256, 10)
    model = nn.Sequential(nn.Linear(10, 64), nn.Tanh(), nn.Linear(64, 3))
    target = model(inputs).detach() + inputs @ torch.randn(10, 3)
    model.requires_grad_(False)
    model.add_module("adapter", nn.Identity())
    beside = nn.Linear(10, 3)
    whole = nn.ModuleDict({"base": model, "adapter": beside})
    _train(whole, lambda: F.mse_loss(model(inputs) + beside(inputs), target), 200, 0.02, watch, adam=True)


class _Checkpointed(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.last = nn.Linear(10, 32), nn.Linear(32, 4)
        self.blocks = nn.ModuleList(nn.Sequential(nn.Linear(32, 32), nn.GELU()) for _ in range(3))

    def forward(self, inputs: Tensor) -> Tensor:
        hidden = self.first(inputs)
        for block in self.blocks:
            hidden = hidden + checkpoint(block, hidden, use_reentrant=True)
        return self.last(hidden)


def branches_hidden_in_checkpoints(watch: Any) -> None:
    inputs, labels = _points()
    model = _Checkpointed()
    _train(model, lambda: F.cross_entropy(model(inputs), labels), 25, 3e-3, watch, adam=True)


# failures -------------------------------------------------------------------------------------------------------------


def absurd_rate(watch: Any) -> None:
    inputs, labels = _points(64)
    model = _network()
    _train(model, lambda: F.cross_entropy(model(inputs), labels), 30, 50.0, watch)


def logarithm_of_zero(watch: Any) -> None:
    inputs = torch.rand(256, 10)
    target = inputs.prod(1, keepdim=True) + 1e-3
    model = nn.Sequential(_network(1), nn.ReLU())
    with torch.no_grad():
        model[0][2].bias.fill_(0.1)
    _train(model, lambda: ((model(inputs).log() - target.log()) ** 2).mean(), 60, 1e-2, watch, adam=True)


def likelihood_without_a_minus(watch: Any) -> None:
    inputs, labels = _points()
    model = _network()
    rows = torch.arange(300)
    _train(model, lambda: model(inputs).log_softmax(1)[rows, labels].mean(), 120, 5e-3, watch, adam=True)


class _Branches(nn.Module):
    """A branch whose output is left lying, or a front whose output is detached."""

    def __init__(self, fault: str) -> None:
        super().__init__()
        self.fault = fault
        self.front, self.branch, self.head = nn.Linear(10, 32), nn.Linear(10, 32), nn.Linear(32, 1)

    def forward(self, inputs: Tensor) -> Tensor:
        if self.fault == "dropped":
            self.branch(inputs)
            return self.head(self.front(inputs).relu())
        hidden = (self.front(inputs) + self.branch(inputs)).relu()
        return self.head(torch.tensor(hidden.tolist()) if self.fault == "list" else hidden.detach())


def _branches(fault: str) -> Program:
    def program(watch: Any) -> None:
        inputs = torch.randn(128, 10)
        target = inputs[:, :3].sin().sum(1, keepdim=True)
        model = _Branches(fault)
        _train(model, lambda: F.mse_loss(model(inputs), target), 120, 1e-2, watch, adam=True)

    return program


class _SumOfTwo(nn.Module):
    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        self.own, self.neighbours = nn.Linear(inputs, outputs), nn.Linear(inputs, outputs, bias=False)

    def forward(self, values: Tensor, mixing: Tensor) -> Tensor:
        return self.own(values) + self.neighbours(mixing @ values)


class _StraightGraph(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList([_SumOfTwo(6, 24), _SumOfTwo(24, 24)])
        self.readout = nn.Linear(24, 1)

    def forward(self, values: Tensor, mixing: Tensor) -> Tensor:
        for layer in self.layers:
            values = layer(values, mixing)
        return self.readout(values.mean(1))


def graph_layers_without_activation(watch: Any) -> None:
    mixing = torch.rand(8, 8).softmax(1)
    values = torch.randn(256, 8, 6)
    target = (values[..., 0].abs().mean(1, keepdim=True) > 0.8).float()
    model = _StraightGraph()
    _train(
        model, lambda: F.binary_cross_entropy_with_logits(model(values, mixing), target), 150, 5e-3, watch, adam=True
    )


def channel_axis_in_the_prediction(watch: Any) -> None:
    inputs = torch.randn(8, 1, 12, 12)
    target = inputs[:, 0].cumsum(1) / 4
    model = nn.Sequential(nn.Conv2d(1, 8, 3, padding=1), nn.ReLU(), nn.Conv2d(8, 1, 3, padding=1))
    _train(model, lambda: (model(inputs) - target).abs().mean(), 120, 5e-3, watch, adam=True)


def softmax_of_one_output(watch: Any) -> None:
    inputs = torch.randn(200, 10)
    target = (inputs[:, 0] > 0).float()
    model = nn.Sequential(_network(1), nn.Softmax(1))
    _train(model, lambda: F.binary_cross_entropy(model(inputs).squeeze(1), target), 100, 5e-3, watch, adam=True)


def rate_multiplied_on_resume(watch: Any) -> None:
    inputs = torch.randn(400, 10)
    target = inputs[:, :3].sum(1, keepdim=True)
    model = _network(1)
    with watch(model):
        for rate in (0.02, 1.5):
            optimizer = torch.optim.SGD(model.parameters(), lr=rate)
            for _ in range(130):
                rows = torch.randint(0, 400, (40,))
                optimizer.zero_grad()
                (model(inputs[rows]) - target[rows]).pow(2).mean().backward()
                optimizer.step()


def infinite_target_in_a_loss_by_hand(watch: Any) -> None:
    inputs = torch.randn(200, 10)
    target = inputs[:, :3].sum(1, keepdim=True)
    model = _network(1)
    step = iter(range(1000))

    def loss() -> Tensor:
        asked = target.clone()
        if next(step) == 60:
            asked[7] = torch.inf
        return (model(inputs) - asked).pow(2).mean()

    _train(model, loss, 120, 1e-2, watch, adam=True)


def gradients_cleared_before_the_step(watch: Any) -> None:
    inputs, labels = _points()
    model = _network()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    with watch(model):
        for _ in range(60):
            F.cross_entropy(model(inputs), labels).backward()
            optimizer.zero_grad()
            optimizer.step()


def batch_in_which_no_target_counts(watch: Any) -> None:
    inputs, labels = _points()
    model = _network()
    step = iter(range(1000))

    def loss() -> Tensor:
        return F.cross_entropy(model(inputs), torch.full_like(labels, -100) if next(step) == 30 else labels)

    _train(model, loss, 60, 1e-2, watch, adam=True)


class _Variational(nn.Module):
    def __init__(self, gain: float) -> None:
        super().__init__()
        self.first, self.mean, self.spread = nn.Linear(16, 32), nn.Linear(32, 4), nn.Linear(32, 4)
        self.decoder = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 16))
        with torch.no_grad():
            self.first.weight.mul_(gain)

    def forward(self, inputs: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        hidden = self.first(inputs).relu()
        mean, spread = self.mean(hidden), self.spread(hidden)
        return self.decoder(mean + (0.5 * spread).exp() * torch.randn_like(mean)), mean, spread


def _variational(gain: float = 1.0, scale: float = 1.0) -> Program:
    """The divergence makes the loss one of several terms, of which a constant guess is known for one alone."""

    def program(watch: Any) -> None:
        inputs = scale * torch.randn(200, 3) @ torch.randn(3, 16)
        model = _Variational(gain)

        def loss() -> Tensor:
            rows = inputs[torch.randint(0, 200, (32,))]
            rebuilt, mean, spread = model(rows)
            return (rebuilt - rows).pow(2).mean() - 0.001 * (1 + spread - mean**2 - spread.exp()).mean()

        _train(model, loss, 200, 1e-3, watch, adam=True)

    program.__name__ = f"variational_{gain:g}_{scale:g}"
    return program


def few_samples_learned_by_heart(watch: Any) -> None:
    inputs, labels = _points()
    inputs, others, labels, their_labels = inputs[:24], inputs[24:], labels[:24], labels[24:]
    model = _network()
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-2)
    with watch(model):
        for step in range(150):
            rows = torch.randperm(24)[:8]
            optimizer.zero_grad()
            F.cross_entropy(model(inputs[rows]), labels[rows]).backward()
            optimizer.step()
            if step % 10 == 9:
                with torch.no_grad():
                    F.cross_entropy(model(others), their_labels)


def two_good_losses_far_apart(watch: Any) -> None:
    """Validation ends at many times the training loss, and both are next to nothing."""
    labels = torch.arange(600) % 4
    inputs = 2.5 * torch.randn(4, 10)[labels] + torch.randn(600, 10)
    model = _network()
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-2)
    with watch(model):
        for step in range(400):
            optimizer.zero_grad()
            F.cross_entropy(model(inputs[:500]), labels[:500]).backward()
            optimizer.step()
            if step % 20 == 19:
                with torch.no_grad():
                    F.cross_entropy(model(inputs[500:]), labels[500:])


def deep_and_learns(watch: Any) -> None:
    """The gradient shrinks a thousandfold over the depth at first, and an adaptive optimizer does not mind."""
    layers = [layer for _ in range(10) for layer in (nn.Linear(32, 32), nn.Tanh())]
    model = nn.Sequential(nn.Linear(10, 32), nn.Tanh(), *layers, nn.Linear(32, 4))
    inputs, labels = _points()
    _train(model, lambda: F.cross_entropy(model(inputs), labels), 300, 2e-3, watch, adam=True)


class _Deep(nn.Module):
    """One activation module serves all layers."""

    def __init__(self, depth: int, activation: nn.Module) -> None:
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(10 if index == 0 else 24, 24) for index in range(depth))
        self.head = nn.Linear(24, 4)
        self.activation = activation

    def forward(self, inputs: Tensor) -> Tensor:
        for layer in self.layers:
            inputs = self.activation(layer(inputs))
        return self.head(inputs)


def _one_activation(depth: int, activation: nn.Module) -> Program:
    def program(watch: Any) -> None:
        inputs, labels = _points()
        model = _Deep(depth, activation)
        _train(model, lambda: F.cross_entropy(model(inputs), labels), 150, 5e-3, watch, adam=True)

    program.__name__ = f"one_{type(activation).__name__}_for_{depth}"
    return program


class _Sine(nn.Module):
    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        self.linear = nn.Linear(inputs, outputs)

    def forward(self, inputs: Tensor) -> Tensor:
        return torch.sin(self.linear(inputs))


def sines_at_the_end_of_blocks(watch: Any) -> None:
    """The function that gives a container's output belongs to the way into it."""
    inputs = torch.randn(300, 2)
    target = torch.sin(2 * inputs[:, :1]) * inputs[:, 1:]
    model = nn.Sequential(_Sine(2, 32), _Sine(32, 32), nn.Linear(32, 1))
    _train(model, lambda: F.mse_loss(model(inputs), target), 300, 5e-3, watch, adam=True)


def twins_without_activation(watch: Any) -> None:
    """The distance between the two embeddings bends, and no layer before it does."""
    first, second = torch.randn(300, 10), torch.randn(300, 10)
    same = ((first[:, 0] * first[:, 1] > 0) == (second[:, 0] * second[:, 1] > 0)).float()
    encoder = nn.Sequential(nn.Linear(10, 32), nn.Linear(32, 32), nn.Linear(32, 8))

    def loss() -> Tensor:
        distance = (encoder(first) - encoder(second)).pow(2).sum(1)
        return F.binary_cross_entropy_with_logits(1 - distance, same)

    _train(encoder, loss, 200, 2e-3, watch, adam=True)


HEALTHY: tuple[Program, ...] = (
    _one_activation(6, nn.ReLU()),
    sines_at_the_end_of_blocks,
    _variational(),
    two_good_losses_far_apart,
    deep_and_learns,
    steps_by_hand,
    nonlinearity_of_ones_own,
    short_and_slow,
    trained_before,
    adapters_on_a_frozen_model,
    branches_hidden_in_checkpoints,
)
FAILING: tuple[tuple[Program, str], ...] = (
    (_one_activation(14, nn.Sigmoid()), "vanishing_depth"),
    (twins_without_activation, "missing_nonlinearity"),
    (_variational(gain=200.0), "init_too_large"),
    (_variational(scale=25.0), "unnormalized_input"),
    (few_samples_learned_by_heart, "overfitting"),
    (absurd_rate, "learning_rate_too_high"),
    (logarithm_of_zero, "loss_domain"),
    (likelihood_without_a_minus, "loss_sign"),
    (_branches("dropped"), "unused_parameters"),
    (_branches("detached"), "detached_graph"),
    (_branches("list"), "detached_graph"),
    (graph_layers_without_activation, "missing_nonlinearity"),
    (channel_axis_in_the_prediction, "loss_shape_mismatch"),
    (softmax_of_one_output, "wrong_output_activation"),
    (rate_multiplied_on_resume, "learning_rate_jump"),
    (infinite_target_in_a_loss_by_hand, "invalid_target"),
    (gradients_cleared_before_the_step, "missing_optimizer_step"),
    (batch_in_which_no_target_counts, "invalid_target"),
)


def _explain(program: Program, seed: int, folder: Path) -> Any:
    torch.manual_seed(seed)
    sessions: list[NeuralDbg] = []

    def watch(model: nn.Module) -> NeuralDbg:
        sessions.append(NeuralDbg(model, path=folder / "run.ndbg", preset="every_step"))
        return sessions[-1]

    program(watch)
    return sessions[0]


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("program", HEALTHY, ids=lambda program: program.__name__)
def test_nothing_is_said_of_a_run_that_is_well(program: Program, seed: int, tmp_path: Path) -> None:
    session = _explain(program, seed, tmp_path)
    assert not session.explain_failure(), str(session.explain_failure()[0])
    assert not [note for note in session.diagnosis().notes if "failed" in note]


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(("program", "cause"), FAILING, ids=[f"{cause}-{i}" for i, (_, cause) in enumerate(FAILING)])
def test_the_right_one_of_two_causes_is_named(program: Program, cause: str, seed: int, tmp_path: Path) -> None:
    found = _explain(program, seed, tmp_path).explain_failure()
    assert found, "nothing was said"
    assert found[0].cause == cause, [str(one) for one in found]
