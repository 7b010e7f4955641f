"""How far a step moves the weights."""

from __future__ import annotations

import math

import numpy as np

from neuraldbg.causes._findings._answer import absent, unmeasured, when
from neuraldbg.causes._findings.update.weight_norms import weights_grow
from neuraldbg.measures.optimizer import matrix_updates, typical_update
from neuraldbg.measures.run import Run
from neuraldbg.records import Finding


def _by(ratio: float) -> str:
    return f"by {100 * ratio:.3g} % of its norm" if math.isfinite(ratio) else "beyond all numbers"


#: Steps from the first one that count as the start.
_START = 10
#: Share of its norm by which a step at the start moves the typical weight matrix, and all weights together, beyond which
#: it is huge; 0.05 and 0.03 are the medians of healthy runs of FaultBench, rates of which are high on purpose.
_HUGE_OF_A_MATRIX, _HUGE_OF_ALL = 0.15, 0.1


def updates_huge_at_start(run: Run) -> Finding:
    """One of the first steps moved the typical weight matrix by more than a seventh of its norm."""
    steps, ratio = run.of_optimizer("update.ratio")
    if not (steps < _START).any():
        return unmeasured()
    found = matrix_updates(run, _START)
    if found is not None:
        step, value = found
        limit, what = _HUGE_OF_A_MATRIX, "the typical weight matrix"
    else:
        step, value = max(zip(steps[steps < _START].tolist(), ratio[steps < _START].tolist()), key=lambda row: row[1])
        limit, what = _HUGE_OF_ALL, "all weights together"
    return when(
        value > limit,
        f"step {step} moved {what} {_by(value)} (healthy: 0.01 to 1 %)",
        step=int(steps[0]),
        ratio=value,
    )


def updates_large(run: Run) -> Finding:
    """The typical step moves the weights by more than 2.5 % of their norm."""
    middle = typical_update(run)
    if middle is None:
        return unmeasured()
    return when(
        middle > 0.025, f"a step moves the weights by {100 * middle:.2g} % (healthy: 0.01 to 1 %)", ratio=middle
    )


def updates_tiny(run: Run) -> Finding:
    """The typical step moves the weights by less than 2e-5 of their norm, from the start on."""
    if run.learned_to(0.2) or run.began_trained() or weights_grow(run).present:
        # Against weights that exploded any step is small; trained weights are moved by small ones.
        return absent()
    middle = typical_update(run, opening=True)
    if middle is None:
        return unmeasured()
    return when(0 < middle < 2e-5, f"updates are {middle:.1g} of the weights (healthy: 1e-4 to 1e-2)", ratio=middle)


def updates_small(run: Run) -> Finding:
    """The typical step moves the weights by less than 2e-4 of their norm, from the start on."""
    if run.learned_to(0.2) or run.began_trained() or weights_grow(run).present:
        # Against weights that exploded any step is small; trained weights are moved by small ones.
        return absent()
    middle = typical_update(run, opening=True)
    if middle is None:
        return unmeasured()
    return when(0 < middle < 2e-4, f"updates are {middle:.1g} of the weights (healthy: 1e-4 to 1e-2)", ratio=middle)


def updates_zero(run: Run) -> Finding:
    """Optimizer steps leave the weights exactly where they are, though there are gradients."""
    _, norm = run.of_optimizer("update.norm")
    _, gradient = run.of_optimizer("gradient.norm")
    if norm.size < 5 or gradient.size < 5:
        return unmeasured()
    return when(
        float(np.median(norm)) == 0 and float(np.median(gradient)) > 0, "steps leave the weights exactly where they are"
    )
