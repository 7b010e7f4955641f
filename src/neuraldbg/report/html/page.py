"""The page as a whole: what it holds, in which order, and the policy that keeps it offline."""

from __future__ import annotations

import base64
import hashlib
from functools import lru_cache
from importlib import resources
from typing import Any

import numpy as np

from neuraldbg.measures.depth import main_chain
from neuraldbg.records import Diagnosis, Trace
from neuraldbg.report.html import sections
from neuraldbg.report.html.curves import Chart, charts
from neuraldbg.report.html.drawing import Drawing, draw
from neuraldbg.report.html.layers import METRICS, LayerMaps, layer_maps
from neuraldbg.report.html.markup import text
from neuraldbg.report.html.packing import as_json, pack
from neuraldbg.report.html.sections import details, section, table
from neuraldbg.report.text import clean, number
from neuraldbg.report.view import build_view

_SCRIPTS = ("uplot/uPlot.iife.min.js", "start.js", "charts.js", "map.js", "graph.js")
_STYLES = ("uplot/uPlot.min.css", "page.css")


def render_html(diagnosis: Diagnosis, trace: Trace | None = None) -> str:
    """One self-contained HTML file that opens offline; without a trace it holds the text and the graph alone."""
    view = build_view(diagnosis, verbose=True)
    maps = layer_maps(trace) if trace is not None else None
    drawn = charts(trace) if trace is not None else {}
    drawing = draw(diagnosis)
    body = [
        sections.verdict(view, diagnosis),
        _loss(drawn.get("loss"), diagnosis),
        _map(maps),
        _depth(maps, trace),
        sections.graph(drawing, diagnosis),
        _others([chart for name, chart in drawn.items() if name != "loss"]),
        sections.hypotheses(diagnosis),
        sections.settings(view, trace),
        sections.not_measured(diagnosis, maps, maps.notes if maps is not None else ()),
    ]
    return _document(view.header, "".join(body), _data(diagnosis, maps, drawn, drawing))


def _document(title: str, body: str, data: str) -> str:
    script, style = _assets(_SCRIPTS), _assets(_STYLES)
    policy = (
        f"default-src 'none'; script-src '{_hash(script)}'; style-src '{_hash(style)}'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n<meta name="referrer" content="no-referrer">\n'
        f'<link rel="icon" href="data:,">\n<title>{text(title)}</title>\n<style>{style}</style>\n</head>\n<body>\n'
        '<a class="skip" href="#main">Skip to the verdict</a>\n'
        f'<header><h1>{text(title)}</h1><label for="theme">Colours</label> <select id="theme">'
        '<option value="">as the system</option><option value="light">light</option><option value="dark">dark</option>'
        f'</select></header>\n{_NAVIGATION}<main id="main" tabindex="-1">{body}</main>\n'
        f'<script type="application/json" id="data">{data}</script>\n<script>{script}</script>\n</body>\n</html>\n'
    )


_NAVIGATION = (
    '<nav aria-label="Parts of the report"><ul><li><a href="#verdict">Verdict</a></li><li><a href="#loss">Loss</a></li>'
    '<li><a href="#map">Layers</a></li><li><a href="#depth">Depth</a></li><li><a href="#graph">Graph</a></li>'
    '<li><a href="#others">Inputs and rates</a></li><li><a href="#hypotheses">Hypotheses</a></li>'
    '<li><a href="#settings">Settings</a></li><li><a href="#not-measured">Not measured</a></li></ul></nav>\n'
)


@lru_cache(maxsize=4)
def _assets(names: tuple[str, ...]) -> str:
    folder = resources.files("neuraldbg.report.html").joinpath("assets")
    return "\n".join(folder.joinpath(name).read_text("utf-8").strip() for name in names)


def _hash(content: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(content.encode("utf-8")).digest()).decode("ascii")


def _loss(chart: Chart | None, diagnosis: Diagnosis) -> str:
    if chart is None:
        return section("loss", "Loss", "<p>No loss was recorded.</p>")
    onset = f" The dashed line marks step {diagnosis.symptom.step:,}, where it goes wrong." if diagnosis.symptom else ""
    marks = " Ticks at the top, numbered, mark events; the list below names them." if diagnosis.events else ""
    body = sections.chart(chart, heading="") + '<ol id="marks" class="marks"></ol>'
    return section("loss", "Loss", body, f"Drag to zoom, double click to see all.{onset}{marks}")


