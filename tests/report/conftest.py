"""Diagnoses written by hand, one per form of a verdict."""

from __future__ import annotations

import math

import pytest

from neuraldbg.records import (
    CausalHypothesis,
    CausalLink,
    Diagnosis,
    Finding,
    SemanticEvent,
    Symptom,
    Verdict,
    Verification,
)


def hypothesis(cause: str, confidence: float, **rest: object) -> CausalHypothesis:
    values: dict[str, object] = {"failure": "the loss fails", "layer": None, "parameter": None, "step_range": (0, 9)}
    return CausalHypothesis(cause=cause, confidence=confidence, **{**values, **rest})  # type: ignore[arg-type]


def _log_of_zero() -> Diagnosis:
    events = (
        SemanticEvent(
            "activation_regime_shift",
            "head",
            None,
            "normal",
            "exploding",
            (300, 417),
            0.8,
            {"detector": "activation_growth", "sentence": "the logits of 'head' grow ×14", "factor": 14.0},
        ),
        SemanticEvent(
            "optimizer_instability",
            None,
            None,
            "stable",
            "non_finite",
            (418, 611),
            1.0,
            {"subject": "loss", "last": math.nan},
        ),
        SemanticEvent("gradient_health_transition", "head", None, "healthy", "non_finite", (419, 611), 1.0),
    )
    finding = Finding(
        "logarithm_of_zero",
        True,
        "At step 418 p is exactly 0 in 3 of 64 rows, and 0 · log 0 is NaN.",
        {"rows": 3, "batch": 64, "smallest": 0.0},
        step=418,
        source="train.py:57",
    )
    against = Finding("input_not_finite", False, "The inputs of that batch are finite.", {"share": 0.0})
    unknown = Finding("scaler_backed_off", None, "No loss scaler was used.")
    root = hypothesis(
        "loss_domain",
        0.94,
        title="A logarithm of zero inside the loss",
        failure="the loss is NaN",
        step_range=(418, 611),
        evidence=events[:2],
        explanation="At step 418 p is exactly 0 in 3 of 64 rows, and 0 · log 0 is NaN. The inputs of that batch, the "
        "weights and every activation before it are finite.",
        causal_chain=(
            "logits of 'head' grow ×14 from step 300",
            "→ softmax gives exact zeros, step 417",
            "→ log(0) in the loss, step 418 (first non-finite value of the run)",
            "→ NaN in all 12 gradients → all weights, step 419",
        ),
        remedy="Feed the logits to F.cross_entropy, or clamp p at 1e-12 before the log.",
        supporting=(finding,),
        contradicting=(against,),
        source="train.py:57   loss = -(y * p.log()).sum(1).mean()",
        failure_types=("exploding_gradients",),
    )
    rival = hypothesis("learning_rate_too_high", 0.04, title="The learning rate is too high")
    return Diagnosis(
        outcome="failed",
        summary="The loss became NaN at step 418: a logarithm of zero inside the loss.",
        steps=612,
        symptom=Symptom("loss_non_finite", "The loss became NaN at step 418.", 418, {"loss": math.nan}),
        hypotheses=(root, rival),
        candidates=(root, rival),
        events=events,
        links=(CausalLink(0, 1, "forward", 118, 0.9), CausalLink(1, 2, "backward", 1, 1.0)),
        findings=(finding, against, unknown),
        ruled_out=("nan_in_input: all 612 batches were finite", "half_precision_overflow ruled out (float32)"),
        meta={"script": "/home/someone/project/train.py", "torch": "2.13.0", "infinite": math.inf},
    )


def _twice_softmax() -> Diagnosis:
    root = hypothesis(
        "redundant_softmax",
        0.99,
        title="Softmax is applied twice",
        layer="head",
        explanation="CrossEntropyLoss applies log_softmax to outputs that already lie in 0..1 and sum to 1; with 6 "
        "classes it cannot go below log(1 + 5/e) = 1.04.",
        remedy="Return the logits: remove the softmax on line 31; apply it only for probabilities at inference.",
        source="model.py:31   return F.softmax(x, dim=1)",
    )
    return Diagnosis(
        outcome="failed",
        summary="Learning stops at 1.05.",
        steps=900,
        symptom=Symptom("loss_plateau", "Learning stops at 1.05; perfect predictions would still give 1.04.", 300),
        hypotheses=(root,),
        candidates=(root,),
        harmless=("71 % zeros in 'relu3' (no unit dead)",),
        notes=("The detector 'dead_units' failed at step 4 (ZeroDivisionError: division by zero); the rest went on.",),
    )


