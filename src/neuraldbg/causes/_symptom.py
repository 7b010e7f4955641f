"""What the user sees go wrong, in one sentence with its numbers."""

from __future__ import annotations

from collections.abc import Mapping

from neuraldbg.measures.run import Run
from neuraldbg.records import Finding, Symptom

#: Finding → kind of symptom, in the order in which they are looked at.
_KINDS = (
    ("loss_non_finite", "loss_non_finite"),
    ("loss_left_its_best", "loss_spike"),
    ("loss_ends_above_start", "loss_diverged"),
    ("loss_never_moved", "loss_plateau"),
    ("loss_at_constant_predictor", "loss_plateau"),
    ("loss_above_constant_predictor", "loss_plateau"),
    ("validation_rises_while_training_falls", "overfit"),
    ("validation_worse_from_the_start", "overfit"),
    ("loss_fell_then_stopped_early", "slow"),
    ("loss_still_falling_slowly", "slow"),
)


def name_symptom(run: Run, answers: Mapping[str, Finding]) -> Symptom:
    """The first symptom that the findings show; "silent" when the fault shows in no curve."""
    for finding, kind in _KINDS:
        answer = answers.get(finding)
        if answer is not None and answer.present:
            sentence = answer.sentence[0].upper() + answer.sentence[1:] + "."
            return Symptom(kind, sentence, answer.step or 0, answer.numbers)
    ended = run.trace.facts("run.exception")
    refused = answers.get("target_out_of_range")
    if ended and refused is not None and refused.present:
        message = str(ended[0].data["message"]).partition("\n")[0][:120].rstrip(".")
        return Symptom(
            "silent", f"The run ended in step {ended[0].step} with {ended[0].data['type']}: {message}.", ended[0].step
        )
    curve = run.loss
    if curve is None or not curve.count:
        return Symptom("silent", "No loss was seen.", 0)
    if curve.end > 0.5 * abs(curve.first):
        sentence = f"The model learns too little: after {curve.count} steps the loss went from {curve.first:.3g} to {curve.end:.3g}."
        return Symptom("slow", sentence, 0, {"first": curve.first, "end": curve.end})
    sentence = f"The loss fell from {curve.first:.3g} to {curve.end:.3g}, and a part of the training does not work."
    return Symptom("silent", sentence, 0, {"first": curve.first, "end": curve.end})
