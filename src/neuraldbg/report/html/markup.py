"""The one place at which text becomes markup."""

from __future__ import annotations

import html

from neuraldbg.report.text import clean


def text(value: object) -> str:
    """Any string, on one line, as it may stand in an element or a quoted attribute."""
    return html.escape(clean(value), quote=True)
