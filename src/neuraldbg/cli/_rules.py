"""The pages of the rules: the docstring of a cause or a detector is its documentation."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from difflib import get_close_matches
from importlib import import_module, resources
from typing import Any

from rich.console import Console
from rich.text import Text

from neuraldbg.records import EVENT_TYPES, FAILURE_TYPES, STATES

#: The same parser, under the name that it had before it came into the standard library.
_toml: Any = import_module("tomllib" if sys.version_info >= (3, 11) else "tomli")

_FOLDERS = {"cause": "neuraldbg.causes", "detector": "neuraldbg.detectors"}
#: The fixed headings of rules; a line that is one of them starts a section.
HEADINGS = frozenset(
    {
        *("what it detects", "why it matters", "evidence", "when it is wrong", "references"),
        *("mechanism", "what you would see", "what rules it out", "how it is verified", "remedy"),
    }
)


@dataclass(frozen=True)
class Page:
    """What is known about one name."""

    name: str
    #: "cause", "detector", "event" or "failure".
    kind: str
    #: One line.
    summary: str
    #: Paragraphs under headings; empty where no rule is written yet.
    body: str = ""


def names() -> list[str]:
    """Every name that has a page, sorted."""
    files = {name for kind in _FOLDERS for name, _ in _files(kind)}
    return sorted(files | set(vocabulary()) | set(EVENT_TYPES) | set(FAILURE_TYPES))


def page(name: str) -> Page | None:
    """The page of a cause, a detector, an event type or a failure type."""
    words = vocabulary().get(name)
    for kind in _FOLDERS:
        for found, file in _files(kind):
            if found == name:
                first, _, body = (ast.get_docstring(ast.parse(file.read_text("utf-8"))) or "").partition("\n")
                return Page(name, kind, first, body.strip("\n"))
    if words:
        body = f"Remedy\n\n{words['do']}\n\nNo rule names this cause yet."
        return Page(name, "cause", words["says"], body)
    if name in EVENT_TYPES:
        makers = [found for found, file in _files("detector") if f'"{name}"' in file.read_text("utf-8")]
        body = f"Its states: {', '.join(STATES[name])}."
        if makers:
            body += f"\n\nRaised by: {', '.join(makers)}."
        return Page(name, "event", "a change of state at one place, over a range of steps", body)
    if name in FAILURE_TYPES:
        causes = [found for found, file in _files("cause") if f'"{name}"' in file.read_text("utf-8")]
        body = f"Causes that lead to it: {', '.join(causes)}." if causes else ""
        return Page(name, "failure", f'what explain_failure("{name}") is asked about', body)
    return None


def near(name: str) -> list[str]:
    """Names that resemble this one or contain it, best first; at most five."""
    wanted = name.lower().replace("-", "_").replace(" ", "_")
    known = names()
    similar = get_close_matches(wanted, known, n=5, cutoff=0.55)
    words = [word for word in wanted.split("_") if len(word) > 3]
    containing = [other for other in known if wanted in other or any(word in other for word in words)]
    return list(dict.fromkeys([*similar, *containing]))[:5]


def vocabulary() -> dict[str, dict[str, Any]]:
    """The vocabulary of causes: code → group, says, locus, do."""
    text = resources.files("neuraldbg.causes").joinpath("vocabulary.toml").read_text("utf-8")
    loaded: dict[str, dict[str, Any]] = _toml.loads(text)
    return loaded


def print_page(shown: Page, console: Console) -> None:
    """The page with its headings in bold, wrapped to at most 98 columns."""
    width = min(console.width, 98)
    console.print(Text.assemble((shown.name, "bold"), (f"   {shown.kind}", "dim")))
    summary = shown.summary[:1].upper() + shown.summary[1:]
    for text, style, indent in [(summary, "", 0), ("", "", 0), *_lines(shown.body)]:
        for line in Text(text, style=style).wrap(console, width - indent) if text else [Text("")]:
            line.rstrip()
            console.print(Text(" " * indent) + line, soft_wrap=True, highlight=False)


def _lines(body: str) -> Iterator[tuple[str, str, int]]:
    """(text, style, indent) of the parts of a docstring; the lines of a paragraph are joined, lists are kept."""
    lines = body.splitlines()
    paragraph: list[str] = []
    indent = 0

    def flush() -> Iterator[tuple[str, str, int]]:
        if paragraph:
            yield " ".join(paragraph), "", indent
            paragraph.clear()

    for position, line in enumerate(lines):
        text = line.strip()
        following = lines[position + 1].strip() if position + 1 < len(lines) else ""
        if set(text) <= set("-=~") and len(text) > 2:
            continue
        heading = text.strip("#*: ").lower() in HEADINGS or (len(following) > 2 and set(following) <= set("-=~"))
        if heading and text:
            yield from flush()
            yield text.strip("#*: "), "bold", 0
            indent = 2
        elif not text:
            yield from flush()
            yield "", "", 0
        elif text.startswith(("- ", "* ", "· ")) or line.startswith("    "):
            yield from flush()
            paragraph.append(text if text[0] in "-*·" else line)
            if line.startswith("    "):
                yield from flush()
        else:
            paragraph.append(text)
    yield from flush()


def _files(kind: str) -> list[tuple[str, Any]]:
    """(name, file) of all rules of a kind, sorted."""
    folder = resources.files(_FOLDERS[kind].rpartition(".")[0]).joinpath(_FOLDERS[kind].rpartition(".")[2])
    if not folder.is_dir():
        return []
    found = [(file.name[:-3], file) for file in folder.iterdir() if file.name.endswith(".py")]
    return sorted(((name, file) for name, file in found if not name.startswith("_")), key=lambda pair: pair[0])
