"""What batch norms take their statistics from."""

from __future__ import annotations

import numpy as np

from neuraldbg.causes._findings._answer import absent, present, unmeasured
from neuraldbg.measures.run import Run
from neuraldbg.records import Finding


def batch_norm_sees_few_samples(run: Run) -> Finding:
    """Batch statistics come from one or two samples, or from at most four values per channel."""
    batches, values = run.series("module.normalized_batch"), run.series("module.normalized_samples")
    if not batches:
        return absent() if run.series("module.output_std") else unmeasured()
    typical = np.nanmedian(batches.values, axis=0)
    per_channel = np.nanmedian(values.values, axis=0)
    few = [i for i in range(typical.size) if typical[i] <= 2 or per_channel[i] <= 4]
    if not few:
        return absent()
    index = few[0]
    return present(
        f"batch norm '{batches.names[index]}' takes its statistics from {typical[index]:.0f} sample(s)",
        layer=batches.names[index],
        samples=float(typical[index]),
    )
