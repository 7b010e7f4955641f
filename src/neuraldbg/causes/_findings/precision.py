"""Sixteen-bit numbers and the loss scaler."""

from __future__ import annotations

import numpy as np

from neuraldbg.causes._findings._answer import absent, present, when
from neuraldbg.measures.run import Run
from neuraldbg.records import Finding


def _half_modules(run: Run) -> dict[str, float]:
    """Module → 16 for float16 outputs, 8 for bfloat16."""
    series = run.series("module.half_precision")
    return {name: float(np.nanmax(series.values[:, i])) for i, name in enumerate(series.names)}


def _born_in_half(run: Run) -> bool:
    """Whether the operation that gave the first value that is not finite computed in float16."""
    facts = run.trace.facts("nonfinite.loss")
    data = facts[0].data if facts and not facts[0].data.get("bad_parameters") else {}
    return any((data.get(key) or {}).get("dtype") == "float16" for key in ("producer", "second_forward"))


def float16_in_use(run: Run) -> Finding:
    """Modules compute in float16, or parameters are float16."""
    half = any(value == 16.0 for value in _half_modules(run).values())
    half = half or any(p.kind == "parameter" and p.details.get("dtype") == "float16" for p in run.trace.places)
    half = half or _born_in_half(run)
    return when(half, "modules compute in float16 (largest finite number 65504)")


def weights_in_16_bit(run: Run) -> Finding:
    """Parameters themselves are float16 or bfloat16."""
    found = [
        p.name for p in run.trace.places if p.kind == "parameter" and p.details.get("dtype") in ("float16", "bfloat16")
    ]
    return when(bool(found), f"{len(found)} parameters are kept in 16 bit")


def first_non_finite_in_float16(run: Run) -> Finding:
    """The first non-finite output of the run is that of a module computing in float16, from finite inputs."""
    half = _half_modules(run)
    facts = run.trace.facts("nonfinite.loss")
    producer = facts[0].data.get("producer") if facts else None
    series = run.series("module.output_absmax")
    inputs = run.series("module.input_absmax")
    if not (half or _born_in_half(run)) or (facts and facts[0].data.get("bad_parameters")):
        # Weights that were bad already make every output bad: the step before is to blame.
        return absent()
    step = run.bad_step
    if series:
        bad = ~np.isfinite(series.values) & ~np.isnan(series.values)
        if bad.any():
            row = int(np.flatnonzero(bad.any(axis=1))[0])
            at = int(series.steps[row])
            order = {place.name: place.identifier for place in series.places}
            names = [series.names[i] for i in np.flatnonzero(bad[row])]
            names.sort(key=lambda name: order[name])
            for name in names:
                _, _read = inputs.column(name)
                if half.get(name) == 16.0:
                    return present(
                        f"the output of '{name}' left the range of float16 (65504) at step {at}", step=at, layer=name
                    )
    if producer and producer.get("dtype") == "float16" and producer.get("kind") == "operation":
        layer = producer.get("module") or producer.get("producer")
        return present(
            f"{producer['operation'].lower()} in float16 gave the first value that is not finite",
            step=step,
            layer=layer,
        )
    return absent()


def outputs_near_float16_limit(run: Run) -> Finding:
    """Before the trouble a float16 output came within a factor of four of 65504."""
    half = _half_modules(run)
    series = run.series("module.output_absmax")
    if not half or not series:
        return absent()
    best = (0.0, "", 0)
    for index, name in enumerate(series.names):
        if half.get(name) != 16.0:
            continue
        column = series.values[:, index]
        finite = np.isfinite(column)
        if finite.any():
            top = float(column[finite].max())
            best = max(best, (top, name, int(series.steps[finite][int(column[finite].argmax())])))
    return when(
        best[0] > 65504 / 4, f"the output of '{best[1]}' reaches {best[0]:.3g} in float16", layer=best[1], step=best[2]
    )


def updates_lost_to_rounding(run: Run) -> Finding:
    """In 16-bit weights, most entries with a gradient do not move: the update is below the spacing of the numbers."""
    series = run.series("parameter.unchanged_share")
    if not series:
        return absent()
    shares = np.nanmedian(series.values, axis=0)
    worst = int(np.nanargmax(shares))
    matrices = [shares[i] for i, p in enumerate(series.places) if len(p.details.get("shape", ())) >= 2]
    typical = float(np.median(matrices)) if matrices else float(np.median(shares))
    return when(
        typical > 0.4,
        f"{100 * typical:.0f} % of the weights that have a gradient do not move: the update is below the spacing of their type",
        parameter=series.names[worst],
        share=typical,
    )


def gradients_flush_to_zero(run: Run) -> Finding:
    """Most gradient entries are exactly zero in float16."""
    series = run.series("parameter.gradient_zero_share")
    half = any(value == 16.0 for value in _half_modules(run).values())
    if series:
        typical = float(np.nanmedian(series.values))
        return when(
            typical > 0.5, f"{100 * typical:.0f} % of the gradient entries are exactly zero in 16 bit", share=typical
        )
    _, share = run.of_optimizer("gradient.zero_share")
    if half and share.size:
        typical = float(np.median(share))
        return when(typical > 0.6, f"{100 * typical:.0f} % of the gradient entries are exactly zero", share=typical)
    return absent()


def scaled_gradients_clipped(run: Run) -> Finding:
    """The gradients that the scaler's step receives all have the same norm, and still carry the scale."""
    _steps, norms = run.trace.scalar("scaler.norm_in_step", "scaler")
    _, scales = run.trace.scalar("scaler.scale_in_step", "scaler")
    _, after = run.trace.scalar("gradient.norm_after_backward", "gradients")
    if norms.size < 5:
        return absent()
    finite = np.isfinite(norms)
    scale = float(np.median(scales)) if scales.size else 1.0
    if finite.sum() < 5 or scale <= 1:
        return absent()
    kept = norms[finite]
    middle = float(np.median(kept))
    constant = float(np.mean(np.abs(kept - middle) < 0.02 * max(middle, 1e-30))) > 0.6
    expected = float(np.median(after[np.isfinite(after)])) * scale if after.size else 0.0
    return when(
        constant and middle < 0.2 * expected,
        f"gradients are clipped to norm {middle:.3g} while they carry the loss scale {scale:.3g}: what is left is {middle / scale:.1g}",
        norm=middle,
        scale=scale,
    )


def loss_scale_sinks(run: Run) -> Finding:
    """The loss scale falls below one."""
    steps, scales = run.trace.scalar("scaler.scale", "scaler")
    if not scales.size:
        return absent()
    low = np.flatnonzero(scales < 1)
    return when(bool(low.size), "the loss scale sinks below 1", step=int(steps[low[0]]) if low.size else 0)
