"""The flowchart is valid Mermaid, also under hostile names."""

from __future__ import annotations

import dataclasses
import re

from neuraldbg.records import Diagnosis
from neuraldbg.report import causal_graph
from neuraldbg.report.mermaid import escape

_LABEL = r'"[^"<>]*(?:<br/>[^"<>]*)*"'
_LINES = (
    r"flowchart TD",
    rf"    h\d+\(\[{_LABEL}\]\):::cause",
    rf"    (?:e\d+|nothing)\[{_LABEL}\]",
    rf"    symptom\{{\{{{_LABEL}\}}\}}:::symptom",
    rf"    e\d+ -->\|{_LABEL}\| e\d+",
    r"    (?:h\d+|e\d+) -\.-> (?:e\d+|symptom)",
    r"    classDef \w+ [\w:\- ]+",
)


def check(text: str) -> None:
    """Each line is one of the statements that we use, and each node of an edge is declared."""
    for line in text.splitlines():
        assert any(re.fullmatch(pattern, line) for pattern in _LINES), line
    declared = set(re.findall(r"^    (\w+)[\[({]", text, re.M))
    edges = [
        re.split(r"\s(?:-->\|.*\||-\.->)\s", line.strip())
        for line in text.splitlines()
        if "->" in line and "[" not in line
    ]
    used = {node for edge in edges if len(edge) == 2 for node in edge}
    assert used <= declared


def test_graph_is_valid(named: tuple[str, Diagnosis]) -> None:
    check(causal_graph(named[1]))


def test_causes_point_at_their_roots_and_last_events_at_the_symptom(diagnoses: dict[str, Diagnosis]) -> None:
    lines = causal_graph(diagnoses["log_of_zero"]).splitlines()
    assert "    h0 -.-> e0" in lines and "    h0 -.-> e1" not in lines
    assert "    e2 -.-> symptom" in lines and "    e0 -.-> symptom" not in lines
    assert '    e0 -->|"forward, 118 steps later"| e1' in lines


def test_hostile_names_are_escaped(diagnoses: dict[str, Diagnosis]) -> None:
    name = '"]; click e0 "javascript:alert(1)" <script>alert(1)</script> `x` #quot; %%{init}%% \x1b\n end | subgraph'
    first = diagnoses["log_of_zero"]
    event = dataclasses.replace(first.events[0], layer=name, metadata={"sentence": name})
    root = dataclasses.replace(first.hypotheses[0], title=name, layer=name, evidence=(event,))
    text = causal_graph(
        dataclasses.replace(
            first,
            events=(event, *first.events[1:]),
            hypotheses=(root,),
            symptom=dataclasses.replace(first.symptom, sentence=name),
            links=tuple(dataclasses.replace(link, reason=name) for link in first.links),
        )
    )
    check(text)
    assert "<script" not in text and "javascript:" not in text and "\x1b" not in text


def test_escape_leaves_words_alone() -> None:
    assert escape("softmax gives exact zeros, step 417") == "softmax gives exact zeros, step 417"
    assert escape('"<#') == "#34;#60;#35;"
