"""A run that trains well, as plain numbers: what detectors must stay quiet on, and what scenarios change."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from neuraldbg.measures.run import Run
from neuraldbg.testing import Values, trace

STEPS = 60
MODULES = ("fc1", "act", "fc2", "out")
FLOW = "fc1 -> act -> fc2 -> out -> <loss>"
DETAILS: dict[str, dict[str, Any]] = {
    "fc1": {"kind": "linear"},
    "act": {"kind": "activation"},
    "fc2": {"kind": "activation"},
    "out": {"kind": "linear"},
    "fc1:Relu": {"operation": "Relu", "producer": "fc1", "module": "act"},
    "fc2:Sigmoid": {"operation": "Sigmoid", "producer": "fc2", "module": None},
    "fc1.weight": {"shape": [16, 8], "dtype": "float32"},
    "fc1.bias": {"shape": [16], "dtype": "float32"},
    "out.weight": {"shape": [1, 16], "dtype": "float32"},
}
TERM: dict[str, Any] = {
    "kind": "mse",
    "operation": "MseLoss",
    "sign": 1,
    "factor": 1.0,
    "reduction": "mean",
    "weighted": False,
    "prediction_shape": [32, 1],
    "target_shape": [32, 1],
    "residual_shape": [32, 1],
    "broadcasts": False,
    "chain": [],
    "producer": "out",
    "producers": ["out"],
    "chain_modules": [],
}
SETTINGS: dict[str, Any] = {
    "class": "SGD",
    "groups": [{"lr": 0.1, "momentum": 0.9, "weight_decay": 0, "watched": 3, "elements": 160}],
}
MEMBERSHIP: dict[str, Any] = {
    "parameters": {"fc1.weight": [1, 1, 1], "fc1.bias": [1, 1, 1], "out.weight": [1, 1, 1]},
    "elements": {"fc1.weight": 128, "fc1.bias": 16, "out.weight": 16},
    "optimizers": 1,
    "foreign": 0,
}


def wobble(level: float, share: float = 0.1, steps: int = STEPS) -> list[float]:
    """Numbers around a level, without chance."""
    return [level * (1 + share * math.sin(1.7 * step)) for step in range(steps)]


def falling(first: float = 1.0, rate: float = 0.08, steps: int = STEPS) -> list[float]:
    """A loss that falls towards zero, with a little noise."""
    return [first * math.exp(-rate * step) * (1 + 0.02 * math.sin(2.3 * step)) for step in range(steps)]


def quantities() -> dict[str, dict[str, Values]]:
    """Every series of the healthy run."""
    gradient = [0.5 * math.exp(-0.04 * step) * (1 + 0.1 * math.sin(step)) for step in range(STEPS)]
    by_module = {
        "module.output_std": 1.0,
        "module.output_absmax": 3.0,
        "module.output_batch_spread": 0.9,
        "module.output_gradient_norm": 0.3,
        "module.output_requires_grad": 1.0,
    }
    found: dict[str, dict[str, Values]] = {
        name: {module: wobble(level, 0.1 if level != 1.0 else 0.0) for module in MODULES}
        for name, level in by_module.items()
    }
    found["module.input_std"] = {"fc1": wobble(1.0), "out": wobble(1.0)}
    found["module.input_absmax"] = {"fc1": wobble(3.0), "out": wobble(3.0)}
    found["activation.dead_units"] = {"fc1:Relu": wobble(0.05)}
    found["activation.zero_share"] = {"fc1:Relu": wobble(0.7, 0.02)}
    found["activation.saturated_share"] = {"fc2:Sigmoid": wobble(0.04)}
    found["parameter.gradient_norm"] = {"fc1.weight": gradient, "fc1.bias": gradient, "out.weight": gradient}
    found["parameter.has_gradient"] = {name: [1.0] * STEPS for name in MEMBERSHIP["parameters"]}
    found["parameter.weight_norm"] = {"fc1.weight": wobble(6.5, 0.01), "out.weight": wobble(2.3, 0.01)}
    found["parameter.update_norm"] = {"fc1.weight": wobble(0.02), "out.weight": wobble(0.01)}
    found["parameter.initial_scale"] = {"fc1.weight": [0.58], "out.weight": [0.58]}
    found["parameter.initial_mean"] = {"fc1.weight": [0.0], "fc1.bias": [0.01]}
    found["parameter.row_spread"] = {"fc1.weight": [0.98, 0.99, 0.98]}
    found["gradient.norm"] = {"SGD": gradient}
    found["gradient.left_norm"] = {"SGD": [None, *([0.0] * (STEPS - 1))]}
    found["gradient.norm_after_backward"] = {"gradients": gradient}
    found["gradient.cosine"] = {"SGD": [None, *wobble(0.3, steps=STEPS - 1)]}
    found["update.ratio"] = {"SGD": wobble(3e-3)}
    found["update.norm"] = {"SGD": [0.1 * value * 3 for value in gradient]}
    found["update.dot_gradient"] = {"SGD": [-0.08 * value for value in falling()]}
    found["optimizer.learning_rate"] = {"SGD": [0.1]}
    found["loss.value"] = {"loss": falling()}
    found["loss.elements"] = {"loss": [32.0] * STEPS}
    found["target.mean"] = {"loss": wobble(0.02, 1.0)}
    found["target.std"] = {"loss": wobble(1.0, 0.05)}
    found["target.min"] = {"loss": wobble(-2.4)}
    found["target.max"] = {"loss": wobble(2.4)}
    found["target.nonfinite"] = {"loss": [0.0] * STEPS}
    found["prediction.batch_spread"] = {"loss": wobble(0.8)}
    found["input.mean"] = {"[0]": wobble(0.02, 1.0)}
    found["input.std"] = {"[0]": wobble(1.0, 0.03)}
    found["input.absmax"] = {"[0]": wobble(3.1)}
    found["input.batch_spread"] = {"[0]": wobble(0.98, 0.02)}
    found["input.constant_features"] = {"[0]": [0.0] * STEPS}
    found["input.zero_share"] = {"[0]": [0.0] * STEPS}
    found["input.nonfinite"] = {"[0]": [0.0] * STEPS}
    found["input.integer"] = {"[0]": [0.0] * STEPS}
    found["input.batch_size"] = {"[0]": [32.0] * STEPS}
    found["module.training"] = {"": [1.0] * STEPS}
    return found


def run_with(
    changes: Mapping[str, Mapping[str, Values]] | None = None,
    *,
    places: Mapping[str, Mapping[str, Any]] | None = None,
    term: Mapping[str, Any] | None = None,
    settings: Mapping[str, Any] | None = None,
    membership: Mapping[str, Any] | None = None,
    facts: tuple[Any, ...] = (),
    flow: str = FLOW,
    **meta: Any,
) -> Run:
    """The healthy run with some series, details, settings or facts in place of its own."""
    series = quantities()
    for name, by_place in (changes or {}).items():
        series[name] = {**series.get(name, {}), **by_place}
    details = {name: dict(values) for name, values in DETAILS.items()}
    for name, values in (places or {}).items():
        details[name] = {**details.get(name, {}), **values}
    structure = {"stream": "loss", "terms": [{**TERM, **(term or {})}]}
    groups = [{**SETTINGS["groups"][0], **(settings or {})}]
    name = str((settings or {}).get("class", SETTINGS["class"]))
    built_in = (
        ("loss.structure", 0, structure),
        ("model.membership", 0, {**MEMBERSHIP, **(membership or {})}),
        ("optimizer.settings", 0, {"class": name, "groups": groups}, ("optimizer", "SGD")),
    )
    return Run(trace(series, places=details, facts=(*built_in, *facts), flow=flow, steps=STEPS, **meta))
