"""What came of testing a hypothesis by training again, in words."""

from __future__ import annotations

import math

from neuraldbg.records import Verdict, Verification
from neuraldbg.report.text import count


def effect(verdict: Verdict) -> str:
    """The effect with its interval, ``0.73 (0.69 to 0.77)``; ``-`` where there is none."""
    if math.isnan(verdict.effect):
        return "-"
    low, high = verdict.interval
    if not math.isfinite(low) or not math.isfinite(high):
        return f"{verdict.effect:.2f} (one pair)"
    return f"{verdict.effect:.2f} ({low:.2f} to {high:.2f})"


def outcome(verdict: Verdict) -> str:
    """Verdict and effect in one sentence."""
    if not verdict.intervention:
        return f"{verdict.verdict}: {verdict.reason.rstrip('.')}."
    if math.isnan(verdict.effect):
        return f"{verdict.verdict} by {verdict.intervention}: {verdict.reason.rstrip('.')}."
    low, high = verdict.interval
    between = "of one pair of runs, so without an interval"
    if math.isfinite(low) and math.isfinite(high):
        between = f"95 % interval {low:.2f} to {high:.2f}"
    return f"{verdict.verdict} by {verdict.intervention}: effect {verdict.effect:.2f} ({between})."


def runs(verdict: Verdict, verification: Verification) -> str:
    """How often it failed with and without the change, and how long the runs were."""
    parts = [
        f"failed in {failed} of {judged} runs {words}"
        for words, (failed, judged) in (
            ("without the change", verdict.failed_without),
            ("with it", verdict.failed_with),
        )
        if judged
    ]
    ended = " It was stopped before all runs were done." if verification.interrupted else ""
    return f"{'; '.join(parts) or 'no run could be judged'}; runs of {count(verification.steps, 'step')}.{ended}"