def _two_faults() -> Diagnosis:
    first = hypothesis(
        "parameters_not_in_optimizer",
        0.97,
        title="Parameters receive gradients and no optimizer holds them",
        parameter="encoder.layers.0.self_attention.in_proj_weight",
        explanation="12 of 40 parameters have a gradient at every step and never move.",
        remedy="Build the optimizer after the encoder is replaced.",
        step_range=(0, 499),
    )
    second = hypothesis(
        "eval_mode_in_training",
        0.91,
        title="Modules are in eval mode while they are trained",
        layer="",
        explanation="7 dropout and batch norm modules ran in eval mode in 500 of 500 training steps.",
        remedy="Call model.train() before the loop.",
        step_range=(0, 499),
    )
    return Diagnosis(
        outcome="failed",
        summary="Two faults show in no curve.",
        steps=500,
        symptom=Symptom("silent", "12 of 40 parameters never change.", 0),
        hypotheses=(first, second),
        candidates=(first, second),
    )


def _undecided() -> Diagnosis:
    rivals = (
        hypothesis(
            "uninformative_labels",
            0.46,
            explanation="gradients are healthy and agree between batches no more than noise does",
        ),
        hypothesis("learning_rate_too_low", 0.41, explanation="updates are 3e-6 of the weights"),
    )
    return Diagnosis(
        outcome="uncertain",
        summary="The loss stays at 0.69; two causes explain it equally well.",
        steps=400,
        symptom=Symptom("loss_plateau", "The loss stays at 0.69 from the first step.", 0),
        hypotheses=rivals,
        candidates=rivals,
        decides="Train once with ten times the learning rate: labels that are noise stay at 0.69.",
        meta={"script": "train.py"},
    )


def _close() -> Diagnosis:
    """Two causes near each other: the second has something against it; a third was tested and refuted."""
    small = Finding("updates_small", True, "a step moves the weights by 2e-6 of their size; healthy is 1e-4 to 1e-2")
    apart = Finding(
        "gradients_disagree", False, "gradients of two halves of a batch agree to 0.91: the data says something"
    )
    first = hypothesis("learning_rate_too_low", 0.55, title="The learning rate is too low", supporting=(small,))
    second = hypothesis("uninformative_labels", 0.41, title="The labels say nothing", contradicting=(apart,))
    third = hypothesis("vanishing_by_depth", 0.3, title="The depth")
    fourth = hypothesis("dead_input", 0.29, title="A dead input", supporting=(small,))
    fifth = hypothesis("distant_cause", 0.05, title="Something else")
    tested = Verification(
        (
            Verdict(
                first.cause, "the model", "raise_learning_rate", "confirmed", "without it the failure is gone", 0.55,
                0.97, (3, 3), (0, 3), 0.82, (0.7, 0.94), 10.0, ("the learning rate 1e-5 -> 1e-4",), (),
                ("- lr=1e-5", "+ lr=1e-4"),
            ),
            Verdict(third.cause, "", "add_residuals", "refuted", "nothing changed", 0.3, 0.02, (3, 3), (3, 3), -1.7,
                    (-math.inf, math.inf)),
            Verdict("batch_norm_statistics", "", None, "inconclusive", "nothing can remove it from outside", 0.1, 0.1,
                    instead="log the statistics"),
        ),
        (3, 3), 300, 3, 12,
    )  # fmt: skip
    return Diagnosis(
        outcome="failed",
        summary="The loss stays at 0.69.",
        steps=400,
        symptom=Symptom("loss_plateau", "The loss stays at 0.69 from the first step.", 0),
        hypotheses=(first, second, third, fourth, fifth),
        candidates=(first, second, third, fourth, fifth),
        decides="One run decides: neuraldbg verify --only raise_learning_rate",
        meta={"script": "train.py"},
        verifications=(tested,),
    )


def _healthy() -> Diagnosis:
    return Diagnosis(
        outcome="healthy",
        summary="Nothing failed in 2,000 steps: the loss fell from 2.30 to 0.11 and was still falling.",
        steps=2000,
        harmless=("71 % zeros in 'relu3' (no unit dead)", "4 steps skipped by the loss scaler at the start."),
        meta={"script": "train.py"},
    )


def _unseen() -> Diagnosis:
    return Diagnosis(outcome="unseen", summary="Nothing could be judged: no step was seen.", steps=0)


DIAGNOSES = {
    "log_of_zero": _log_of_zero(),
    "twice_softmax": _twice_softmax(),
    "two_faults": _two_faults(),
    "undecided": _undecided(),
    "close": _close(),
    "healthy": _healthy(),
    "unseen": _unseen(),
}


@pytest.fixture(params=sorted(DIAGNOSES))
def named(request: pytest.FixtureRequest) -> tuple[str, Diagnosis]:
    """Each diagnosis with its name."""
    return request.param, DIAGNOSES[request.param]


@pytest.fixture(scope="session")
def diagnoses() -> dict[str, Diagnosis]:
    """All diagnoses by name."""
    return dict(DIAGNOSES)
