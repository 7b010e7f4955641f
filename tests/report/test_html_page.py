"""The HTML file without a browser: self-contained, harmless, small, and true to its numbers."""

import base64
import hashlib
import json
import math
import re
from dataclasses import replace
from html.parser import HTMLParser
from importlib import resources

import numpy as np
import pytest

from helpers.recorded import recorded
from neuraldbg.records import CausalLink, SemanticEvent
from neuraldbg.report.html import render_html
from neuraldbg.report.html.curves import thinned
from neuraldbg.report.html.drawing import MOST_EVENTS, draw
from neuraldbg.report.html.layers import layer_maps
from neuraldbg.report.html.packing import NOT_FINITE, NOT_MEASURED, ZERO, as_json, pack

EVIL = "<script>alert(1)</script>"


class Elements(HTMLParser):
    """What a browser would find in the page."""

    def __init__(self, page):
        super().__init__(convert_charrefs=True)
        self.found, self.text, self._inside = [], [], None
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.found.append((tag, dict(attrs)))
        self._inside = tag

    def handle_endtag(self, tag):
        self._inside = None

    def handle_data(self, data):
        if self._inside not in ("script", "style"):
            self.text.append(data)

    @property
    def words(self):
        return " ".join(" ".join(self.text).split())


def data_of(page):
    return json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.S)[1])


def unpacked(packed):
    codes = np.frombuffer(base64.b64decode(packed["codes"]), "<u2")
    special = {NOT_MEASURED: math.nan, NOT_FINITE: math.inf, ZERO: -math.inf}
    return [special.get(int(code), packed["low"] + int(code) * packed["step"]) for code in codes]


def test_the_library_is_the_one_that_was_published():
    folder = resources.files("neuraldbg.report.html").joinpath("assets/uplot")
    sums = {name: hashlib.sha256(folder.joinpath(name).read_bytes()).hexdigest() for name in CHECKSUMS}
    assert sums == CHECKSUMS
    assert "MIT License" in folder.joinpath("LICENSE").read_text("utf-8")


def test_a_page_asks_for_nothing_and_runs_only_our_script(diagnoses):
    page = render_html(diagnoses["log_of_zero"], recorded(["a", "b"], 20))
    elements = Elements(page)
    policy = next(a["content"] for tag, a in elements.found if a.get("http-equiv") == "Content-Security-Policy")
    assert policy.startswith("default-src 'none'") and "unsafe" not in policy
    script = re.search(r"<script>(.*?)</script>\n</body>", page, re.S)[1]
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}'" in policy
    for _, attributes in elements.found:
        assert not any(name.startswith("on") or name == "style" for name in attributes)
        for name in ("src", "href"):
            assert attributes.get(name, "#").startswith(("#", "data:"))


def test_every_form_of_a_verdict_has_a_page(named):
    _, diagnosis = named
    for trace in (None, recorded(["a", "b"], 5)):
        elements = Elements(render_html(diagnosis, trace))
        identifiers = [attributes["id"] for _, attributes in elements.found if "id" in attributes]
        assert len(identifiers) == len(set(identifiers))
        for part in ("verdict", "loss", "map", "depth", "graph", "others", "hypotheses", "settings", "not-measured"):
            assert part in identifiers
        for hypothesis in diagnosis.hypotheses:
            assert " ".join(hypothesis.title.split()) in elements.words


def test_the_page_says_what_speaks_for_and_against_and_what_was_not_measured(diagnoses):
    words = Elements(render_html(diagnoses["log_of_zero"])).words
    assert "Speaks for it At step 418 p is exactly 0 in 3 of 64 rows" in words
    assert "Speaks against it The inputs of that batch are finite." in words
    assert "No loss scaler was used." in words and "1 questions without an answer" in words
    assert "softmax gives exact zeros step 417" in words


def test_a_tested_hypothesis_is_drawn_with_its_interval_and_its_verdict(diagnoses):
    page = render_html(diagnoses["close"])
    elements = Elements(page)
    words = elements.words
    assert "without a change it failed in 3 of 3 runs" in words
    assert "✓ confirmed" in words and "✗ refuted" in words and "? inconclusive" in words
    assert "Confirmed by raise_learning_rate: effect 0.82 (95 % interval 0.70 to 0.94)." in words
    assert "Failed in 3 of 3 runs without the change; failed in 0 of 3 runs with it; runs of 300 steps." in words
    assert "Probability before 0.55, after 0.97" in words and "- lr=1e-5" in page
    assert "Also tested: batch_norm_statistics" in words and "What you can do instead: log the statistics" in words
    pictures = re.findall(r'<svg class="effect (\w+)".*?</svg>', page, re.S)
    assert pictures == ["confirmed", "refuted"]
    # From -1 at 20 to 1 at 320: the dot at the effect, the bar from end to end of the interval.
    confirmed = re.search(r'<svg class="effect confirmed".*?</svg>', page, re.S)[0]
    assert '<circle cx="293.0"' in confirmed and 'class="bar" d="M275.0 18.0 H311.0"' in confirmed
    # What lies beyond the axis stands at its end.
    refuted = re.search(r'<svg class="effect refuted".*?</svg>', page, re.S)[0]
    assert '<circle cx="20.0"' in refuted and 'class="bar" d="M20.0 18.0 H320.0"' in refuted
    # The verdict at the top says it too, and a page without an experiment does not speak of one.
    assert words.index("Tested: confirmed") < words.index("Ranked by confidence")
    assert "Tested" not in Elements(render_html(diagnoses["log_of_zero"])).words


