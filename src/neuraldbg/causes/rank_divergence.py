"""Replicas that should be equal differ.

## Mechanism
Replicas that should be equal are not: a parameter, a buffer or a gradient differs between ranks.

## What you would see
Parameter or buffer checksums differ between ranks.

## What rules it out
One all-gather of checksums every k steps.

## How it is verified
Train again and synchronize at that point; the failure goes away.

## Remedy
Synchronize at that point: the same seed, the same data order, DistributedDataParallel around the module, buffers
broadcast.
"""

from collections.abc import Mapping

TITLE = "Replicas that should be equal differ"
REMEDY = "Synchronize at that point: the same seed, the same data order, DistributedDataParallel around the module, buffers broadcast."
#: The intervention that removes it, a file of verify/interventions; None where nothing from outside can.
INTERVENTION: str | None = None
FAILURE_TYPES: tuple[str, ...] = ()
#: How often it is met, against 1 for an ordinary cause.
PRIOR = 1.0
#: At least one of these must be present for the cause to be considered.
REQUIRES: tuple[str, ...] = ("replicas_differ",)
#: Finding → how often it is present when this is the cause. A low number speaks against.
EVIDENCE: Mapping[str, float] = {
    "replicas_differ": 0.98,
}
#: Findings that say where it sits and when it starts; the first one present decides.
LOCATED_BY: tuple[str, ...] = ("replicas_differ",)
