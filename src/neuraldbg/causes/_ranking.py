"""From answers to ranked hypotheses: which causes come into question, how probable each is, where and when it sits."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from functools import cache
from importlib import resources
from types import ModuleType
from typing import Any

from neuraldbg.causes._findings import questions
from neuraldbg.causes._model import NOTHING, UNKNOWN, Parameters, Posterior, counts, infer, parameters
from neuraldbg.records import CausalHypothesis, Finding, SemanticEvent, Symptom
from neuraldbg.registry import find_rules

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

#: Probability from which a failure is reported at all.
FAILED = 0.5
#: Hypotheses below this probability are not shown among the explanations, the first three apart.
SHOWN = 0.04
#: Probability from which two causes are both taken for at work, and their order says which to mend first.
_CERTAIN = 0.9
#: Below this probability a candidate is no explanation at all.
_NEGLIGIBLE = 0.001


@cache
def rules() -> Mapping[str, ModuleType]:
    """Every cause by name."""
    return find_rules(
        "neuraldbg.causes",
        {
            "TITLE": str,
            "REMEDY": str,
            "PRIOR": (int, float),
            "REQUIRES": tuple,
            "EVIDENCE": Mapping,
            "LOCATED_BY": tuple,
            "FAILURE_TYPES": tuple,
        },
    )


@cache
def vocabulary() -> Mapping[str, Mapping[str, str]]:
    """group, says, locus and do of every cause."""
    text = resources.files("neuraldbg.causes").joinpath("vocabulary.toml").read_text(encoding="utf-8")
    content: dict[str, dict[str, str]] = tomllib.loads(text)
    return content


@cache
def fitted_parameters() -> Parameters:
    return parameters(rules(), list(questions()), counts())


def candidates(answers: Mapping[str, Finding]) -> list[str]:
    """Causes of which at least one defining finding is present."""
    return [name for name, rule in rules().items() if any(_is(answers, finding) for finding in rule.REQUIRES)]


def _is(answers: Mapping[str, Finding], name: str) -> bool:
    answer = answers.get(name)
    return answer is not None and answer.present is True


def rank(answers: Mapping[str, Finding], numbers: Parameters | None = None) -> Posterior:
    """The posterior of every candidate, of nothing, and of something that has no name here."""
    return infer(numbers or fitted_parameters(), answers, candidates(answers))


def failed(posterior: Posterior) -> bool:
    return posterior.marginals[NOTHING] < FAILED


def shown(candidates: Sequence[CausalHypothesis], most: int) -> list[CausalHypothesis]:
    """Those worth a word among candidates in order: what is probable, and the runners-up up to the third."""
    return [
        one
        for rank, one in enumerate(candidates[:most])
        if one.confidence >= SHOWN or (rank < 3 and one.confidence >= _NEGLIGIBLE)
    ]


def hypotheses(
    answers: Mapping[str, Finding],
    posterior: Posterior,
    symptom: Symptom,
    events: Sequence[SemanticEvent],
    last_step: int,
) -> list[CausalHypothesis]:
    """Every candidate as a hypothesis, the most probable first."""
    order = sorted(
        (name for name in posterior.marginals if name not in (NOTHING, UNKNOWN)),
        key=lambda name: (not _comes_first(name, posterior.marginals[name], answers), -posterior.marginals[name]),
    )
    return [_hypothesis(name, answers, posterior, symptom, events, last_step) for name in order]


def _comes_first(name: str, probability: float, answers: Mapping[str, Finding]) -> bool:
    """Whether a cause goes before others that are as good as certain: what is wrong whatever the numbers do.

    ``DEFINITE`` in a cause's file is True, or names the findings that make it so; those need no certainty beside.
    """
    definite = getattr(rules()[name], "DEFINITE", False)
    if isinstance(definite, tuple):
        return probability >= FAILED and any(_is(answers, finding) for finding in definite)
    return bool(definite) and probability >= _CERTAIN


def _hypothesis(
    name: str,
    answers: Mapping[str, Finding],
    posterior: Posterior,
    symptom: Symptom,
    events: Sequence[SemanticEvent],
    last_step: int,
) -> CausalHypothesis:
    rule = rules()[name]
    weights = posterior.weights[name]
    declared: Mapping[str, float] = rule.EVIDENCE
    supporting = [answers[f] for f in declared if _is(answers, f) and weights.get(f, 0) > 0.05]
    supporting.sort(key=lambda finding: (finding.name not in rule.REQUIRES, -weights[finding.name]))
    contradicting = [
        answers[f]
        for f in weights
        if answers[f].present is not None and weights[f] < -0.3 and (f in declared or _is(answers, f))
    ]
    contradicting.sort(key=lambda finding: weights[finding.name])
    place = next((answers[f] for f in (*rule.LOCATED_BY, *rule.REQUIRES) if _is(answers, f)), None)
    locus = vocabulary()[name]["locus"]
    layer = parameter = source = None
    step = symptom.step
    if place is not None:
        source = place.source
        begins = next((answers[f] for f in getattr(rule, "STARTS_WITH", ()) if _is(answers, f)), place)
        step = begins.step if begins.step is not None else symptom.step
        layer, parameter = place.layer, place.parameter if locus == "parameter" else None
    names = {finding.name for finding in supporting}
    evidence = tuple(event for event in events if names & set(event.metadata.get("findings", ())))
    return CausalHypothesis(
        cause=name,
        failure=symptom.sentence,
        layer=layer,
        parameter=parameter,
        step_range=(step, max(step, last_step)),
        confidence=round(min(0.99, posterior.marginals[name]), 4),
        evidence=evidence,
        remedy=rule.REMEDY,
        title=rule.TITLE,
        explanation=_sentences(supporting[:3]),
        supporting=tuple(supporting),
        contradicting=tuple(contradicting[:5]),
        source=source,
        failure_types=tuple(rule.FAILURE_TYPES),
    )


def _sentences(findings: Sequence[Finding]) -> str:
    parts: list[str] = []
    for finding in findings:
        if finding.sentence and finding.sentence not in parts:
            parts.append(finding.sentence)
    return ". ".join(part[0].upper() + part[1:] for part in parts)


def ruled_out(answers: Mapping[str, Finding], posterior: Posterior) -> list[str]:
    """Causes that the symptom suggests and the measurements exclude, one line each with the reason."""
    lines = []
    excluded: tuple[tuple[str, str, str], ...] = (
        ("nan_in_input", "input_non_finite", "every input was finite"),
        ("half_precision_overflow", "float16_in_use", "nothing computes in float16"),
        ("missing_zero_grad", "gradients_not_cleared", "gradients are cleared before each backward"),
        (
            "parameters_not_in_optimizer",
            "parameters_left_out_of_optimizer",
            "every trained parameter is in the optimizer",
        ),
        ("detached_graph", "graph_is_cut", "every parameter gets a gradient"),
        ("eval_mode_in_training", "modules_in_eval_mode", "all modules run in train mode"),
        ("redundant_softmax", "softmax_before_loss", "the loss reads logits"),
        ("loss_shape_mismatch", "shapes_broadcast_in_loss", "prediction and target have one shape"),
        ("unnormalized_input", "inputs_out_of_scale", "the inputs are of ordinary scale"),
    )
    for cause, finding, reason in excluded:
        answer = answers.get(finding)
        if answer is not None and answer.present is False and cause not in posterior.marginals:
            lines.append(f"{cause} ruled out ({reason})")
    return lines


def decides(order: Sequence[CausalHypothesis]) -> str:
    """When two causes are equally good: the intervention that tells them apart."""
    for hypothesis in order[:2]:
        intervention: Any = rules()[hypothesis.cause].INTERVENTION
        if intervention:
            return f"One run decides: neuraldbg verify --only {intervention}"
    return "A longer run, or one with every step observed (preset='every_step'), would decide."
