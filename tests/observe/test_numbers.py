# ruff: noqa: E501 - one loss a line
"""Every number against a slower, independent computation."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from helpers.watching import watched
from neuraldbg.measures.loss_curve import loss_curves
from neuraldbg.records import Trace


def norm(values: list[Tensor]) -> float:
    return math.sqrt(sum(float(value.detach().double().pow(2).sum()) for value in values))


def flat(values: list[Tensor]) -> np.ndarray:
    return torch.cat([value.detach().double().reshape(-1) for value in values]).numpy()


def close(trace: Trace, quantity: str, place: str | None, expected: list[float], rtol: float = 1e-4) -> None:
    found = trace.scalar(quantity, place)[1]
    np.testing.assert_allclose(found, expected, rtol=rtol, atol=1e-7, err_msg=f"{quantity} at {place}")


class Slow:
    """What a loop does, computed by hand from autograd and from copies of the weights, in double precision."""

    def __init__(self) -> None:
        self.kept: dict[tuple[str, str | None], list[float]] = {}

    def add(self, quantity: str, place: str | None, value: float) -> None:
        self.kept.setdefault((quantity, place), []).append(float(value))


def cosine(left: np.ndarray, right: np.ndarray) -> float:
    return float(left @ right / max(np.linalg.norm(left) * np.linalg.norm(right), 1e-30))


def test_gradients_updates_and_outputs(tmp_path: Path) -> None:
    slow = Slow()

    def loop(block: Any) -> None:
        model = nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 8), nn.Sigmoid(), nn.Linear(8, 3))
        with torch.no_grad():
            model[0].bias[:3] = -50.0  # three dead units
        names = dict(model.named_parameters())
        twin = copy.deepcopy(model)  # is not watched
        optimizer = torch.optim.Adam(model.parameters(), lr=0.02, weight_decay=0.1)
        before_gradient = before_update = None
        with block(model):
            for _ in range(5):
                inputs, targets = torch.randn(32, 6) * 2 + 1, torch.randint(0, 3, (32,))
                optimizer.zero_grad()
                loss = F.cross_entropy(model(inputs), targets)
                loss.backward()
                weights = {name: value.detach().clone() for name, value in names.items()}
                gradients = [value.grad.clone() for value in names.values()]
                optimizer.step()

                updates = [value.detach() - weights[name] for name, value in names.items()]
                slow.add("loss.value", "loss", loss.item())
                slow.add("gradient.norm", "Adam", norm(gradients))
                slow.add("gradient.norm_after_backward", "gradients", norm(gradients))
                slow.add("update.norm", "Adam", norm(updates))
                slow.add("update.ratio", "Adam", norm(updates) / norm(list(weights.values())))
                slow.add("update.dot_gradient", "Adam", float(flat(updates) @ flat(gradients)))
                slow.add("update.largest", "Adam", float(np.abs(flat(updates)).max()))
                slow.add("gradient.zero_share", "Adam", float((flat(gradients) == 0).mean()))
                if before_gradient is not None:
                    slow.add("gradient.cosine", "Adam", cosine(flat(gradients), before_gradient))
                    slow.add("update.cosine", "Adam", cosine(flat(updates), before_update))
                before_gradient, before_update = flat(gradients), flat(updates)
                for name, gradient, update in zip(names, gradients, updates):
                    slow.add("parameter.gradient_norm", name, norm([gradient]))
                    slow.add("parameter.update_norm", name, norm([update]))
                    slow.add("parameter.weight_norm", name, norm([weights[name]]))

                again = [inputs]
                for name, layer in twin.named_children():
                    layer_weights = {k: weights[f"{name}.{k}"] for k, _ in layer.named_parameters()}
                    again.append(
                        torch.func.functional_call(layer, layer_weights, (again[-1],)).detach().requires_grad_()
                    )
                for index, output in enumerate(again[1:]):
                    value = output.detach().double().numpy()
                    slow.add("module.output_mean", str(index), value.mean())
                    slow.add("module.output_std", str(index), value.std())
                    slow.add("module.output_absmax", str(index), np.abs(value).max())
                    slow.add("module.output_zero_share", str(index), (value == 0).mean())
                    slow.add("module.output_dead_units", str(index), (value.max(0) <= 0).mean())
                    slow.add("module.output_unit_zero", str(index), (value == 0).all(0).mean())
                    slow.add("module.output_batch_spread", str(index), math.sqrt((value.std(0) ** 2).mean()))
                    # The gradient at each output, by running the rest of the model from a copy of it.
                    rest: Tensor = output
                    for name, layer in list(twin.named_children())[index + 1 :]:
                        layer_weights = {k: weights[f"{name}.{k}"] for k, _ in layer.named_parameters()}
                        rest = torch.func.functional_call(layer, layer_weights, (rest,))
                    (at_output,) = torch.autograd.grad(F.cross_entropy(rest, targets), output)
                    slow.add("module.output_gradient_norm", str(index), norm([at_output]))
                bounded = again[4].detach()
                share = ((bounded < 0.01) | (bounded > 0.99)).double().mean()
                slow.add("activation.saturated_share", "2:Sigmoid", share)
                slow.add("activation.zero_share", "0:Relu", float((again[2] == 0).double().mean()))
                slow.add("activation.dead_units", "0:Relu", float((again[2] == 0).all(0).double().mean()))
                entering = inputs.double().numpy()
                slow.add("input.mean", "[0]", entering.mean())
                slow.add("input.std", "[0]", entering.std())
                slow.add("input.absmax", "[0]", np.abs(entering).max())
                slow.add("input.feature_std_ratio", "[0]", entering.std(0).max() / entering.std(0).min())

    trace = watched(tmp_path, loop)
    for (quantity, place), expected in slow.kept.items():
        close(trace, quantity, place, expected)
    assert slow.kept["module.output_dead_units", "1"][0] >= 3 / 8
    # Along a chain the log-gains add up to the whole: here that of the three linear layers' outputs.
    gradients = {index: trace.scalar("module.output_gradient_norm", str(index))[1] for index in range(5)}
    shares = sum(np.log10(gradients[index] / gradients[index + 1]) for index in range(4))
    np.testing.assert_allclose(shares, np.log10(gradients[0] / gradients[4]), rtol=1e-9)


def test_large_tensors_are_sampled_within_a_few_percent(tmp_path: Path) -> None:
    slow = Slow()

    def loop(block: Any) -> None:
        model = nn.Sequential(nn.Linear(256, 1500), nn.ReLU())
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        with block(model):
            for _ in range(3):
                inputs = torch.randn(128, 256)
                before = model[0].weight.detach().clone()
                optimizer.zero_grad()
                output = model(inputs)
                output.pow(2).mean().backward()
                optimizer.step()
                slow.add("module.output_std", "1", output.detach().double().std(correction=0))
                slow.add("module.output_zero_share", "1", (output == 0).double().mean())
                slow.add("parameter.weight_norm", "0.weight", norm([before]))
                slow.add("parameter.update_norm", "0.weight", norm([model[0].weight - before]))
                slow.add("parameter.gradient_norm", "0.weight", norm([model[0].weight.grad]))

    trace = watched(tmp_path, loop)
    for (quantity, place), expected in slow.kept.items():
        close(trace, quantity, place, expected, rtol=1e-5 if quantity == "parameter.gradient_norm" else 0.08)


def test_a_scaler_is_divided_out(tmp_path: Path) -> None:
    slow = Slow()

    def loop(block: Any) -> None:
        model = nn.Linear(4, 2)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        scaler = torch.amp.GradScaler("cpu", init_scale=2.0**12, growth_interval=2)
        with block(model):
            for step in range(6):
                inputs, targets = torch.randn(8, 4), torch.randn(8, 2)
                loss = F.mse_loss(model(inputs), targets)
                slow.add("loss.value", "loss", loss.item())
                unscaled = torch.autograd.grad(loss, list(model.parameters()), retain_graph=True)
                slow.add("gradient.norm", "SGD", norm(list(unscaled)))
                optimizer.zero_grad()
                scaler.scale(loss).backward()
                if step % 2:
                    scaler.unscale_(optimizer)
                scaler.step(optimizer)
                scaler.update()

    trace = watched(tmp_path, loop)
    for (quantity, place), expected in slow.kept.items():
        close(trace, quantity, place, expected)
    assert trace.scalar("scaler.scale")[1].tolist() == [2.0**12, 2.0**13, 2.0**14]


def classes() -> Tensor:
    return torch.randint(0, 4, (16,))


def entropy(ids: Tensor) -> float:
    shares = np.bincount(ids.numpy(), minlength=4) / len(ids)
    return float(-sum(share * math.log(share) for share in shares if share > 0))


#: Name → loss of (output of shape (16, 4), real targets, class ids) → what the structure says.
LOSSES: dict[str, tuple[Callable[[Tensor, Tensor, Tensor], Tensor], dict[str, Any]]] = {
    "cross entropy": (lambda y, t, c: F.cross_entropy(y, c), {"kind": "cross_entropy", "chain": ["LogSoftmax"]}),
    "softmax twice": (lambda y, t, c: F.cross_entropy(y.softmax(1), c), {"kind": "cross_entropy", "chain": ["LogSoftmax", "Softmax"]}),
    "nll": (lambda y, t, c: F.nll_loss(y.log_softmax(1), c), {"kind": "cross_entropy", "chain": ["LogSoftmax"]}),
    "nll of logits": (lambda y, t, c: F.nll_loss(y, c), {"kind": "cross_entropy", "chain": []}),
    "class weights": (lambda y, t, c: F.cross_entropy(y, c, weight=torch.tensor([1.0, 2, 3, 4])), {"kind": "cross_entropy", "weighted": True}),
    "summed": (lambda y, t, c: F.cross_entropy(y, c, reduction="sum"), {"kind": "cross_entropy", "reduction": "sum"}),
    "mse": (lambda y, t, c: F.mse_loss(y, t), {"kind": "mse", "chain": [], "residual_shape": [16, 4]}),
    "mse summed": (lambda y, t, c: F.mse_loss(y, t, reduction="sum"), {"kind": "mse", "reduction": "sum"}),
    "mse scaled": (lambda y, t, c: 100 * F.mse_loss(y, t) / 4, {"kind": "mse", "factor": 25.0}),
    "divided by a number": (lambda y, t, c: F.mse_loss(y, t, reduction="sum") / 8, {"kind": "mse", "reduction": "sum", "factor": 0.125}),
    "divided by a count": (lambda y, t, c: F.mse_loss(y, t, reduction="sum") / (t > 0).sum(), {"kind": "mse", "reduction": "mean"}),
    "mse negated": (lambda y, t, c: -F.mse_loss(y, t), {"kind": "mse", "sign": -1}),
    "subtracted": (lambda y, t, c: 0 - F.mse_loss(y, t), {"kind": "mse", "sign": -1}),
    "negated twice": (lambda y, t, c: -(-0.5 * F.mse_loss(y, t)), {"kind": "mse", "sign": 1, "factor": 0.5}),
    "by hand": (lambda y, t, c: ((y - t) ** 2).mean(), {"kind": "handmade_square", "reduction": "mean"}),
    "by hand, summed": (lambda y, t, c: (t - y).pow(2).sum(), {"kind": "handmade_square", "reduction": "sum"}),
    "by hand, absolute": (lambda y, t, c: (y - t).abs().mean(), {"kind": "handmade_absolute"}),
    "l1": (lambda y, t, c: F.l1_loss(y, t), {"kind": "handmade_absolute"}),  # torch composes it
    "smooth l1": (lambda y, t, c: F.smooth_l1_loss(y, t), {"kind": "smooth_l1"}),
    "huber": (lambda y, t, c: F.huber_loss(y, t, delta=0.5), {"kind": "huber"}),
    "bce": (lambda y, t, c: F.binary_cross_entropy(y.sigmoid(), (t > 0).float()), {"kind": "binary_cross_entropy", "chain": ["Sigmoid"]}),
    "bce with logits": (lambda y, t, c: F.binary_cross_entropy_with_logits(y, (t > 0).float()), {"kind": "binary_cross_entropy_with_logits", "chain": []}),
    "bce with logits of probabilities": (lambda y, t, c: F.binary_cross_entropy_with_logits(y.sigmoid(), (t > 0).float()), {"kind": "binary_cross_entropy_with_logits", "chain": ["Sigmoid"]}),
    "mse of relu": (lambda y, t, c: F.mse_loss(y.relu(), t), {"kind": "mse", "chain": ["Relu"]}),
    "broadcast": (lambda y, t, c: F.mse_loss(y[:, :1], t[:, 0]), {"kind": "mse", "broadcasts": True, "residual_shape": [16, 16], "prediction_shape": [16, 1]}),
    "broadcast by hand": (lambda y, t, c: (y[:, :1] - t[:, 0]).square().mean(), {"kind": "handmade_square", "broadcasts": True}),
    "label smoothing": (lambda y, t, c: F.cross_entropy(y, c, label_smoothing=0.1), {"kind": "cross_entropy", "sign": 1}),
}  # fmt: skip


@pytest.mark.filterwarnings("ignore:Using a target size")
def test_the_structure_of_losses(tmp_path: Path) -> None:
    wrong = []
    for index, (name, (loss_of, expected)) in enumerate(LOSSES.items()):
        folder = tmp_path / str(index)
        folder.mkdir()

        def loop(block: Any, loss_of: Any = loss_of) -> None:
            model = nn.Linear(5, 4)
            optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
            with block(model):
                for _ in range(2):
                    optimizer.zero_grad()
                    loss_of(model(torch.randn(16, 5)), torch.randn(16, 4), classes()).backward()
                    optimizer.step()

        (fact, *_) = watched(folder, loop).facts("loss.structure")
        kinds = [term["kind"] for term in fact.data["terms"]]
        term = next((term for term in fact.data["terms"] if term["kind"] == expected["kind"]), None)
        full = {"sign": 1, "factor": 1.0, "broadcasts": False, "reduction": "mean", **expected}
        if name == "label smoothing":
            del full["factor"]  # split between the target and all other classes
        if term is None:
            wrong.append(f"{name}: found {kinds}")
            continue
        wrong += [
            f"{name}: {key} is {term[key]!r}, expected {value!r}"
            for key, value in full.items()
            if (term[key] != pytest.approx(value) if isinstance(value, float) else term[key] != value)
        ]
    assert not wrong, "\n".join(wrong)


def test_numbers_of_classes_and_of_targets(tmp_path: Path) -> None:
    slow = Slow()

    def loop(block: Any) -> None:
        model = nn.Sequential(nn.Linear(5, 4))
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        with block(model):
            for _ in range(4):
                ids = classes()
                optimizer.zero_grad()
                logits = model(torch.randn(16, 5))
                F.cross_entropy(logits, ids).backward()
                optimizer.step()
                slow.add("target.entropy", "loss", entropy(ids))
                slow.add("loss.term_constant", "loss", entropy(ids))
                slow.add("target.top_share", "loss", np.bincount(ids.numpy()).max() / 16)
                slow.add("target.classes", "loss", len(set(ids.tolist())))
                slow.add("prediction.accuracy", "loss", (logits.argmax(1) == ids).double().mean())
                slow.add("prediction.top_share", "loss", np.bincount(logits.argmax(1).numpy()).max() / 16)
                slow.add("prediction.confidence", "loss", logits.detach().softmax(1).amax(1).double().mean())

    trace = watched(tmp_path, loop)
    for (quantity, place), expected in slow.kept.items():
        close(trace, quantity, place, expected)


CONSTANTS: dict[str, tuple[Callable[[Tensor, Tensor], Tensor], Callable[[np.ndarray], float]]] = {
    "mse": (F.mse_loss, lambda t: t.var()),
    "l1": (F.l1_loss, lambda t: np.abs(t - np.median(t)).mean()),
    "by hand": (lambda y, t: (y - t).square().mean(), lambda t: t.var()),
    "by hand, the other way round": (lambda y, t: (t - y).square().mean(), lambda t: t.var()),
    "by hand, absolute": (lambda y, t: (y - t).abs().mean(), lambda t: np.abs(t - np.median(t)).mean()),
}


@pytest.mark.parametrize("name", CONSTANTS)
def test_what_a_constant_guess_would_reach(name: str, tmp_path: Path) -> None:
    loss_of, constant = CONSTANTS[name]
    slow = Slow()

    def loop(block: Any) -> None:
        model = nn.Sequential(nn.Linear(5, 1))
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        with block(model):
            for _ in range(3):
                targets = torch.randn(33, 1) * 3 + 2
                optimizer.zero_grad()
                output = model(torch.randn(33, 5))
                loss_of(output, targets).backward()
                optimizer.step()
                value = targets.double().numpy()
                slow.add("loss.term_constant", "loss", constant(value))
                slow.add("target.mean", "loss", value.mean())
                slow.add("target.std", "loss", value.std())
                slow.add("prediction.mean", "loss", output.detach().double().mean())
                slow.add("prediction.std", "loss", output.detach().double().std(correction=0))

    trace = watched(tmp_path, loop)
    for (quantity, place), expected in slow.kept.items():
        close(trace, quantity, place, expected)


@pytest.mark.parametrize(("size", "known"), [(10.0, True), (1e9, False), (float("inf"), False)])
def test_a_target_behind_a_huge_prediction_is_not_made_up(size: float, known: bool, tmp_path: Path) -> None:
    """Prediction minus residual is all rounding there: infinite says so, a number would be nonsense."""
    torch.manual_seed(0)
    targets = torch.randn(33, 1) * 3 + 2

    def loop(block: Any) -> None:
        model = nn.Sequential(nn.Linear(5, 1))
        with torch.no_grad():
            model[0].bias.fill_(size)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.0)
        with block(model):
            (model(torch.randn(33, 5)) - targets).square().mean().backward()
            optimizer.step()

    trace = watched(tmp_path, loop)
    _, spread = trace.scalar("target.std", "loss")
    _, constant = trace.scalar("loss.term_constant", "loss")
    if known:
        assert spread[0] == pytest.approx(float(targets.std(correction=0)), rel=1e-4)
        assert constant[0] == pytest.approx(float(targets.var(correction=0)), rel=1e-4)
    else:
        assert np.isinf(spread[0]) and np.isinf(constant[0])


def test_the_known_part_of_a_loss_of_several_terms(tmp_path: Path) -> None:
    torch.manual_seed(0)
    targets = torch.randn(64, 3) * 2
    labels = torch.randint(0, 3, (64,))

    def part_of(loss_of: Callable[[Tensor], Tensor]) -> float | None:
        def loop(block: Any) -> None:
            model = nn.Sequential(nn.Linear(5, 3))
            optimizer = torch.optim.SGD(model.parameters(), lr=0.0)
            with block(model):
                loss_of(model(torch.randn(64, 5))).backward()
                optimizer.step()

        return loss_curves(watched(tmp_path, loop))[0].known_part

    variance = float(targets.var(correction=0))
    shares = np.bincount(labels.numpy()) / 64
    entropy = float(-(shares * np.log(shares)).sum())
    assert part_of(lambda y: F.mse_loss(y, targets) + 0.1 * y.exp().mean()) == pytest.approx(variance, rel=1e-4)
    assert part_of(lambda y: 2 * F.mse_loss(y, targets) + F.cross_entropy(y, labels)) == pytest.approx(
        2 * variance + entropy, rel=1e-4
    )
    assert part_of(lambda y: F.cross_entropy(y, labels) - F.mse_loss(y, targets)) is None
    assert part_of(lambda y: F.mse_loss(y, targets)) is None, "one term: its constant guess is known as a whole"
    assert part_of(lambda y: y.exp().mean() + y.square().mean()) is None


def test_gradients_left_from_before_are_measured(tmp_path: Path) -> None:
    left = []

    def loop(block: Any) -> None:
        model = nn.Linear(5, 1)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
        with block(model):
            for _ in range(4):
                if model.weight.grad is not None:
                    left.append(norm([model.weight.grad, model.bias.grad]))
                model(torch.randn(8, 5)).pow(2).mean().backward()
                optimizer.step()

    close(watched(tmp_path, loop), "gradient.left_norm", "SGD", left)
