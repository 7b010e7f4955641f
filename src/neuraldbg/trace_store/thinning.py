"""Keeping a trace within its size: old, wide detail is halved, the rest stays."""

from __future__ import annotations

import sqlite3
from collections import defaultdict
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

#: Observations of at most this many places are never thinned: they cost little and carry the story of the run.
NARROW_PLACES = 4
#: Steps at either end that are never thinned: what a run starts from, and what led to its end.
FIRST_STEPS = 50
LATEST_STEPS = 500

#: Bytes of values per block after merging, and per transaction: the pauses in between let new records be committed.
BLOCK_BYTES = 64_000
TRANSACTION_BYTES = 4_000_000


def thin(connection: sqlite3.Connection, last_step: int) -> Iterator[None]:
    """Drop every other old step of the wide observations, quantity by quantity.

    Yields outside of transactions. A pass that is broken off leaves a sound file with some quantities thinned.
    """
    layouts: dict[int, int] = dict(
        connection.execute("SELECT id, width FROM layouts WHERE width > ?", (NARROW_PLACES,)).fetchall()
    )
    runs: dict[int, dict[int, list[tuple[int, npt.NDArray[np.int64]]]]] = defaultdict(lambda: defaultdict(list))
    for identifier, quantity, layout, steps in connection.execute(
        "SELECT blocks.id, quantity, layout, steps FROM blocks JOIN layouts ON layouts.id = layout WHERE width > ?"
        " ORDER BY blocks.id",
        (NARROW_PLACES,),
    ):
        runs[quantity][layout].append((identifier, np.frombuffer(steps, "<i8")))
    spent = 0
    connection.execute("BEGIN IMMEDIATE")
    for by_layout in runs.values():
        # Every other of the steps that are left, not the even ones: with a schedule of odd steps those would be none.
        steps_seen = np.unique(np.concatenate([steps for blocks in by_layout.values() for _, steps in blocks]))
        old = steps_seen[_is_old(steps_seen, last_step)]
        dropped = old[1::2]
        if not dropped.size:
            continue
        for layout, blocks in by_layout.items():
            for run in _runs_to_merge(blocks, dropped, layouts[layout]):
                spent += _rewrite(connection, run, layouts[layout])
                if spent > TRANSACTION_BYTES:
                    connection.execute("COMMIT")
                    yield
                    connection.execute("BEGIN IMMEDIATE")
                    spent = 0
    connection.execute("COMMIT")


def _is_old(steps: npt.NDArray[np.int64], last_step: int) -> npt.NDArray[np.bool_]:
    return (steps >= FIRST_STEPS) & (steps <= last_step - LATEST_STEPS)


def _runs_to_merge(
    blocks: list[tuple[int, npt.NDArray[np.int64]]], dropped: npt.NDArray[np.int64], width: int
) -> Iterator[list[tuple[int, npt.NDArray[np.int64], npt.NDArray[np.bool_]]]]:
    """Neighbouring blocks that lose rows, grouped so that what is left of a group makes one block of a fair size."""
    run: list[tuple[int, npt.NDArray[np.int64], npt.NDArray[np.bool_]]] = []
    size = 0
    for identifier, steps in blocks:
        kept = ~np.isin(steps, dropped)
        if kept.all():
            if run:
                yield run
            run, size = [], 0
            continue
        run.append((identifier, steps, kept))
        size += int(kept.sum()) * width * 8
        if size >= BLOCK_BYTES:
            yield run
            run, size = [], 0
    if run:
        yield run


def _rewrite(
    connection: sqlite3.Connection,
    run: list[tuple[int, npt.NDArray[np.int64], npt.NDArray[np.bool_]]],
    width: int,
) -> int:
    """Replace a run of blocks by one that holds the kept rows, in the place of the first; bytes handled."""
    steps_left, numbers_left, handled = [], [], 0
    for identifier, steps, kept in run:
        (numbers,) = connection.execute("SELECT numbers FROM blocks WHERE id = ?", (identifier,)).fetchone()
        handled += len(numbers)
        steps_left.append(steps[kept])
        numbers_left.append(np.frombuffer(numbers, "<f8").reshape(len(steps), width)[kept])
    first, *rest = [identifier for identifier, _, _ in run]
    steps = np.concatenate(steps_left)
    if steps.size:
        connection.execute(
            "UPDATE blocks SET steps = ?, numbers = ? WHERE id = ?",
            (steps.tobytes(), np.concatenate(numbers_left).tobytes(), first),
        )
    else:
        rest.append(first)
    connection.executemany("DELETE FROM blocks WHERE id = ?", [(identifier,) for identifier in rest])
    return handled
