"""Clear gradients once they were used.

## What it changes
After an optimizer has stepped, what is left of its gradients is cleared before the next backward. Gradients that are
accumulated on purpose, over several backwards before one step, are kept.

## Which causes it removes
A missing ``zero_grad``.

## What it can't do
Nothing, where the loop clears them itself: then there was nothing to clear.
"""

from __future__ import annotations

from neuraldbg.verify._lever import Lever

CAUSES: tuple[str, ...] = ("missing_zero_grad",)
DO = "clear gradients after each step"
STRENGTHS: tuple[float, ...] = (1.0,)
ALSO_CURES = 0.03
CHANGES_LOSS = False


def install(lever: Lever) -> None:
    stepped = {}

    def note(optimizer):
        stepped[id(optimizer)] = optimizer

    def backward(tensors, proceed):
        for optimizer in stepped.values():
            left = [gradient for gradient in lever.gradients(optimizer) if bool((gradient != 0).any())]
            if left:
                lever.did("gradients that were left over from the last step")
            optimizer.zero_grad(set_to_none=True)
        stepped.clear()
        proceed(tensors)

    lever.after_step(note)
    lever.around_backward(backward)