def test_names_in_a_verification_do_no_harm(diagnoses):
    base = diagnoses["close"]
    first = base.verifications[0].verdicts[0]
    hostile = replace(first, intervention=EVIL, reason=EVIL, changes=(EVIL,), trouble=(EVIL,), fix=(EVIL,), where=EVIL)
    tested = replace(base.verifications[0], verdicts=(hostile, replace(hostile, cause=EVIL)))
    page = render_html(replace(base, verifications=(tested,)))
    assert [tag for tag, _ in Elements(page).found].count("script") == 2


def test_names_of_the_user_do_no_harm(diagnoses):
    diagnosis = diagnoses["log_of_zero"]
    event = replace(diagnosis.events[0], layer=EVIL, metadata={"sentence": f"{EVIL} grows", EVIL: 1.0})
    root = replace(
        diagnosis.hypotheses[0], layer=EVIL, title=EVIL, explanation=f'"{EVIL}', evidence=(event,), remedy=EVIL
    )
    events, meta = (event, *diagnosis.events[1:]), {"script": EVIL, EVIL: EVIL}
    diagnosis = replace(diagnosis, events=events, hypotheses=(root,), notes=(EVIL,), meta=meta)
    page = render_html(diagnosis, recorded([EVIL, "</script><img src=x onerror=alert(2)>"], 30))
    assert [tag for tag, _ in Elements(page).found].count("script") == 2
    assert "img" not in [tag for tag, _ in Elements(page).found]
    assert data_of(page)["maps"]["labels"][0] == EVIL
    assert "<" not in as_json({EVIL: ["</script>"]}) and json.loads(as_json({EVIL: "&"})) == {EVIL: "&"}


def test_packed_numbers_come_out_as_they_went_in():
    values = np.array([[-12.5, 0.0, 3.25], [math.nan, math.inf, -math.inf]])
    out = unpacked(pack(values))
    assert out[:3] == pytest.approx(values[0].tolist(), abs=16 / 65000)
    assert math.isnan(out[3]) and out[4:] == [math.inf, -math.inf]
    extremes = np.array([-1e300, 1e300])
    assert unpacked(pack(extremes)) == pytest.approx(extremes.tolist())
    assert unpacked(pack(np.full(3, 2.0))) == [2.0, 2.0, 2.0]
    assert unpacked(pack(np.full(2, math.nan)))[0] != 0


def test_a_map_keeps_what_is_extreme_however_much_it_puts_together():
    layers = [f"block.{i}" for i in range(600)]
    trace = recorded(layers, 5000, every=5)
    series = trace.series("module.output_gradient_norm")
    series.values[400, 321] = 1e9
    series.values[700, 17] = np.inf
    series.values[900, 5] = 0.0
    maps = layer_maps(trace)
    gradient = next(part for part in maps.maps if part.metric.name == "gradient")
    assert len(maps.labels) <= 250 and len(maps.edges) <= 401

    def cell(layer, step):
        return gradient.cells[maps.row_of(layer), np.searchsorted(maps.edges, step, side="right") - 1]

    assert cell("block.321", 2000) == pytest.approx(9)
    assert cell("block.17", 3500) == np.inf
    assert cell("block.5", 4500) == -np.inf
    assert any("13 steps" in note and "3 layers" in note for note in maps.notes)


def test_gains_sum_to_the_whole_and_rows_follow_the_data():
    layers = ["third", "first", "second"]
    maps = layer_maps(recorded(layers, 50))
    assert maps.labels == tuple(layers)
    by_name = {part.metric.name: part for part in maps.maps}
    gradient, gain = by_name["gradient"].cells, by_name["gain"].cells
    assert np.nansum(gain, axis=0) == pytest.approx(gradient[0] - gradient[-1])
    assert by_name["update"].cells[0, 0] == pytest.approx(-3, abs=0.31)
    assert maps.row_of("second.weight") == 2 and maps.row_of("nowhere") is None and maps.row_of(None) is None


def test_a_curve_keeps_its_spike_and_its_first_infinity():
    steps = np.arange(100_000)
    values = np.sin(steps / 1000)
    values[43_210], values[77_777] = 50.0, np.inf
    kept, thin = thinned(steps, values, 1000)
    assert len(kept) <= 1500 and np.all(np.diff(kept) > 0)
    assert thin[kept == 43_210] == 50 and np.isinf(thin[kept == 77_777])


def test_a_crowded_graph_is_drawn_in_part_and_says_so(diagnoses):
    events = tuple(
        SemanticEvent("wiring_fault", f"layer{i}", None, "intact", "faulty", (i, i), 0.5, {"sentence": "word " * 60})
        for i in range(60)
    )
    links = tuple(CausalLink(i, i + 1, "forward_flow", 1, 0.5) for i in range(59))
    drawing = draw(replace(diagnoses["log_of_zero"], events=events, links=links))
    assert drawing.left_out == 60 - MOST_EVENTS
    tops = {node.identifier: node.top for node in drawing.nodes}
    assert all(tops[arrow.source] < tops[arrow.target] for arrow in drawing.arrows)
    assert all(0 <= node.left <= drawing.width and node.top + node.height <= drawing.height for node in drawing.nodes)
    assert all(len(line) <= 40 for node in drawing.nodes for line in node.lines)


def test_a_hundred_layers_and_ten_thousand_steps_are_small(diagnoses):
    page = render_html(diagnoses["two_faults"], recorded([f"layers.{i}" for i in range(100)], 10_000))
    assert len(page.encode()) <= 3_000_000


CHECKSUMS = {
    "uPlot.iife.min.js": "19c8d4c6ad88929a79f4ae49d6f7161566dfd0ba3d15cc495e974f787eb78f1f",
    "uPlot.min.css": "df630c6a8d6f8eeaff264b50f73ce5b114f646ffd9a0bb74f049b0a00135fa04",
}
