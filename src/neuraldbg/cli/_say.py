"""Writing to the user without ever failing: a closed or strange stream loses the text and nothing else.

Nothing of ours that imports numpy is imported before a script ran: numpy, too, reads its settings while it loads.
"""

from __future__ import annotations

import io
import sys
from typing import IO


def complain(message: str) -> None:
    """One line on standard error, with the name of the program before it."""
    from neuraldbg.report.text import clean

    say(f"neuraldbg: {clean(message)}", error_stream())


def say(text: str, stream: IO[str] | None = None) -> None:
    """The text and a newline, on standard output unless a stream is given."""
    target = sys.stdout if stream is None else stream
    try:
        target.write(text + "\n")
    except UnicodeEncodeError:
        from neuraldbg.report.terminal import to_encodable

        target.write(to_encodable(text, target) + "\n")
    except (OSError, ValueError):
        # Whoever read our output has gone: the command ends. Whoever read our complaints: it goes on.
        if stream is None:
            raise


def error_stream() -> IO[str]:
    """Standard error, also when the script closed or replaced it by something that cannot be written to."""
    for stream in (sys.stderr, sys.__stderr__):
        if stream is not None and not getattr(stream, "closed", False) and hasattr(stream, "write"):
            return stream
    return io.StringIO()