def _map(maps: LayerMaps | None) -> str:
    if maps is None or not maps.maps:
        return section("map", "Layers over time", "<p>No layer was measured.</p>")
    choices = "".join(f'<option value="{part.metric.name}">{text(part.metric.title)}</option>' for part in maps.maps)
    layers = "".join(f'<option value="{row}">{text(label)}</option>' for row, label in enumerate(maps.labels))
    notes = "".join(f'<p class="quiet">{text(note)}</p>' for note in maps.notes)
    rows = []
    for row, label in enumerate(maps.labels):
        cells = [label]
        for part in maps.maps:
            known = part.cells[row][~np.isnan(part.cells[row])]
            cells.append(f"{_value(known[0])} → {_value(known[-1])}" if known.size else "not measured")
        rows.append(cells)
    body = (
        f'<div class="controls"><label for="metric">Show</label> <select id="metric">{choices}</select> '
        f'<label for="layer">Layer</label> <select id="layer">{layers}</select></div>'
        '<p id="metric-words" class="quiet"></p>'
        '<div id="map-box" class="map" tabindex="0" role="application" aria-roledescription="heat map" '
        'aria-label="Layers over time; arrow keys move, Enter chooses a layer" aria-describedby="map-reading">'
        '<canvas id="map-canvas"></canvas></div>'
        '<div id="map-legend" class="legend"></div>'
        '<p id="map-reading" class="reading" role="status">Point at a cell, or walk with the arrow keys.</p>'
        f'{notes}<h3 id="layer-title">One layer</h3>'
        '<div class="chart" id="layer-chart" role="img" aria-label="The chosen layer over time"></div>'
        '<p id="layer-words" class="quiet"></p>'
        + details(
            "Numbers: layers over time",
            table("First and last value of each layer", ["layer", *(part.metric.title for part in maps.maps)], rows),
        )
    )
    return section(
        "map", "Layers over time", body, "First layers at the top, the loss at the bottom, time to the right."
    )


def _value(value: float) -> str:
    if np.isposinf(value):
        return "not finite"
    return "zero" if np.isneginf(value) else number(float(value))


def _depth(maps: LayerMaps | None, trace: Trace | None) -> str:
    if maps is None or trace is None or not any(part.metric.name == "gradient" for part in maps.maps):
        return section("depth", "Gradient over depth", "<p>No gradient of a layer was measured.</p>")
    words = "; ".join(_depth_words(trace, stage) for stage in ("early", "late") if _depth_words(trace, stage))
    body = (
        '<div class="controls"><label for="depth-step">At step</label> '
        '<input type="range" id="depth-step" min="0" value="0"> <output id="depth-at" for="depth-step"></output></div>'
        f'<div class="chart" id="depth-chart" role="img" aria-label="Gradient norm by layer. {text(words)}"></div>'
        '<p id="depth-words" class="quiet" role="status"></p>'
    )
    return section("depth", "Gradient over depth", body, text(f"{words}.") if words else "")


def _depth_words(trace: Trace, stage: str) -> str:
    chain = main_chain(trace, stage)
    if chain is None or len(chain.modules) < 2 or chain.log_gradient_ratio == 0:
        return ""
    first, last = chain.modules[0], chain.modules[-1]
    when = "At the start of the run" if stage == "early" else "in its last third"
    share, link = chain.largest_share
    where = f", {share:.0%} of that at '{clean(link.module)}'" if link is not None and share >= 0.2 else ""
    factor = chain.log_gradient_ratio
    change = "falls" if factor < 0 else "grows"
    return (
        f"{when} the gradient norm {change} by a factor of 10^{abs(factor):.1f} from '{clean(last)}' back to "
        f"'{clean(first)}'{where if factor < 0 else ''}"
    )


def _others(parts: list[Chart]) -> str:
    if not parts:
        return section("others", "Inputs, targets, learning rate", "<p>Nothing of them was recorded.</p>")
    grid = "".join(sections.chart(part) for part in parts)
    return section("others", "Inputs, targets, learning rate", f'<div class="grid">{grid}</div>')


def _data(diagnosis: Diagnosis, maps: LayerMaps | None, drawn: dict[str, Chart], drawing: Drawing | None) -> str:
    data: dict[str, Any] = {
        "outcome": diagnosis.outcome,
        "steps": diagnosis.steps,
        "onset": diagnosis.symptom.step if diagnosis.symptom is not None else None,
        "charts": {name: chart.data() for name, chart in drawn.items()},
        "nodes": {},
        "maps": None,
    }
    if maps is not None and maps.maps:
        data["maps"] = {
            "labels": [clean(label) for label in maps.labels],
            "members": [len(group) for group in maps.members],
            "edges": maps.edges.tolist(),
            "metrics": [
                {
                    "name": part.metric.name,
                    "title": part.metric.title,
                    "scale": part.metric.scale,
                    "words": part.metric.explanation,
                    "measured": part.measured.astype(int).tolist(),
                    "cells": pack(part.cells),
                }
                for part in maps.maps
            ],
            "known": [metric.name for metric in METRICS],
        }
    for node in drawing.nodes if drawing is not None else ():
        data["nodes"][node.identifier] = {
            "kind": node.kind,
            "title": node.title,
            "detail": node.detail,
            "steps": list(node.steps) if node.steps else None,
            "place": clean(node.place) if node.place is not None else None,
            "row": maps.row_of(node.place) if maps is not None else None,
            "numbers": [list(pair) for pair in node.numbers],
            "sentences": _sentences(diagnosis, node.identifier),
        }
    return as_json(data)


def _sentences(diagnosis: Diagnosis, identifier: str) -> list[str]:
    """The evidence behind a cause, shown when its box is chosen."""
    if not identifier.startswith("h"):
        return []
    hypothesis = diagnosis.hypotheses[int(identifier[1:])]
    return [clean(finding.sentence) for finding in hypothesis.supporting if finding.sentence] or [
        clean(hypothesis.explanation)
    ]
