"""PyTorch Ignite: ``attach(trainer, model)`` before ``trainer.run(...)``."""

from __future__ import annotations

from typing import Any

from ignite.engine import Engine, Events
from torch import nn

from neuraldbg.integrations._watching import Watching


def attach(engine: Engine, model: nn.Module | None = None, report: bool = True, **settings: Any) -> Watching:
    """Watch a training engine from its start to its end; evaluators that it runs in between are seen too.

    Args:
        engine: the engine that trains, not an evaluator.
        model: what it trains; None watches whatever is trained.
        report: whether to print the verdict on standard error at the end.
        settings: keyword arguments of NeuralDbg.

    Returns:
        The watching: its ``debugger`` is the NeuralDbg of the run, its ``diagnosis`` the answer.
    """
    watching = Watching(report, **settings)

    def failed(engine: Engine, error: BaseException) -> None:
        watching.end(error)
        if len(engine._event_handlers[Events.EXCEPTION_RAISED]) == 1:
            raise error  # an engine with a handler raises no more; where ours is the only one, it has to

    def resumed() -> dict[str, Any]:
        done = engine.state.iteration
        return {"run__resumed": {"step": done}} if done else {}

    engine.add_event_handler(Events.STARTED, lambda: watching.begin(model, **resumed()))
    engine.add_event_handler(Events.EXCEPTION_RAISED, failed)
    engine.add_event_handler(Events.COMPLETED, lambda: watching.end())
    engine.add_event_handler(Events.TERMINATE, lambda: watching.end())
    return watching
