"""The learning rate over time."""

from __future__ import annotations

import numpy as np

from neuraldbg.causes._findings._answer import absent, present, unmeasured, when
from neuraldbg.measures.run import Run
from neuraldbg.measures.stretches import finite
from neuraldbg.records import Finding

#: The learning rate that Adam's authors give, and how far above it few models learn: of 270 healthy runs of the field
#: cases with Adam, 6 learn at more than fifteen times the default.
_ADAM_DEFAULT, _FAR_ABOVE = 0.001, 15.0
#: Losses looked at on either side of a rise of the learning rate, and those that the harm may take to show.
_BESIDE, _HARM = 20, 10


def _set_back(run: Run, step: int) -> bool:
    """Whether the loss left its level at a rise of the learning rate and never came back to it.

    A warm restart costs a little and wins it back; here the loss triples at once and ends above where it stood.
    """
    curve = run.loss
    if curve is None or run.adversarial:
        return False
    at = int(np.searchsorted(curve.steps, step))
    before, after = finite(curve.values[max(0, at - _BESIDE) : at]), finite(curve.values[at : at + _HARM])
    if before.size < 5 or after.size < 3:
        return False
    level = float(np.median(before))
    return level > 0 and float(np.median(after)) > 3 * level and curve.end > 1.5 * level


def adaptive_rate_far_above_default(run: Run) -> Finding:
    """Adam's learning rate reaches fifteen times its default, in a run that did not learn well.

    Adam moves each weight by about the rate, whatever the gradient (Kingma & Ba 2015, section 2.1; default 0.001).
    """
    if not any(name in run.optimizer_class for name in ("Adam", "RMSprop")) or "Adamax" in run.optimizer_class:
        return unmeasured()
    steps, rates = run.learning_rate
    trouble = run.trouble_step
    if not rates.size:
        return unmeasured()
    until = rates if trouble is None else rates[: max(1, int(np.searchsorted(steps, trouble, side="right")))]
    highest = float(until.max())
    if run.learned_to(0.2):
        return absent()
    return when(
        highest > _FAR_ABOVE * _ADAM_DEFAULT,
        f"the learning rate of {run.optimizer_class} is {highest:.3g} (default: {_ADAM_DEFAULT})",
        step=int(steps[int(until.argmax())]),
        rate=highest,
    )


def learning_rate_jumped(run: Run) -> Finding:
    """The learning rate rose at least threefold at once, later than the first few steps, and trouble followed."""
    steps, rates = run.learning_rate
    if not rates.size:
        return unmeasured()
    for index in range(1, rates.size):
        if steps[index] >= 3 and rates[index] > 3 * rates[index - 1] > 0:
            trouble = run.trouble_step
            if (trouble is not None and trouble >= steps[index] - 2) or _set_back(run, int(steps[index])):
                return present(
                    f"the learning rate rose from {rates[index - 1]:.3g} to {rates[index]:.3g} at step {steps[index]}",
                    step=int(steps[index]),
                    before=rates[index - 1],
                    after=rates[index],
                )
    return absent()


def learning_rate_rose_into_trouble(run: Run) -> Finding:
    """At the step of trouble the learning rate stood at least three times above where the loss still fell."""
    steps, rates = run.learning_rate
    trouble = run.trouble_step
    if not rates.size:
        return unmeasured()
    curve = run.loss
    if trouble is None or rates.size < 3 or curve is None:
        return absent()
    at = float(run.learning_rate_at(trouble)[0])
    start = float(rates[0])
    lowest = float(rates[: max(1, int(np.searchsorted(steps, trouble)))].min())
    before = max(lowest, start if start < at else lowest)
    return when(
        at > 3 * before > 0 and trouble > 5,
        f"the learning rate had risen from {before:.2g} to {at:.2g} when the loss broke away at step {trouble}",
        step=trouble,
        before=before,
        after=at,
    )


def learning_rate_collapsed_early(run: Run) -> Finding:
    """The learning rate fell below a hundredth of its peak well before the end, while the loss was still high."""
    steps, rates = run.learning_rate
    curve = run.loss
    if not rates.size or curve is None:
        return unmeasured()
    peak = float(rates.max())
    after = np.flatnonzero((rates < 0.015 * peak) & (np.arange(rates.size) > int(rates.argmax())))
    if not after.size or peak <= 0:
        return absent()
    step = int(steps[after[0]])
    last = int(curve.steps[-1]) if curve.steps.size else 0
    if rates[after[0] :].max() > 0.05 * peak or step > 0.75 * last:
        return absent()
    # The step of the change that ended the last stretch near the peak.
    held = int(np.flatnonzero(rates >= 0.5 * peak)[-1])
    fall_start = int(steps[held + 1]) if held + 1 < steps.size else step
    share = (last - step) / max(1, last)
    still_high = not (curve.first > 0 and curve.end < 0.05 * curve.first)
    return when(
        still_high,
        f"the learning rate fell from {peak:.2g} to {float(rates[after[0]]):.2g} by step {step}, with {100 * share:.0f} % of the run to go",
        step=fall_start,
        peak=peak,
        after=float(rates[after[0]]),
    )
