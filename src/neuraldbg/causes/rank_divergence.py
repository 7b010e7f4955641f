"""Replicas that should be equal differ.

## Mechanism
In data-parallel training every process holds a copy of the model, and the copies stay equal because they start equal
and apply the same averaged gradient. A copy that starts from another seed, a buffer that is not broadcast, or a
parameter that is kept out of the average makes them drift apart; each process then trains a model of its own on a
gradient that fits none.

## What you would see
The checksum of a parameter or buffer differs between ranks. It is exchanged every k steps when that was asked for,
and so the first differing step is known to k.

## What rules it out
All checksums were equal at every exchange. Statistics of batch norms that are not synchronized differ by design and
are left out.

## How it is verified
Train again with that parameter broadcast from rank 0: the checksums stay equal.

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
#: High, for what speaks for it is an exact comparison that no healthy run fails.
PRIOR = 60.0
#: At least one of these must be present for the cause to be considered.
REQUIRES: tuple[str, ...] = ("replicas_differ",)
#: Finding → how often it is present when this is the cause. A low number speaks against.
EVIDENCE: Mapping[str, float] = {
    "replicas_differ": 0.98,
    # Each replica may learn well: what is lost shows in none of their curves.
    "run_learned_well": 0.6,
    "loss_beats_constant_clearly": 0.8,
    "loss_fell_by_half": 0.85,
    "loss_fell_to_little": 0.6,
    "run_did_not_learn": 0.1,
}
#: Findings that say where it sits and when it starts; the first one present decides.
LOCATED_BY: tuple[str, ...] = ("replicas_differ",)
