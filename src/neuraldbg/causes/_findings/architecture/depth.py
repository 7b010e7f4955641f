"""Gradient and signal over the depth of the model."""

from __future__ import annotations

import itertools
import math

import numpy as np

from neuraldbg.causes._findings._answer import absent, unmeasured, when
from neuraldbg.causes._findings.architecture.initial_weights import initial_weights_extreme
from neuraldbg.measures.depth import Chain, early
from neuraldbg.measures.run import Run
from neuraldbg.records import Finding

#: Links from which a stack counts as deep.
_DEEP = 8
#: Share of its start to which a loss falls when a gradient that was small at first did no harm.
_LEARNED = 0.3


def _chain(run: Run, stage: str = "early", links: int = 2) -> Chain | None:
    """The longest path at a stage of the run; None where it has fewer links."""
    chain = run.chain(stage)
    return chain if chain is not None and len(chain.links) >= links else None


def _container(chain: Chain) -> str:
    """The path that most of the chain's modules share, as the place of a fault of the whole stack."""
    counts: dict[str, int] = {}
    for name in chain.modules:
        parts = name.split(".")
        for size in range(1, len(parts)):
            prefix = ".".join(parts[:size])
            counts[prefix] = counts.get(prefix, 0) + 1
    inside = [name for name, count in counts.items() if count >= 0.6 * len(chain.modules)]
    return max(inside, key=lambda name: (-name.count("."), counts[name]), default="")


def gradient_vanishes_over_depth(run: Run) -> Finding:
    """In the first steps the gradient at the first module is below a thousandth of that at the last one."""
    chain = _chain(run)
    if chain is None:
        return unmeasured()
    ratio = chain.log_gradient_ratio
    if run.learned_to(_LEARNED):
        return absent()
    return when(
        ratio < -3,
        f"the gradient shrinks from {chain.gradients[-1]:.2g} at '{chain.modules[-1]}' to {chain.gradients[0]:.2g} at '{chain.modules[0]}'",
        layer=_container(chain) or chain.modules[0],
        ratio=ratio,
    )


def gradient_shrinks_over_depth(run: Run) -> Finding:
    """In the first steps the gradient at the first module is below a tenth of that at the last one."""
    chain = _chain(run)
    if chain is None:
        return unmeasured()
    return when(
        chain.log_gradient_ratio < -1.0,
        f"the gradient loses {-chain.log_gradient_ratio:.1f} powers of ten over depth",
        layer=chain.modules[0],
    )


#: Powers of ten that a gradient loses over depth before it counts as vanishing: runs of the bench that train well, with
#: norms and residual branches, lose up to 2.7.
_VANISHING = -2.8
#: Below it the gradient is exactly zero somewhere: it was stopped, it did not vanish little by little.
_NO_GRADIENT = -28.0


def gradient_loss_spread_evenly(run: Run) -> Finding:
    """Many links each lose a little of the gradient: no single one accounts for a third of it."""
    chain = _chain(run)
    if chain is None:
        return unmeasured()
    if run.learned_to(_LEARNED):
        return absent()
    share, _ = chain.largest_share
    losing = sum(link.log_gain < -0.02 for link in chain.links)
    return when(
        _NO_GRADIENT < chain.log_gradient_ratio < _VANISHING and share < 0.35 and losing >= 5,
        f"{losing} of {len(chain.links)} modules share the gradient's loss, none takes more than {100 * share:.0f} % of it",
        layer=_container(chain) or chain.modules[0],
        share=share,
    )


def gradient_loss_concentrated(run: Run) -> Finding:
    """One link accounts for more than half of the gradient's loss."""
    chain = _chain(run)
    if chain is None:
        return unmeasured()
    share, link = chain.largest_share
    lost = chain.log_gradient_ratio < -1.5 or (link is not None and link.log_gain < -1.5)
    return when(
        bool(link is not None and share > 0.5 and lost),
        f"'{link.module if link else ''}' takes {100 * share:.0f} % of the gradient's loss",
        layer=link.module if link else None,
        share=share,
    )


def gradient_explodes_over_depth(run: Run) -> Finding:
    """In the first steps the gradient grows towards the input by more than a thousandfold."""
    chain = _chain(run, "first", links=4)
    if chain is None:
        return unmeasured()
    if initial_weights_extreme(run).present:
        # Weights that are far too large by themselves account for it: no depth is needed.
        return absent()
    ratio = chain.log_gradient_ratio
    largest = max(chain.gradients, default=0.0)
    known = [g for g in chain.gradients if g > 0 and math.isfinite(g)]
    if known and math.isfinite(largest) and known[-1] > 0:
        ratio = max(ratio, math.log10(max(known) / known[-1]))
    growing = sum(link.log_gain > 0.05 for link in chain.links)
    return when(
        ratio > 2 and growing >= 4,
        f"the gradient grows {10 ** min(ratio, 30):.2g}-fold from '{chain.modules[-1]}' back to '{chain.modules[0]}'",
        layer=_container(chain) or chain.modules[0],
        ratio=ratio,
    )


def signal_explodes_over_depth(run: Run) -> Finding:
    """In the first steps the spread of outputs grows over many modules by more than a hundredfold."""
    chain = run.chain("first")
    if chain is None:
        return unmeasured()
    spreads = [s for s in chain.spreads if s > 0 and math.isfinite(s)]
    if len(spreads) < 4:
        return unmeasured()
    ratio = math.log10(max(spreads[len(spreads) // 2 :]) / spreads[0])
    rising = sum(b > 1.1 * a for a, b in itertools.pairwise(spreads))
    # One module that multiplies by itself, a norm after a small embedding say, is no matter of depth.
    largest = max(math.log10(b / a) for a, b in itertools.pairwise(spreads))
    return when(
        ratio > 1.7 and rising >= 4 and largest < 0.6 * ratio,
        f"the outputs grow from a spread of {spreads[0]:.2g} to {max(spreads):.3g} over {len(spreads)} modules",
        layer=_container(chain) or chain.modules[0],
        ratio=ratio,
    )


def signal_dies_over_depth(run: Run) -> Finding:
    """In the first steps the spread across samples shrinks over depth to less than a thousandth."""
    chain = _chain(run)
    if chain is None:
        return unmeasured()
    across = early(run.trace, "module.output_batch_spread")
    values = [across[name] for name in chain.modules if name in across and math.isfinite(across[name])]
    if len(values) < 3 or values[0] <= 0:
        return unmeasured()
    lowest = min(values[1:])
    return when(
        lowest < 1e-3 * values[0],
        f"the differences between samples shrink from {values[0]:.2g} to {lowest:.2g} over depth",
        layer=_container(chain) or chain.modules[0],
    )


def stack_is_deep(run: Run) -> Finding:
    """The longest path has at least eight steps, or a module runs many times in a row."""
    chain = run.chain()
    calls = run.series("module.calls")
    looped = bool(calls) and bool(np.nanmax(calls.values) >= _DEEP)
    if chain is None:
        return unmeasured()
    deep = f"the longest path has {len(chain.links)} steps"
    return when(
        len(chain.links) >= _DEEP or looped, deep if len(chain.links) >= _DEEP else "a module runs many times in a row"
    )
