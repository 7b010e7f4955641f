"""Three failures of one forecaster, the verdict on each, the fix, and the run after it.

    python examples/quant_search/failures.py            all three, two minutes on two cores
    python examples/quant_search/failures.py scale      one of them

Each is a mistake that comes with this kind of model: a standard deviation that can be zero, prices as they come, and a
warm-up that never ends.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch

sys.path.insert(0, str(Path(__file__).parent))

from data import Windows, windows_of_bars, windows_of_sines
from evaluate import evaluate
from model import Forecaster, negative_log_likelihood

from neuraldbg import Diagnosis, NeuralDbg
from neuraldbg.report import print_verdict


def constant(step: int) -> float:
    """The learning rate as it is."""
    return 1.0


@dataclass(frozen=True)
class Setting:
    """What one training is made of."""

    data: Callable[[], Windows]
    model: dict[str, Any] = field(default_factory=dict)
    optimizer: Callable[..., torch.optim.Optimizer] = torch.optim.Adam
    rate: float = 1e-3
    #: Factor of the learning rate at a step.
    schedule: Callable[[int], float] = lambda step: min(1.0, (step + 1) / 20)


@dataclass(frozen=True)
class Failure:
    """A setting that fails, and the one that does not."""

    story: str
    #: The cause that the verdict should name.
    cause: str
    before: Setting
    fix: str
    after: Setting


FAILURES = {
    "variance": Failure(
        "The deviation of the forecast is a ReLU, for it may not be negative. As the forecast gets surer it reaches "
        "zero for some sample, and the likelihood takes its logarithm.",
        "loss_domain",
        Setting(windows_of_sines, {"spread": "relu"}, rate=3e-3, schedule=constant),
        "softplus and a floor of 0.001 in place of the ReLU",
        Setting(windows_of_sines, {"spread": "softplus"}, rate=3e-3, schedule=constant),
    ),
    "scale": Failure(
        "Bars are fed as they come: prices in the ten thousands, volumes in the millions.",
        "unnormalized_input",
        Setting(lambda: windows_of_bars(raw=True)),
        "log returns, log ranges and log volumes, brought to mean 0 and spread 1 by the training part",
        Setting(windows_of_bars),
    ),
    "warm-up": Failure(
        "The warm-up raises the rate by four percent per step, from a twentieth of it, and was meant to stop at one.",
        "learning_rate_jump",
        Setting(windows_of_sines, rate=3e-3, schedule=lambda step: 0.05 * 1.04**step),
        "min(1, 0.05 * 1.04**step)",
        Setting(windows_of_sines, rate=3e-3, schedule=lambda step: min(1.0, 0.05 * 1.04**step)),
    ),
}


def train(setting: Setting, steps: int = 300) -> tuple[Diagnosis, dict[str, float]]:
    """Train under observation; gives the diagnosis and the evaluation on the last fifth of the series."""
    torch.manual_seed(0)
    past, future = setting.data().split()
    model = Forecaster(features=past.inputs.shape[-1], **setting.model)
    optimizer = setting.optimizer(model.parameters(), lr=setting.rate)
    scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, setting.schedule)
    with NeuralDbg(model, script=__file__) as debugger:
        for _ in range(steps):
            rows = torch.randint(len(past), (64,))
            loss = negative_log_likelihood(model(past.inputs[rows], past.times[rows]), past.targets[rows])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            scheduler.step()
    return debugger.diagnosis(), evaluate(model, future, trade=setting.data is not windows_of_sines)


def tell(name: str, steps: int = 300) -> tuple[Diagnosis, Diagnosis]:
    """One failure from the mistake to the run after the fix, printed; gives both diagnoses."""
    failure = FAILURES[name]
    print(f"\n{'=' * 78}\n{name}: {failure.story}\n")
    before, _ = train(failure.before, steps)
    print_verdict(before)
    print(f"\nThe fix: {failure.fix}.\n")
    after, judged = train(failure.after, steps)
    print_verdict(after)
    print("On what was not trained on:", ", ".join(f"{key} {value:.3f}" for key, value in judged.items()))
    return before, after


if __name__ == "__main__":
    for chosen in sys.argv[1:] or FAILURES:
        tell(chosen)
