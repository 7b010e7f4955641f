"""For every detector a run on which it must fire: the healthy run with one thing changed."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

from helpers.healthy_run import MEMBERSHIP, MODULES, STEPS, falling, quantities, run_with, wobble
from neuraldbg.measures.run import Run

INF = math.inf


class Sick(NamedTuple):
    """What has to be seen in a run."""

    run: Callable[[], Run]
    state: str
    #: Layer, parameter or subject of the event; None where it does not matter.
    place: str | None = None
    #: First step of the event, within two steps; None where it does not matter.
    step: int | None = None


def _change(**changes: Any) -> Callable[[], Run]:
    """A run with series changed: ``loss__value={"loss": [...]}`` stands for ``loss.value``."""
    return lambda: run_with({name.replace("__", ".", 1): values for name, values in changes.items()})


def _from(step: int, before: list[float], after: float | list[float]) -> list[float]:
    tail = after if isinstance(after, list) else [after] * STEPS
    return [*before[:step], *tail[: STEPS - step]]


def _spike(values: list[float], step: int, factor: float) -> list[float]:
    return [value * factor if index == step else value for index, value in enumerate(values)]


def _rows(quantity: str, place: str) -> list[float]:
    return list(quantities()[quantity][place])  # type: ignore[arg-type]


def _membership(**rows: list[int]) -> Callable[[], Run]:
    names = {name.replace("__", "."): row for name, row in rows.items()}
    elements = {**MEMBERSHIP["elements"], **dict.fromkeys(names, 64)}
    return lambda: run_with(
        {"parameter.has_gradient": {name: [0.0] * STEPS for name, row in names.items() if not row[2]}},
        membership={"parameters": {**MEMBERSHIP["parameters"], **names}, "elements": elements},
    )


def _term(**term: Any) -> Callable[[], Run]:
    return lambda: run_with(term=term)


def _settings(**settings: Any) -> Callable[[], Run]:
    return lambda: run_with(settings=settings)


_DEEP = [f"layer{index}" for index in range(12)]
_DEEP_FLOW = " -> ".join([*_DEEP, "<loss>"])


def _over_depth(quantity: str, factor: float) -> Callable[[], Run]:
    """A deep stack in which a quantity of each module is ``factor`` times that of the one before it."""
    columns = {name: wobble(factor**index, 0.01) for index, name in enumerate(_DEEP)}
    return lambda: run_with({quantity: columns}, flow=_DEEP_FLOW)


_GRADIENT, _LOSS = _rows("gradient.norm", "SGD"), falling()
_HISTOGRAM = {"targets": {"0": 950, "1": 50}, "predictions": {"0": 1000}}
_ORDERED = {"targets": {"0": 500, "1": 500}, "predictions": {"0": 500, "1": 500}}
_NAN_LOSS = {
    "value": "nan",
    "bad_parameters": [],
    "producer": {"kind": "operation", "operation": "Log", "module": None},
}

SICK: dict[str, list[Sick]] = {
    "gradient_vanishing": [
        Sick(_change(module__output_gradient_norm={"fc1": wobble(1e-5)}), "vanishing", "fc1", 0),
        Sick(_over_depth("module.output_gradient_norm", 3.0), "vanishing", "layer4", 0),
    ],
    "gradient_growing_over_depth": [Sick(_over_depth("module.output_gradient_norm", 0.3), "exploding", "layer7", 0)],
    "gradient_exploding": [
        Sick(
            _change(
                gradient__norm={"SGD": _spike(_GRADIENT, 30, 80)},
                parameter__gradient_norm={"out.weight": _spike(_GRADIENT, 30, 80)},
            ),
            "exploding",
            "out",
            30,
        )
    ],
    "gradient_clipped": [
        Sick(_change(gradient__norm={"SGD": [0.01] * STEPS}), "saturated", "the gradient", 0),
    ],
    "gradient_non_finite": [
        Sick(_change(parameter__gradient_norm={"fc1.weight": _from(40, _GRADIENT, INF)}), "non_finite", "fc1", 40)
    ],
    "gradient_absent": [
        Sick(_membership(head__weight=[1, 1, 0]), "absent", "head", 0),
        Sick(
            _change(parameter__gradient_norm={n: _from(20, _GRADIENT, 0.0) for n in ("fc1.weight", "fc1.bias")}),
            "absent",
            "fc1",
            20,
        ),
    ],
    "dead_units": [
        Sick(_change(activation__dead_units={"fc1:Relu": _from(3, wobble(0.05), 0.97)}), "dead", "fc1", 3),
    ],
    "saturated_units": [
        Sick(_change(activation__saturated_share={"fc2:Sigmoid": _from(10, wobble(0.05), 0.9)}), "saturated", "fc2", 10)
    ],
    "activation_non_finite": [
        Sick(
            _change(module__output_absmax={name: _from(25, wobble(3.0), INF) for name in MODULES[1:]}),
            "non_finite",
            "act",
            25,
        )
    ],
    "activation_exploding": [
        Sick(_over_depth("module.output_std", 3.0), "exploding", "layer4", 0),
        Sick(_change(module__output_std={"fc2": _from(30, wobble(1.0), 60.0)}), "exploding", "fc2", 30),
    ],
    "activation_vanishing": [Sick(_over_depth("module.output_batch_spread", 0.3), "vanishing", "layer6", 0)],
    "activation_collapsed": [
        Sick(_change(module__output_batch_spread={"fc2": _from(30, wobble(0.9), 1e-6)}), "collapsed", "fc2", 30),
        Sick(_change(prediction__batch_spread={"loss": _from(30, wobble(0.8), 1e-3)}), "collapsed", "out", 30),
    ],
    "loss_non_finite": [
        Sick(
            lambda: run_with(
                {"loss.value": {"loss": _from(41, _LOSS, INF)}}, facts=(("nonfinite.loss", 41, _NAN_LOSS),)
            ),
            "non_finite",
            "the loss",
            41,
        )
    ],
    "loss_spike": [Sick(_change(loss__value={"loss": _spike(_LOSS, 30, 20)}), "spike", "the loss", 30)],
    "loss_diverging": [Sick(_change(loss__value={"loss": _from(30, _LOSS, 2.0)}), "diverging", "the loss", 30)],
    "loss_plateau": [Sick(_change(loss__value={"loss": _from(12, falling(3.0), 1.0)}), "plateau", "the loss", 12)],
    "loss_not_learning": [Sick(_change(loss__value={"loss": wobble(1.0, 0.01)}), "not_learning", "the loss", 1)],
    "loss_without_floor": [
        Sick(_change(loss__value={"loss": [1.0 - 0.2 * step for step in range(STEPS)]}), "diverging", "the loss", 6)
    ],
    "updates_huge": [
        Sick(_change(update__ratio={"SGD": _from(3, [1.4] * 3, wobble(3e-3))}), "diverging", "the updates", 0),
        Sick(_change(update__ratio={"SGD": _spike(wobble(3e-3), 40, 90)}), "spike", "the updates", 40),
    ],
    "updates_tiny": [Sick(_change(update__ratio={"SGD": wobble(3e-6)}), "not_learning", "the updates", 0)],
    "steps_overshoot": [
        Sick(
            _change(
                update__dot_gradient={"SGD": [-2.0] * STEPS}, loss__value={"loss": [1 + 0.1 * s for s in range(STEPS)]}
            ),
            "diverging",
            "the updates",
            0,
        ),
        Sick(_change(gradient__cosine={"SGD": wobble(-0.7)}), "diverging", "the updates", 0),
    ],
    "learning_rate_change": [
        Sick(_change(optimizer__learning_rate={"SGD": {0: 0.1, 30: 1.0}}), "spike", "the learning rate", 30),
        Sick(_change(optimizer__learning_rate={"SGD": {0: 0.1, 20: 1e-5}}), "plateau", "the learning rate", 5),
    ],
    "optimizer_settings": [
        Sick(_settings(momentum=0.99), "faulty", "the optimizer", 0),
        Sick(_settings(betas=[0.9, 0.5], eps=1e-8, **{"class": "Adam"}), "faulty", "the optimizer", 0),
        Sick(_settings(weight_decay=1.0), "faulty", "the optimizer", 0),
    ],
    "weights_drift": [
        Sick(
            _change(
                parameter__weight_norm={n: [2 * 0.95**s for s in range(STEPS)] for n in ("fc1.weight", "out.weight")}
            ),
            "not_learning",
            "the weights",
            14,
        )
    ],
    "validation_loss": [
        Sick(
            _change(evaluation__loss={"mse": {s: 0.5 + 0.001 * (s - 20) ** 2 for s in range(0, STEPS, 5)}}),
            "diverging",
            "the validation loss",
            20,
        )
    ],
    "input_non_finite": [
        Sick(
            lambda: run_with(
                facts=(("nonfinite.input", 17, {"count": 2, "nan": 2, "rows": [4], "features": [1]}, ("input", "[0]")),)
            ),
            "nan",
            "the input [0]",
            17,
        ),
        Sick(_change(input__nonfinite={"[0]": _spike([1.0] * STEPS, 0, 3)}), "nan", "the input [0]", 0),
    ],
    "target_invalid": [
        Sick(_change(target__nonfinite={"loss": _from(22, [0.0] * STEPS, 4.0)}), "nan", "the targets", 22),
        Sick(_change(target__out_of_range={"loss": [0.1] * STEPS}), "outlier", "the targets", 0),
    ],
    "input_scale": [
        Sick(
            _change(input__std={"[0]": wobble(70)}, input__absmax={"[0]": wobble(255)}), "unscaled", "the input [0]", 0
        ),
        Sick(
            _change(input__feature_std_ratio={"[0]": wobble(5e4)}, input__feature_std_max={"[0]": wobble(900)}),
            "unscaled",
            "the input [0]",
            0,
        ),
    ],
    "target_scale": [
        Sick(
            _change(target__mean={"loss": wobble(-2700)}, target__std={"loss": wobble(40)}),
            "unscaled",
            "the targets",
            0,
        )
    ],
    "batch_outlier": [
        Sick(_change(input__absmax={"[0]": _spike(wobble(3.1), 33, 50)}), "outlier", "the input [0]", 33),
        Sick(_change(target__max={"loss": _spike(wobble(2.4), 33, 50)}), "outlier", "the targets", 33),
    ],
    "input_level_shift": [
        Sick(_change(input__mean={"[0]": _from(30, wobble(0.02, 1.0), wobble(4.0))}), "shifted", "the input [0]", 30),
        Sick(
            lambda: run_with(
                {
                    "input.std": {"evaluation/[0]": {10: 9.0, 20: 9.0}},
                    "input.mean": {"evaluation/[0]": {10: 30.0, 20: 30.0}},
                }
            ),
            "shifted",
            "the input [0]",
            10,
        ),
    ],
    "input_constant": [
        Sick(_change(input__batch_spread={"[0]": [0.0] * STEPS}), "constant", "the input [0]", 0),
    ],
    "batches_unordered": [
        Sick(
            lambda: run_with(
                {
                    "target.entropy": {"loss": [0.0] * STEPS},
                    "target.top_class": {"loss": [float(step > 30) for step in range(STEPS)]},
                },
                term={"kind": "cross_entropy"},
                facts=(("target.histogram", 59, _ORDERED, ("loss", "loss")),),
            ),
            "unordered",
            "the targets",
            0,
        ),
        Sick(
            _change(target__mean={"loss": [step / 5 for step in range(STEPS)]}, target__std={"loss": wobble(0.1)}),
            "unordered",
            "the targets",
            0,
        ),
    ],
    "classes_imbalanced": [
        Sick(
            lambda: run_with(
                {"prediction.top_share": {"loss": [1.0] * STEPS}},
                term={"kind": "cross_entropy"},
                facts=(("target.histogram", 59, _HISTOGRAM, ("loss", "loss")),),
            ),
            "imbalanced",
            "the targets",
            0,
        )
    ],
    "loss_graph": [
        Sick(
            _term(
                kind="cross_entropy",
                operation="NllLoss",
                chain=["LogSoftmax", "Softmax"],
                chain_modules=[None, "fc2"],
                class_count=6,
            ),
            "faulty",
            "fc2",
            0,
        ),
        Sick(_term(chain=["Sigmoid"], chain_modules=[None]), "faulty", "out", 0),
        Sick(_term(kind="cross_entropy", chain=["LogSoftmax"], class_count=1), "faulty", "the loss", 0),
    ],
    "loss_shapes": [
        Sick(_term(broadcasts=True, prediction_shape=[32, 1], residual_shape=[32, 32]), "faulty", "the loss", 0)
    ],
    "loss_sign_and_size": [
        Sick(_term(sign=-1), "faulty", "the loss", 0),
        Sick(_term(reduction="sum"), "faulty", "the loss", 0),
        Sick(lambda: run_with(counts={"backwards": 480}), "faulty", "the loss", 0),
    ],
    "gradients_uncleared": [
        Sick(_change(gradient__left_norm={"SGD": [None, *([0.4] * (STEPS - 1))]}), "faulty", "the optimizer", 1)
    ],
    "steps_missing": [Sick(lambda: run_with(counts={"optimizer_steps": 0}), "faulty", "the optimizer", 0)],
    "parameters_outside": [
        Sick(_membership(head__weight=[1, 0, 1]), "faulty", "head.weight", 0),
        Sick(
            lambda: run_with(facts=(("model.unregistered", 0, {"module": "blocks.0", "parameters": 12}),)),
            "faulty",
            "blocks",
            0,
        ),
    ],
    "parameters_frozen": [
        Sick(
            lambda: run_with(membership={"parameters": {**MEMBERSHIP["parameters"], "out.weight": [0, 1, 0]}}),
            "faulty",
            "out",
            0,
        )
    ],
    "graph_cut": [
        Sick(_membership(head__weight=[1, 1, 0]), "faulty", "head", 0),
        Sick(
            lambda: run_with(
                {
                    "module.output_requires_grad": {"fc1": [0.0] * STEPS},
                    "parameter.has_gradient": {"fc1.weight": [0.0] * STEPS},
                },
                membership={"parameters": {"fc1.weight": [1, 1, 0], "out.weight": [1, 1, 1]}},
            ),
            "faulty",
            "fc1",
            0,
        ),
    ],
    "training_mode": [
        Sick(
            lambda: run_with({"module.training": {"norm": [0.0] * STEPS}}, places={"norm": {"has_mode": True}}),
            "faulty",
            "norm",
            0,
        ),
        Sick(
            lambda: run_with(
                {"module.training": {"norm": [1.0] * STEPS}, "evaluation.training": {"norm": {10: 1.0, 20: 1.0}}},
                places={"norm": {"has_mode": True}},
            ),
            "faulty",
            "norm",
            10,
        ),
    ],
    "batch_statistics": [
        Sick(
            _change(
                module__normalized_batch={"norm": [1.0] * STEPS}, module__normalized_samples={"norm": [4.0] * STEPS}
            ),
            "faulty",
            "norm",
            0,
        )
    ],
    "dropout_rate": [
        Sick(
            lambda: run_with(
                {"module.training": {"drop": [1.0] * STEPS}}, places={"drop": {"kind": "dropout", "probability": 0.9}}
            ),
            "faulty",
            "drop",
            0,
        )
    ],
    "initial_weights": [
        Sick(_change(parameter__initial_scale={"fc1.weight": [14.0]}), "faulty", "fc1.weight", 0),
        Sick(_change(parameter__row_spread={"fc1.weight": [0.0, 0.0, 0.0]}), "faulty", "fc1.weight", 0),
        Sick(_change(parameter__initial_mean={"fc1.bias": [-2.2]}), "faulty", "fc1.bias", 0),
        Sick(_change(module__output_std={"fc1": wobble(30.0)}), "faulty", "fc1", 0),
    ],
    "linear_stack": [Sick(lambda: run_with(flow="fc1 -> out -> <loss>"), "faulty", "fc1", 0)],
    "ranks_apart": [
        Sick(lambda: run_with(facts=(("ranks.diverged", 8, {"parameter": "fc1.weight"}),)), "faulty", "fc1.weight", 8)
    ],
    "float16_overflow": [
        Sick(
            _change(
                module__half_precision={"fc2": [16.0] * STEPS},
                module__output_absmax={"fc2": _from(12, wobble(3.0), INF)},
            ),
            "overflow",
            "fc2",
            12,
        )
    ],
    "rounding_to_zero": [
        Sick(_change(parameter__unchanged_share={"fc1.weight": wobble(0.9, 0.05)}), "underflow", "the updates", 0)
    ],
    "clipped_before_unscaling": [
        Sick(
            _change(
                scaler__norm_in_step={"scaler": [1.0] * STEPS},
                scaler__scale_in_step={"scaler": [65536.0] * STEPS},
            ),
            "clipped_scaled",
            "the gradient",
            0,
        )
    ],
}
