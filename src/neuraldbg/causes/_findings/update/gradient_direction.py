"""Whether successive gradients point the same way."""

from __future__ import annotations

import numpy as np

from neuraldbg.causes._findings._answer import unmeasured, when
from neuraldbg.measures.run import Run
from neuraldbg.measures.stretches import finite
from neuraldbg.records import Finding


def gradients_parallel(run: Run) -> Finding:
    """Successive gradients point the same way."""
    cosine = finite(run.of_optimizer("gradient.cosine")[1])
    if cosine.size < 8:
        return unmeasured()
    middle = float(np.median(cosine))
    return when(middle > 0.9, f"successive gradients are parallel (cosine {middle:.2f})", cosine=middle)


def gradients_unrelated(run: Run) -> Finding:
    """In the second half, successive gradients share no direction."""
    cosine = finite(run.of_optimizer("gradient.cosine")[1])
    if cosine.size < 16:
        return unmeasured()
    middle = float(np.median(cosine[cosine.size // 2 :]))
    return when(
        -0.15 < middle < 0.2, f"gradients of successive batches share no direction (cosine {middle:.2f})", cosine=middle
    )


def gradients_oppose(run: Run) -> Finding:
    """Successive gradients point against each other: the steps jump across a valley."""
    cosine = finite(run.of_optimizer("gradient.cosine")[1])
    if cosine.size < 8:
        return unmeasured()
    middle = float(np.median(cosine))
    return when(middle < -0.2, f"successive gradients oppose each other (cosine {middle:.2f})", cosine=middle)
