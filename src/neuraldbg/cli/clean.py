"""``neuraldbg clean``: delete the traces of this folder."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Annotated

import typer

from neuraldbg.cli._say import complain, say
from neuraldbg.cli._verdict import is_running, shown_path
from neuraldbg.errors import TraceError


def command(
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would be deleted.")] = False,
) -> int:
    """Delete the traces of this folder.

    Those of runs that go on are kept.

    \b
    Examples:
      neuraldbg clean --dry-run
      neuraldbg clean
    """
    from neuraldbg.trace_store.location import list_traces

    deleted = size = 0
    failed = False
    for path in list_traces():
        if _in_use(path):
            say(f"kept     {shown_path(str(path))}   its run goes on")
            continue
        own = _files_of(path)
        size += sum(file.stat().st_size for file in own)
        say(f"{'would delete' if dry_run else 'deleted'}  {shown_path(str(path))}")
        deleted += 1
        if not dry_run:
            try:
                for file in own:
                    file.unlink(missing_ok=True)
                with suppress(OSError):  # there is none, or it holds what is not ours
                    path.with_suffix(".snapshots").rmdir()
            except OSError as error:
                complain(f"{path}: {error.strerror}; check the permissions of its folder")
                failed = True
    traces = f"{deleted} trace{'' if deleted == 1 else 's'}"
    say(
        f"{traces}, {size / 1e6:.1f} MB{' would be deleted' if dry_run else ' deleted'}."
        if deleted
        else "Nothing to delete."
    )
    return 1 if failed else 0


def _in_use(path: Path) -> bool:
    from neuraldbg.trace_store.reader import summary

    try:
        return is_running(summary(path))
    except TraceError:
        return False


def _files_of(path: Path) -> list[Path]:
    """Snapshots, the trace, its write-ahead log and its index; the log goes last, for it may hold the newest steps."""
    snapshots = sorted(path.with_suffix(".snapshots").glob("*.safetensors"))
    own = (path, *(Path(f"{path}{ending}") for ending in ("-shm", "-wal")))
    return [*snapshots, *(file for file in own if file.exists())]
