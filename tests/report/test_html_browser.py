"""The HTML file in a real Chromium with its network off: it loads, answers to mouse and keyboard, and reads well.

Pictures of the page, narrow and wide, light and dark, go to the folder that NEURALDBG_SCREENSHOTS names.
"""

import json
import os
from dataclasses import replace
from pathlib import Path

import pytest

from helpers import browser as chromium
from helpers.recorded import recorded
from neuraldbg.records import CausalLink, SemanticEvent
from neuraldbg.report.html import render_html

pytestmark = pytest.mark.skipif(bool(chromium.why_not()), reason=chromium.why_not() or "there is a browser")

EVIL = "<script>alert(1)</script>"
LAYERS = [f"encoder.layers.{i}" for i in range(12)] + [EVIL, "head"]


@pytest.fixture(scope="module")
def driver():
    with chromium.browser() as opened:
        yield opened


@pytest.fixture(scope="module")
def page(tmp_path_factory, diagnoses):
    """A failed run with a linked graph, under a module whose name is markup."""
    base = diagnoses["log_of_zero"]
    events = (
        SemanticEvent("activation_regime_shift", EVIL, None, "normal", "exploding", (300, 417), 0.8, {"factor": 14.0}),
        replace(base.events[1], metadata={"subject": "loss", "sentence": "the loss is NaN", "last": 1.5}),
        SemanticEvent("gradient_health_transition", "encoder.layers.3", None, "healthy", "non_finite", (419, 611), 1.0),
    )
    links = (CausalLink(0, 1, "forward_flow", 118, 0.9), CausalLink(1, 2, "backward_flow", 1, 1.0))
    root = replace(base.hypotheses[0], evidence=events[:2], layer="head")
    tested = diagnoses["close"].verifications[0]
    causes = (root.cause, base.hypotheses[1].cause)
    verdicts = tuple(replace(verdict, cause=cause) for verdict, cause in zip(tested.verdicts, causes))
    diagnosis = replace(
        base, events=events, links=links, hypotheses=(root, base.hypotheses[1]),
        verifications=(replace(tested, verdicts=(*verdicts, tested.verdicts[2])),),
    )  # fmt: skip
    path = tmp_path_factory.mktemp("page") / "run.html"
    path.write_text(render_html(diagnosis, recorded(LAYERS, 612, broken_from=418)), encoding="utf-8")
    return path


def open_page(driver, path, width=1280, dark=False):
    """Loads the page; forgets what the console and the network said before."""
    chromium.look(driver, width, dark=dark)
    for log in ("browser", "performance"):
        driver.get_log(log)
    driver.get(path.as_uri())
    assert driver.execute_script("return document.documentElement.dataset.ready") == "yes"


def words_of(driver, selector):
    return driver.execute_script(f"return document.querySelector({selector!r}).textContent")


def at_cell(driver, row, column):
    """Page position of a cell of the map."""
    return driver.execute_script(
        "byId('map-canvas').scrollIntoView({block: 'center'});"
        "const box = byId('map-canvas').getBoundingClientRect(), columns = report.maps.edges.length - 1;"
        "return [box.left + map.labels + (arguments[1] + .5) * map.width / columns,"
        " box.top + (arguments[0] + .5) * map.height / report.maps.labels.length]",
        row,
        column,
    )


def mouse(driver, kind, x, y):
    button = {"button": "left", "clickCount": 1} if kind != "mouseMoved" else {}
    driver.execute_cdp_cmd("Input.dispatchMouseEvent", {"type": kind, "x": x, "y": y, **button})


def press(driver, key, code=0):
    for kind in ("keyDown", "keyUp"):
        driver.execute_cdp_cmd("Input.dispatchKeyEvent", {"type": kind, "key": key, "windowsVirtualKeyCode": code})


def test_it_loads_offline_without_a_word_on_the_console(driver, page):
    open_page(driver, page)
    assert driver.get_log("browser") == []
    asked = [json.loads(entry["message"])["message"] for entry in driver.get_log("performance")]
    urls = [m["params"]["request"]["url"] for m in asked if m["method"] == "Network.requestWillBeSent"]
    assert {url for url in urls if not url.startswith("data:")} == {page.as_uri()}
    assert driver.execute_script("return document.querySelectorAll('.chart canvas').length") >= 5


def test_the_policy_refuses_requests_and_foreign_scripts(driver, page):
    open_page(driver, page)
    driver.execute_script(
        "const s = document.createElement('script'); s.textContent = 'window.intruder = 1'; document.body.append(s);"
        "const i = new Image(); i.src = 'http://127.0.0.1:9/x.png'; document.body.append(i);"
    )
    assert driver.execute_script("return window.intruder") is None
    refused = [entry["message"] for entry in driver.get_log("browser")]
    assert sum("Content Security Policy" in message for message in refused) >= 2


def test_hover_gives_numbers_and_a_click_chooses_the_layer(driver, page):
    open_page(driver, page)
    x, y = at_cell(driver, 12, 10)
    mouse(driver, "mouseMoved", x, y)
    reading = words_of(driver, "#map-reading")
    assert reading.startswith(f"{EVIL}, steps 20 to 21: gradient norm 0.7") or "log10 -0.1" in reading
    mouse(driver, "mousePressed", x, y)
    mouse(driver, "mouseReleased", x, y)
    assert words_of(driver, "#layer-title") == f"One layer: {EVIL}"
    x, y = at_cell(driver, 2, 300)
    mouse(driver, "mouseMoved", x, y)
    assert "not finite" in words_of(driver, "#map-reading")


