"""Single batches far outside what came before."""

from __future__ import annotations

import numpy as np

from neuraldbg.causes._findings._answer import absent, present, unmeasured, when
from neuraldbg.measures.inputs import model_inputs, outlier
from neuraldbg.measures.run import Run
from neuraldbg.records import Finding


def input_outlier(run: Run) -> Finding:
    """One batch lies far outside the running range of the inputs, and the batches around it do not."""
    best = (0.0, 0, "")
    seen = False
    for name, (steps, values) in model_inputs(run, "input.absmax").items():
        if values.size < 12:
            continue
        seen = True
        found = outlier(values, warmup=5, need_return=True)
        if found is not None:
            best = max(best, (found[1], int(steps[found[0]]), name))
    if not seen:
        return unmeasured()
    return when(
        best[0] > 0,
        f"the input of step {best[1]} reaches {best[0]:.0f} times the usual extreme",
        step=best[1],
        ratio=best[0],
    )


def target_outlier(run: Run) -> Finding:
    """One batch's targets lie far outside their running range."""
    series_low, series_high = run.series("target.min"), run.series("target.max")
    best = (0.0, 0)
    if not series_high:
        return unmeasured() if run.loss is None else absent()
    for name in series_high.names:
        steps, high = series_high.column(name)
        _, low = series_low.column(name)
        size = np.maximum(np.abs(high), np.abs(low))
        said_steps, said = run.series("prediction.max").column(name)
        for index in range(8, size.size):
            if not np.isfinite(size[index]):
                continue  # infinite, which is asked elsewhere, or lost in the rounding of a huge prediction
            at = np.flatnonzero(said_steps == steps[index])
            earlier = np.abs(said[max(0, int(at[0]) - 40) : int(at[0])]) if at.size else np.empty(0)
            if at.size and earlier.size and abs(float(said[at[0]])) > 5 * max(float(np.max(earlier)), 1e-12):
                # The target of a hand-written residual is the prediction minus it: an explosion blurs it.
                continue
            before = size[max(0, index - 40) : index]
            middle, top = float(np.median(before)), float(before.max())
            if middle > 0 and size[index] > 6 * middle and size[index] > 2.5 * top:
                best = max(best, (size[index] / middle, int(steps[index])))
    return when(
        best[0] > 0,
        f"the targets of step {best[1]} reach {best[0]:.0f} times the usual extreme",
        step=best[1],
        ratio=best[0],
    )


def outlier_meets_loss_jump(run: Run) -> Finding:
    """An input or target outlier coincides with a jump of the loss or gradient."""
    outliers = [f.step for f in (input_outlier(run), target_outlier(run)) if f.present and f.step is not None]
    curve = run.loss
    if not outliers or curve is None:
        return absent()
    for step in outliers:
        at = np.flatnonzero(curve.steps == step)
        if not at.size or at[0] < 5:
            continue
        index = int(at[0])
        before = curve.values[max(0, index - 20) : index]
        before = before[np.isfinite(before)]
        now = curve.values[index : index + 3]
        now = now[np.isfinite(now)]
        after = curve.values[index + 3 : index + 13]
        if before.size and after.size >= 5 and np.median(after) < 1.2 * np.median(before) and run.learned_to(0.5):
            # The next batches find the model as it was: heavy tails that the loss can bear.
            continue
        if before.size and (
            not now.size or now.max() > np.median(before) + 6 * max(np.median(np.abs(np.diff(before))), 1e-12)
        ):
            return present(f"the loss jumps in that very step ({np.median(before):.3g} before)", step=step)
    return absent()
