"""The verdict as text: coloured on a terminal, plain when piped, whole in 40 columns."""

from __future__ import annotations

import io
import sys
from collections.abc import Mapping, Sequence
from typing import IO

from rich.console import Console
from rich.text import Text

from neuraldbg.records import Diagnosis
from neuraldbg.report.view import ChainLine, Reason, Rival, View, build_view

#: Columns of the label at the left (FAILED, WHY, ...).
LABEL = 9
#: Longer lines are hard to read, whatever the terminal offers.
WIDEST = 98
#: Below this, columns are given up and parts follow each other.
NARROW = 60

_STYLES = {"FAILED": "bold red", "WHY": "bold yellow", "ALSO": "bold yellow", "DO": "bold green"}
_PLAIN = str.maketrans({"→": "->", "·": "-", "…": "...", "×": "x", "—": "-", "–": "-", "−": "-", "≈": "~", "≤": "<="})


def render(
    diagnosis: Diagnosis,
    *,
    width: int = 80,
    verbose: bool = False,
    series: Mapping[str, Sequence[float]] | None = None,
    prove_with: str = "",
) -> str:
    """The verdict as plain text of at most ``width`` columns, ending in a newline."""
    view = build_view(diagnosis, verbose=verbose, series=series, prove_with=prove_with)
    stream = io.StringIO()
    _write(
        view, Console(file=stream, width=width, color_system=None, force_terminal=False, legacy_windows=False), width
    )
    return stream.getvalue()


def print_verdict(
    diagnosis: Diagnosis,
    *,
    file: IO[str] | None = None,
    width: int | None = None,
    verbose: bool = False,
    series: Mapping[str, Sequence[float]] | None = None,
    prove_with: str = "",
) -> None:
    """Prints the verdict to ``file`` (standard output): in colour on a terminal, as plain text elsewhere."""
    target = sys.stdout if file is None else file
    view = build_view(diagnosis, verbose=verbose, series=series, prove_with=prove_with)
    console = Console(file=target, width=width, soft_wrap=False, highlight=False)
    columns = min(console.width, WIDEST)
    if can_print(target, "→·…×"):
        _write(view, console, columns)
        return
    stream = io.StringIO()
    _write(view, Console(file=stream, width=columns, color_system=None, force_terminal=False), columns)
    target.write(to_encodable(stream.getvalue(), target))


def can_print(file: IO[str], text: str) -> bool:
    """Whether the stream's encoding holds the text."""
    try:
        text.encode(getattr(file, "encoding", None) or "utf-8")
    except (UnicodeEncodeError, LookupError):
        return False
    return True


def to_encodable(text: str, file: IO[str]) -> str:
    """The text with arrows and dots replaced by ASCII ones, and whatever else the encoding lacks spelled out."""
    encoding = getattr(file, "encoding", None) or "ascii"
    return text.translate(_PLAIN).encode(encoding, "backslashreplace").decode(encoding)


def _write(view: View, console: Console, width: int) -> None:
    for line in _Page(console, max(width, 20)).lines(view):
        line.rstrip()
        console.print(line, soft_wrap=True, highlight=False, markup=False, emoji=False)


