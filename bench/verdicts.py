"""The figures that bench/verify.py is about, of the verdicts that it keeps.

    python -m bench.verdicts NAME=FILE [NAME=FILE ...] > table.md && python scripts/write_tables.py verification table.md

``FILE`` is what ``python -m bench.verify --out FILE`` wrote; a case that is in it twice counts with its last verdicts.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any


def of_file(path: Path) -> list[dict[str, Any]]:
    """The results that a file holds, one for each case."""
    lines = [json.loads(line) for line in path.read_text("utf-8").splitlines() if line.strip()]
    return list({result["case"]: result for result in lines}.values())


def _share(rows: list[dict[str, Any]]) -> str:
    confirmed = sum(row["verdict"] == "confirmed" for row in rows)
    return f"{confirmed} of {len(rows)}" + (f" ({confirmed / len(rows):.0%})" if rows else "")


def figures(results: list[dict[str, Any]]) -> dict[str, str]:
    """Each figure by what it is called.

    A hypothesis counts where there is an intervention against it. With several right ones in a case (a label and what a
    fair judge accepts, too) the case counts once, with the best verdict: they are names of one fault.
    """
    able = [[row for row in result["verdicts"] if row["able"]] for result in results]
    order = ("confirmed", "inconclusive", "refuted")
    right = [
        min(rows, key=lambda row: order.index(row["verdict"]))
        for rows in ([row for row in rows if row["right"]] for rows in able)
        if rows
    ]
    wrong = [row for rows in able for row in rows if not row["right"]]
    found = {
        "runs": str(len(results)),
        "right confirmed": _share(right),
        "right refuted": str(sum(row["verdict"] == "refuted" for row in right)),
        "wrong put in, confirmed": _share([row for row in wrong if row["put_in"]]),
        "wrong of the diagnosis, confirmed": _share([row for row in wrong if not row["put_in"]]),
    }
    named = [result for result in results if result["before"] is not None]
    for when in ("before", "after"):
        count = sum(result[when] for result in named)
        found[f"first cause right {when}"] = f"{count} of {len(named)}" if named else "–"
    return found


def open_ones(results: list[dict[str, Any]]) -> list[tuple[str, str, str]]:
    """(case, cause, reason) of each case whose cause was put to the test and not confirmed."""
    found = []
    for result in results:
        right = [row for row in result["verdicts"] if row["able"] and row["right"]]
        if right and all(row["verdict"] != "confirmed" for row in right):
            effect = "" if right[0]["effect"] != right[0]["effect"] else f" (effect {right[0]['effect']:.2f})"
            found.append((result["case"], right[0]["cause"], f"{right[0]['verdict']}: {right[0]['reason']}{effect}"))
    return found


def table(named: dict[str, list[dict[str, Any]]]) -> str:
    """Markdown: figures of each set, and what stays open."""
    columns = {name: figures(results) for name, results in named.items()}
    keys = list(next(iter(columns.values())))
    lines = [f"| | {' | '.join(columns)} |", f"| --- {'| --- ' * len(columns)}|"]
    lines += [f"| {key} | {' | '.join(column[key] for column in columns.values())} |" for key in keys]
    rows = [row for results in named.values() for row in open_ones(results)]
    if rows:
        lines += ["", "| not confirmed | cause | verdict |", "| --- | --- | --- |"]
        lines += [f"| {case} | {cause} | {reason} |" for case, cause, reason in rows]
    return "\n".join(lines) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("sets", nargs="+", metavar="NAME=FILE")
    options = parser.parse_args()
    named = {}
    for one in options.sets:
        name, _, path = one.partition("=")
        if not path or not Path(path).is_file():
            sys.stderr.write(f"expected NAME=FILE with a file that bench.verify --out wrote, found {one!r}\n")
            return 1
        named[name] = of_file(Path(path))
    sys.stdout.write(table(named))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
