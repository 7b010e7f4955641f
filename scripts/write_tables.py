"""Put the tables that a bench has printed into the documentation: ``python scripts/write_tables.py PAGE FILE``.

    python -m bench.faultbench --quick && python scripts/write_tables.py accuracy bench/faultbench/results/table.md
    python -m bench.comparison > /tmp/table.md && python scripts/write_tables.py comparison /tmp/table.md

A page has one pair of marks, between which everything is replaced; the rest of it is written by hand.
"""

from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path

DOCS = Path(__file__).resolve().parents[1] / "docs"
BEGIN, END = "<!-- table -->", "<!-- end of table -->"


def filled(page: str, table: str) -> str:
    """A page with its table replaced; headings of the table go two levels down, below those of the page.

    Raises:
        ValueError: the page has no marks, or the table holds no row.
    """
    if page.count(BEGIN) != 1 or page.count(END) != 1:
        raise ValueError(
            f"expected one {BEGIN} and one {END} in the page, found {page.count(BEGIN)} and {page.count(END)}"
        )
    if not re.search(r"^\|.*\|$", table, re.MULTILINE):
        raise ValueError("expected a table in Markdown, found no row that begins and ends with |")
    before, rest = page.split(BEGIN)
    after = rest.split(END)[1]
    lower = re.sub(r"^#+ ", "### ", table.strip(), flags=re.MULTILINE)
    return f"{before}{BEGIN}\n\n{lower}\n\n{END}{after}"


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("page", choices=sorted(p.stem for p in DOCS.glob("*.md") if BEGIN in p.read_text("utf-8")))
    parser.add_argument("file", type=Path)
    options = parser.parse_args()
    page = DOCS / f"{options.page}.md"
    try:
        text = filled(page.read_text("utf-8"), options.file.read_text("utf-8"))
    except (OSError, ValueError) as error:
        sys.stderr.write(f"{error}\n")
        return 1
    page.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