class _Page:
    """Lays a view out in lines; nothing here decides what is said."""

    def __init__(self, console: Console, width: int) -> None:
        self.console = console
        self.width = width
        self.narrow = width < NARROW

    def lines(self, view: View) -> list[Text]:
        if view.outcome in ("healthy", "unseen"):
            out = self.paragraph(view.headline)
            out += [line for action in view.actions for line in self.paragraph(action)]
            if view.harmless:
                out += self.paragraph(f"Seen on the way, harmless here: {'; '.join(view.harmless)}.")
            return out + self.appendix(view)
        out = [*self.paragraph(view.header, "bold"), Text("")]
        out += self.block("FAILED", self.wrap(view.headline, "bold"))
        out += self.block("WHY", self.reason(view.reasons[0]) if view.reasons else self.undecided(view.rivals))
        if view.chain:
            out += self.block("CHAIN", self.chain(view.chain))
        if view.actions:
            out += self.block("DO", [line for action in view.actions for line in self.wrap(action)])
        for reason in view.reasons[1:]:
            out += self.block("ALSO", [*self.reason(reason), *self.wrap(reason.remedy, hanging=2, prefix="Do: ")])
        if view.alternatives:
            out += self.block("ELSE", self.joined(view.alternatives))
        if view.harmless:
            out += self.block("SEEN", self.wrap(f"harmless here: {'; '.join(view.harmless)}."))
        return out[:-1] + self.appendix(view)

    def appendix(self, view: View) -> list[Text]:
        """Notes always; findings, curves and settings when the view holds them."""
        out: list[Text] = []
        if view.notes:
            out += self.block("NOTE", [line for note in view.notes for line in self.wrap(note, hanging=2)])
        if view.curves:
            longest = max(len(curve.name) for curve in view.curves)
            rows = [f"{curve.name:<{longest}}  {curve.blocks}  {curve.ends}" for curve in view.curves]
            out += self.block("CURVES", [line for row in rows for line in self.wrap(row, hanging=2)])
        if view.answers:
            rows_of_answers: list[Text] = []
            for answer in view.answers:
                rows_of_answers += self.wrap(f"{answer.answer:<12}  {answer.name}")
                for text in (answer.sentence, answer.detail):
                    rows_of_answers += self.wrap(text, "" if text is answer.sentence else "dim", indent=4)
            out += self.block("ASKED", rows_of_answers)
        if view.settings:
            out += self.block(
                "RUN", [x for name, value in view.settings for x in self.wrap(f"{name}: {value}", hanging=2)]
            )
        return [Text(""), *out[:-1]] if out else []

    def block(self, label: str, body: list[Text]) -> list[Text]:
        """The label beside the first line, the rest indented below it, an empty line after it."""
        out: list[Text] = []
        style = _STYLES.get(label, "bold")
        for position, line in enumerate(body):
            head = Text(f"{label:<{LABEL}}", style=style) if position == 0 else Text(" " * LABEL)
            if self.narrow:
                if position == 0:
                    out.append(Text(label, style=style))
                head = Text("  ")
            out.append(head + line)
        return [*out, Text("")] if body else []

    @property
    def room(self) -> int:
        """Columns beside the label."""
        return self.width - (2 if self.narrow else LABEL)

    def wrap(self, text: str, style: str = "", *, indent: int = 0, hanging: int = 0, prefix: str = "") -> list[Text]:
        """The text in lines of at most ``room`` columns; ``hanging`` indents all lines but the first."""
        if not text:
            return []
        return self.fold(prefix + text, self.room, style, indent, hanging)

    def paragraph(self, text: str, style: str = "") -> list[Text]:
        return self.fold(text, self.width, style, 0, 0)

    def fold(self, text: str, room: int, style: str, indent: int, hanging: int) -> list[Text]:
        lines = Text(text).wrap(self.console, max(room - indent - hanging, 8), overflow="fold")
        out = []
        for position, line in enumerate(lines):
            line.rstrip()
            line.stylize(style)
            out.append(Text(" " * (indent + (hanging if position else 0))) + line)
        return out

    def reason(self, reason: Reason) -> list[Text]:
        """Title and confidence, code and place and source line, then the sentences."""
        confidence = f"confidence {reason.confidence:.2f}"
        title = Text(reason.title)
        if title.cell_len + 2 + len(confidence) <= self.room:
            title.stylize("bold")
            out = [title + Text(" " * (self.room - title.cell_len - len(confidence))) + Text(confidence)]
        else:
            out = [*self.wrap(reason.title, "bold"), *self.wrap(confidence)]
        place = " · ".join(part for part in (reason.cause, reason.place) if part)
        together = f"{place}   {reason.code}" if reason.code else place
        if Text(together).cell_len <= self.room:
            out += self.wrap(together, "dim")
        else:
            out += [*self.wrap(place, "dim"), *self.wrap(reason.code, "dim", indent=2)]
        return [*out, *self.wrap(reason.sentences), *self.wrap(reason.proof)]

    def undecided(self, rivals: tuple[Rival, ...]) -> list[Text]:
        """What it hangs between, or that nothing in the vocabulary explains it."""
        if not rivals:
            return self.wrap("Can't tell: no cause in the vocabulary explains it.", "bold")
        words = {1: "one cause explains it, and not well", 2: "two causes explain it equally well"}
        out = self.wrap(
            f"Can't tell yet: {words.get(len(rivals), f'{len(rivals)} causes explain it equally well')}.", "bold"
        )
        longest = max(len(rival.cause) for rival in rivals)
        for rival in rivals:
            start = f"{rival.cause:<{longest}}   {rival.confidence:.2f}"
            left = longest + 10
            if self.narrow or self.room - left < 24:
                out += [*self.wrap(start, indent=2), *self.wrap(rival.sentence, indent=4)]
                continue
            body = self.fold(rival.sentence, self.room - 2 - left, "", 0, 0) or [Text("")]
            out += [Text(f"  {start if i == 0 else '':<{left}}") + line for i, line in enumerate(body)]
        return out

    def chain(self, chain: tuple[ChainLine, ...]) -> list[Text]:
        """Root first, effects under it behind arrows; the steps stand below each other where there is room."""
        texts = [Text(line.text if i == 0 else f"  → {line.text}") for i, line in enumerate(chain)]
        widest_step = max(len(line.when) for line in chain)
        if self.narrow:
            out = []
            for text, line in zip(texts, chain):
                parts = " ".join(
                    part for part in (text.plain, f"· {line.when}" if line.when else "", line.note) if part
                )
                out += self.wrap(parts, hanging=4)
            return out
        column = min(max(text.cell_len for text in texts), self.room - widest_step - 4)
        out = []
        for text, line in zip(texts, chain):
            body = self.fold(text.plain, column, "", 0, 4) if text.cell_len > column else [text]
            if line.when:
                last = body[0]
                body[0] = last + Text(" " * (column - last.cell_len + 4) + f"{line.when:<{widest_step}}", "cyan")
            if line.note and body[0].cell_len + 3 + Text(line.note).cell_len <= self.room:
                body[0] = body[0] + Text(f"   {line.note}", "dim")
            elif line.note:
                body += self.wrap(line.note, "dim", indent=4)
            out += body
        return out

    def joined(self, entries: tuple[str, ...]) -> list[Text]:
        """Entries between dots, broken between entries and not inside one."""
        out: list[Text] = []
        current = ""
        for entry in entries:
            together = f"{current} · {entry}" if current else entry
            if current and Text(together).cell_len > self.room:
                out += self.wrap(current, hanging=2)
                current = entry
            else:
                current = together
        return out + self.wrap(current, hanging=2)
