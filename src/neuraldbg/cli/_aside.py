"""Work in a thread that nobody waits for."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any, TypeVar

Value = TypeVar("Value")


async def aside(work: Callable[[], Value]) -> Value:
    """What ``work`` gives, from a thread of its own that ends with the process.

    ``asyncio.to_thread`` is waited for when the loop ends: a look that hangs on a disk would keep one from leaving.

    Errors: those of ``work``.
    """
    loop = asyncio.get_running_loop()
    done: asyncio.Future[Value] = loop.create_future()

    def tell(setter: Callable[[Any], None], value: Any) -> None:
        if not done.done():
            setter(value)

    def run() -> None:
        try:
            value = work()
        except BaseException as error:
            outcome: tuple[Callable[[Any], None], Any] = (done.set_exception, error)
        else:
            outcome = (done.set_result, value)
        with suppress(RuntimeError):  # the loop is closed: nobody waits any more
            loop.call_soon_threadsafe(tell, *outcome)

    threading.Thread(target=run, daemon=True).start()
    return await done
