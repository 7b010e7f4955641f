"""Training and eval mode of the modules in training."""

from __future__ import annotations

import numpy as np

from neuraldbg.causes._findings._answer import absent, present, unmeasured, when
from neuraldbg.measures.run import Run, owner_of
from neuraldbg.measures.wiring import modes
from neuraldbg.records import Finding


def modules_in_eval_mode(run: Run) -> Finding:
    """Modules with a training mode run in eval mode in forwards that get a backward."""
    series = run.series("module.training")
    if not series:
        return unmeasured()
    switched = [(place, share, first) for place, share, first in modes(run) if place.details.get("has_mode")]
    off = [(first, place.name) for place, share, first in switched if share < 0.5 and first is not None]
    total = len(switched)
    if not off:
        return absent()
    first, name = min(off)
    return present(
        f"{len(off)} of {total} modules with a training mode run in eval mode while parameters are trained ('{name}')",
        step=first,
        layer=name,
        share=len(off) / total,
    )


def whole_model_in_eval_mode(run: Run) -> Finding:
    """Every module with a training mode, dropout among them or the root flag itself, is in eval mode."""
    series = run.series("module.training")
    found = modules_in_eval_mode(run)
    if not series or found.present is None:
        return unmeasured()
    if not found.present or found.numbers.get("share", 0) < 1:
        return absent()
    roots = [i for i, p in enumerate(series.places) if not p.details.get("has_mode")]
    off = [i for i in roots if np.nanmean(series.values[series.values.shape[0] // 3 :, i]) < 0.5]
    return when(bool(off) or not roots, "the model itself is in eval mode", layer=found.layer, step=found.step)


def eval_mode_only_in_norms_of_a_frozen_part(run: Run) -> Finding:
    """Only batch norms are in eval mode, and their own parameters do not train: frozen on purpose."""
    series = run.series("module.training")
    if not series:
        return unmeasured()
    rows = run.membership
    off = []
    for index, place in enumerate(series.places):
        if place.details.get("has_mode") and np.nanmean(series.values[:, index]) < 0.5:
            off.append(place)
    if not off:
        return absent()
    if not all(place.details.get("batch_norm") or place.details.get("kind") in ("dropout", "norm") for place in off):
        return absent()
    frozen = all(not row[0] for n, row in rows.items() if owner_of(n) in {p.name for p in off})
    root_trains = any(
        not p.details.get("has_mode") and np.nanmean(series.values[:, i]) > 0.5 for i, p in enumerate(series.places)
    )
    return when(
        root_trains or (frozen and all(p.details.get("batch_norm") for p in off)),
        "only frozen batch norms are in eval mode",
    )
