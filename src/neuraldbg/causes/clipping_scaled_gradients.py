"""Gradients are clipped while they carry the loss scale.

## Mechanism
GradScaler multiplies the loss by a large factor (65536 at first) so that float16 gradients do not vanish, and divides
the gradients by it in scaler.step. Clipping before that division compares scaled gradients with a limit that was
meant for real ones: everything is clipped, and after the division an update of nearly nothing is left.

## What you would see
Gradient norms that equal the clip value exactly, step after step, while the scaler's factor is still in them; updates
smaller than the learning rate suggests by the same factor; a loss that barely moves.

## What rules it out
scaler.unscale_(optimizer) is called before the clip, no scaler is in use, or the scaler's factor is one. Norms that
lie below the clip value at some steps were not all clipped.

## How it is verified
Train again with unscale_ before the clip, all else equal: updates grow by the scaler's factor and the loss falls.

## Remedy
Call scaler.unscale_(optimizer) before clipping.
"""

from collections.abc import Mapping

TITLE = "Gradients are clipped while they carry the loss scale"
REMEDY = "Call scaler.unscale_(optimizer) before clipping."
#: The intervention that removes it, a file of verify/interventions; None where nothing from outside can.
INTERVENTION: str | None = "unscale_before_clip"
FAILURE_TYPES: tuple[str, ...] = ("vanishing_gradients", "optimizer_instability")
#: How often it is met, against 1 for an ordinary cause.
PRIOR = 1.0
#: At least one of these must be present for the cause to be considered.
REQUIRES: tuple[str, ...] = ("scaled_gradients_clipped",)
#: Finding → how often it is present when this is the cause. A low number speaks against.
EVIDENCE: Mapping[str, float] = {
    "run_learned_well": 0.02,
    "scaled_gradients_clipped": 0.97,
    "updates_tiny": 0.8,
    "predicted_decrease_is_tiny": 0.8,
}
#: Findings that say where it sits and when it starts; the first one present decides.
LOCATED_BY: tuple[str, ...] = ("scaled_gradients_clipped",)
#: A fault of the program whatever the numbers do: named before a setting that is judged by them.
DEFINITE = True
