"""Gradients are clipped while they carry the loss scale.

## Mechanism
Gradients are clipped before GradScaler unscales them.

## What you would see
Gradient norms before the clip carry the scaler's factor, after it every norm sits at the clip value divided by the
scale: updates are nearly nil.

## What rules it out
Norm at the step × scale ≈ clip value.

## How it is verified
Train again and unscale, then clip; the failure goes away.

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
    "scaled_gradients_clipped": 0.97,
    "updates_tiny": 0.8,
    "predicted_decrease_is_tiny": 0.8,
}
#: Findings that say where it sits and when it starts; the first one present decides.
LOCATED_BY: tuple[str, ...] = ("scaled_gradients_clipped",)
