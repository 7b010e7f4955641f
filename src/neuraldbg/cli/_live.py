"""``neuraldbg run --live``: the view of ``watch`` in the lowest lines of the terminal, while the script runs above it.

It is drawn by a process of its own, which reads the trace as ``watch`` does: by textual (``_strip_app``), or as plain
lines without it. The script keeps its standard streams, its interpreter is not asked for anything, and that process is
no child of it, so that a script that waits for its children does not meet it. The lines are set aside with the scroll
region of the terminal (DECSTBM), as apt and others do.

Not a verb: ``run`` starts it as ``python -m neuraldbg.cli._live TRACE PROCESS``.
"""

from __future__ import annotations

import importlib.util
import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from neuraldbg.cli._watcher import Watcher

#: Lines that are set aside, and the share of the terminal that they take at most.
MOST_LINES, LARGEST_SHARE = 12, 3
#: Seconds between two looks at the trace, and at whether the terminal is ours.
LOOK_EVERY, CHECK_EVERY = 1.0, 0.2
_SAVE, _RESTORE = "\x1b7", "\x1b8"


class LiveView:
    """The view of one run, from the side of the run."""

    def __init__(self) -> None:
        self._process = 0

    def start(self, trace: Path) -> str:
        """Begins to draw; returns why it can't, or ""."""
        try:
            os.close(os.open("/dev/tty", os.O_RDWR | getattr(os, "O_NOCTTY", 0)))
        except OSError:
            return f"there is no terminal to draw on; follow the run from another one: neuraldbg watch {trace}"
        command = [sys.executable, "-m", "neuraldbg.cli._live", str(trace.absolute()), str(os.getpid())]
        try:
            done = subprocess.run(
                command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, timeout=60
            )
            self._process = int(done.stdout)
        except (OSError, ValueError, subprocess.SubprocessError) as error:
            return f"the live view could not be started ({error}); the script runs on without"
        return ""

    def stop(self) -> None:
        """The lines are the script's again when this returns."""
        if not self._process:
            return
        with suppress(OSError):
            os.kill(self._process, signal.SIGTERM)
            end = time.monotonic() + 3
            while time.monotonic() < end:
                time.sleep(0.01)
                os.kill(self._process, 0)  # fails once it has gone
        self._process = 0