def test_the_metric_is_chosen(driver, page):
    open_page(driver, page)
    offered = driver.execute_script("return [...byId('metric').options].map((o) => o.value)")
    assert offered == ["gradient", "gain", "dead", "saturated", "update"]
    for name in offered:
        driver.execute_script(
            "byId('metric').value = arguments[0]; byId('metric').dispatchEvent(new Event('change'))", name
        )
        assert driver.execute_script("return map.metric.name") == name
    x, y = at_cell(driver, 0, 0)
    mouse(driver, "mouseMoved", x, y)
    assert "update ratio" in words_of(driver, "#map-reading") and "log10 -2." in words_of(driver, "#map-reading")


def test_a_node_shows_its_evidence_and_its_place_on_the_map(driver, page):
    open_page(driver, page)
    x, y = driver.execute_script(
        "const n = document.querySelector('[data-node=e2]'); n.scrollIntoView({block: 'center'});"
        "const b = n.getBoundingClientRect(); return [b.left + b.width / 2, b.top + b.height / 2]"
    )
    mouse(driver, "mousePressed", x, y)
    mouse(driver, "mouseReleased", x, y)
    assert "encoder.layers.3" in words_of(driver, "#evidence") and "steps 419 to 611" in words_of(driver, "#evidence")
    first = driver.execute_script("return report.maps.edges[map.marked.first]")
    assert driver.execute_script("return map.marked.row") == 3 and 417 <= first <= 419
    assert words_of(driver, "#layer-title") == "One layer: encoder.layers.3"


def test_everything_works_by_keyboard(driver, page):
    open_page(driver, page)
    driver.execute_script("byId('map-box').focus()")
    for _ in range(3):
        press(driver, "ArrowDown", 40)
    press(driver, "End", 35)
    press(driver, "Enter", 13)
    assert words_of(driver, "#map-reading").startswith("encoder.layers.3, ")
    assert words_of(driver, "#layer-title") == "One layer: encoder.layers.3"
    driver.execute_script("document.querySelector('[data-node=h0]').focus()")
    press(driver, "Enter", 13)
    assert "A logarithm of zero inside the loss" in words_of(driver, "#evidence")
    assert driver.execute_script("return document.activeElement.getAttribute('aria-pressed')") == "true"
    assert driver.execute_script(
        "return [...document.querySelectorAll('select, input, .node, summary, .map, nav a')]"
        ".every((element) => element.tabIndex >= 0)"
    )


@pytest.mark.parametrize("width", (390, 1280))
@pytest.mark.parametrize("dark", (False, True), ids=("light", "dark"))
def test_it_fits_reads_and_has_no_barrier(driver, page, width, dark):
    open_page(driver, page, width, dark)
    assert driver.execute_script("return document.documentElement.scrollWidth") <= width
    background = driver.execute_script("return getComputedStyle(document.body).backgroundColor")
    assert background == ("rgb(15, 19, 24)" if dark else "rgb(255, 255, 255)")
    if folder := os.environ.get("NEURALDBG_SCREENSHOTS"):
        Path(folder).mkdir(parents=True, exist_ok=True)
        chromium.photograph(driver, Path(folder) / f"report-{width}-{'dark' if dark else 'light'}.png")
    driver.execute_script("for (const part of document.querySelectorAll('details')) part.open = true")
    driver.execute_script(axe())
    found = driver.execute_async_script(
        "const done = arguments[0]; axe.run(document, {resultTypes: ['violations']}).then(done)"
    )
    broken = [(rule["id"], [node["html"][:200] for node in rule["nodes"][:3]]) for rule in found["violations"]]
    assert broken == [] and len(found["passes"]) > 20


def axe():
    package = pytest.importorskip("axe_core_python", reason="axe-core-python is not installed (extra reports)")
    return (Path(package.__file__).parent / "axe.min.js").read_text("utf-8")


@pytest.mark.parametrize("width", (390, 1280))
def test_a_tested_hypothesis_has_its_picture(driver, page, width):
    open_page(driver, page, width)
    boxes = driver.execute_script(
        "const box = (e) => e.getBoundingClientRect();"
        "return [...document.querySelectorAll('svg.effect')].map((s) => [s.classList[1], box(s).width,"
        " box(s.querySelector('circle')).left, box(s.querySelector('.bar')).width])"
    )
    assert [box[0] for box in boxes] == ["confirmed", "refuted"]
    assert all(250 < drawn <= width for _, drawn, _, _ in boxes)
    # The confirmed effect lies right of the refuted one, whose interval has no end.
    assert boxes[0][2] > boxes[1][2] and 0 < boxes[0][3] < boxes[1][3]


def test_dark_mode_can_be_chosen(driver, page):
    open_page(driver, page)
    driver.execute_script("byId('theme').value = 'dark'; byId('theme').dispatchEvent(new Event('change'))")
    assert driver.execute_script("return getComputedStyle(document.body).backgroundColor") == "rgb(15, 19, 24)"


def test_two_thousand_modules_and_a_hundred_thousand_steps_open_at_once(driver, diagnoses, tmp_path):
    trace = recorded([f"layers.{i}" for i in range(2000)], 100_000, every=500)
    path = tmp_path / "large.html"
    path.write_text(render_html(diagnoses["two_faults"], trace), encoding="utf-8")
    assert path.stat().st_size <= 10_000_000
    # Processor time of the page: what a clock says depends on what else the machine does.
    driver.execute_cdp_cmd("Performance.enable", {"timeDomain": "threadTicks"})
    open_page(driver, path)
    metrics = driver.execute_cdp_cmd("Performance.getMetrics", {})["metrics"]
    spent = {metric["name"]: metric["value"] for metric in metrics}
    assert 0 < spent["TaskDuration"] < 3, spent
    assert "Each column of the map stands for 250 steps" in words_of(driver, "#map")
    driver.execute_cdp_cmd("Performance.disable", {})