class Strip:
    """The lowest lines of a terminal."""

    def __init__(self, terminal: int) -> None:
        self._terminal = terminal
        self._size = (0, 0)
        self._height = 0

    def take(self) -> bool:
        """Sets the lines aside where they are not yet, or not all on a terminal of another size; whether it did."""
        if self.size == self._size and self._height:
            return False
        out = self._taken(self.size)
        self._write(out)
        return bool(self._height)

    def draw(self, lines: list[str]) -> None:
        """Writes the lines; in one piece, so that nothing comes between."""
        self.take()
        rows, out = self._size[1], ""
        for position in range(self._height):
            text = lines[position] if position < len(lines) else ""
            style = "\x1b[0;7m" if position == 0 else "\x1b[0m"
            out += f"\x1b[{rows - self._height + position + 1};1H\x1b[2K{style}{text}\x1b[0m"
        self.paint(out)

    def paint(self, text: str) -> None:
        """Writes what moves the cursor to our lines by itself; the script's cursor and style are as they were after."""
        if self._height and text:
            self._write(f"{_SAVE}\x1b[0m{text}\x1b[0m{_RESTORE}")

    def give_back(self) -> None:
        """The whole terminal scrolls again, and the lines are empty."""
        if self._height:
            self._write(self._given_back())

    @property
    def size(self) -> tuple[int, int]:
        """Columns and rows."""
        try:
            columns, rows = os.get_terminal_size(self._terminal)
        except OSError:
            return 80, 24
        return max(columns, 1), max(rows, 1)

    @property
    def height(self) -> int:
        """Lines that are set aside now."""
        return self._height

    @property
    def room(self) -> int:
        """Lines that there is room for; none on a terminal of a few lines."""
        rows = self.size[1]
        return 0 if rows < 8 else min(MOST_LINES, max(rows // LARGEST_SHARE, 3))

    def _taken(self, size: tuple[int, int]) -> str:
        out = self._given_back() if self._height else ""
        self._size, self._height = size, self.room
        if not self._height:
            return out
        # What stands on the lowest lines moves up before they are set aside.
        out += "\n" * self._height + f"\x1b[{self._height}A"
        return f"{out}{_SAVE}\x1b[1;{size[1] - self._height}r{_RESTORE}"

    def _given_back(self) -> str:
        rows = self.size[1]
        lines = range(max(rows - self._height + 1, 1), rows + 1)
        self._height = 0
        return f"{_SAVE}\x1b[r" + "".join(f"\x1b[{row};1H\x1b[0m\x1b[2K" for row in lines) + _RESTORE

    def _write(self, text: str) -> None:
        if text:
            os.write(self._terminal, text.encode("utf-8", "replace"))


def main(trace: Path, process: int) -> None:
    """Draws until the process ends or a SIGTERM comes."""
    terminal = os.open("/dev/tty", os.O_RDWR | os.O_NOCTTY)
    strip = Strip(terminal)

    def end(number: int, frame: FrameType | None) -> None:
        # At once: whoever asks waits for the lines, and no look or diagnosis in a thread is waited for.
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        with suppress(OSError):
            strip.give_back()
        os._exit(0)

    signal.signal(signal.SIGTERM, end)
    try:
        _follow(strip, terminal, trace, process)
    except OSError:
        pass  # the terminal has gone
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        with suppress(OSError):
            strip.give_back()


class Following:
    """The process whose terminal this is, and its newest trace."""

    def __init__(self, terminal: int, trace: Path, process: int) -> None:
        self._terminal, self._trace, self._process = terminal, trace, process
        self._watcher: Watcher | None = None

    def is_ours(self) -> bool:
        """Whether the terminal is the script's; stopped by Ctrl-Z or in the background, it is somebody else's."""
        return os.tcgetpgrp(self._terminal) == os.getpgid(self._process)

    def is_there(self) -> bool:
        return _is_there(self._process)

    def watcher(self) -> Watcher:
        from neuraldbg.cli._watcher import Watcher

        newest = _followed(self._trace, self._process)
        if self._watcher is None or newest != self._watcher.tail.path:
            self._watcher = Watcher(newest)
        return self._watcher


def _follow(strip: Strip, terminal: int, trace: Path, process: int) -> None:
    following = Following(terminal, trace, process)
    if importlib.util.find_spec("textual") is not None:
        from neuraldbg.cli._strip_app import StripApp

        StripApp(strip, following.is_ours, following.is_there, following.watcher).run(mouse=False)
        return
    _draw_simply(strip, following)


def _draw_simply(strip: Strip, following: Following) -> None:
    """The same as lines of text, without textual."""
    from neuraldbg.errors import NeuralDbgError
    from neuraldbg.report.live import strip as lines_of

    next_look = 0.0
    while following.is_there():
        if not following.is_ours():
            strip.give_back()
            next_look = 0.0
        elif time.monotonic() >= next_look:
            watcher = following.watcher()
            try:
                lines = lines_of(watcher.look(), strip.size[0] - 1, strip.room)
            except NeuralDbgError:  # nothing was committed yet
                lines = ["NeuralDBG · nothing was recorded yet"]
            next_look = time.monotonic() + watcher.pause(LOOK_EVERY)
            strip.draw(lines)
        time.sleep(CHECK_EVERY)


def _followed(trace: Path, process: int) -> Path:
    """The newest trace of the process: a script may watch its own training, beside ours."""
    found = [trace, *trace.parent.glob(f"*-{process}.ndbg"), *trace.parent.glob(f"*-{process}-*.ndbg")]
    with suppress(OSError):
        return max(dict.fromkeys(found), key=lambda path: path.stat().st_mtime_ns)
    return trace


def _is_there(process: int) -> bool:
    try:
        os.kill(process, 0)
    except PermissionError:
        return True
    except OSError:
        return False
    return True


def detach(trace: Path, process: int) -> None:
    """Goes on in a process that is nobody's child, in a group that Ctrl-C does not reach; prints its number."""
    child = os.fork()
    if child:
        sys.stdout.write(str(child))
        sys.stdout.flush()
        os._exit(0)
    os.setpgid(0, 0)
    # Without this a terminal set to `stty tostop` would stop a group in the background that writes to it.
    signal.signal(signal.SIGTTOU, signal.SIG_IGN)
    nowhere = os.open(os.devnull, os.O_RDWR)
    for number in (0, 1, 2):
        os.dup2(nowhere, number)
    with suppress(OSError):
        os.nice(5)  # the training goes first
    main(trace, process)
    os._exit(0)


if __name__ == "__main__":
    detach(Path(sys.argv[1]), int(sys.argv[2]))
