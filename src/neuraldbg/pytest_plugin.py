"""pytest: a test fails when the training inside it fails, and its report says why.

    @pytest.mark.trains
    def test_it_learns():
        train(model, steps=200)          # an ordinary loop

    def test_more(neuraldbg):
        with neuraldbg(model) as dbg:    # a block of its own
            train(model, steps=200)

``@pytest.mark.trains(fail_on="suspected")`` fails also where several causes remain; ``cause="dying_relu"`` turns it
around: the test passes only when that cause is named first. The traces of failed tests stay in the test's ``tmp_path``
base folder, and their path is in the report.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

#: ``fail_on`` → outcomes of a diagnosis that fail a test; the words mean what they do in ``neuraldbg run --fail-on``.
_FAILING = {"named": ("failed",), "suspected": ("failed", "uncertain")}


class TrainingFailed(AssertionError):
    """Training inside a test failed, or did not fail as the test expected."""


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers",
        "trains(fail_on='named', cause=None): fails when training inside of the test fails for a named cause "
        "(fail_on='suspected': also when several causes remain); with a cause, passes only when that one is named.",
    )


@pytest.hookimpl(wrapper=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> Iterator[None]:
    """Watches the body of a marked test; torch is imported only for those."""
    marker = pyfuncitem.get_closest_marker("trains")
    if marker is None:
        return (yield)
    fail_on, cause = _arguments(marker, pyfuncitem.nodeid)
    from neuraldbg.session import NeuralDbg

    debugger = NeuralDbg(path=_trace_path(pyfuncitem), script=pyfuncitem.nodeid)
    with debugger:
        result = yield
    check(debugger, fail_on, cause)
    return result


@pytest.fixture
def neuraldbg(request: pytest.FixtureRequest) -> Iterator[Callable[..., Any]]:
    """``NeuralDbg`` with its trace in a temporary folder; the test fails when training in one of its blocks failed.

    ``neuraldbg(model, fail_on="suspected")`` also fails where several causes remain, ``fail_on=None`` never does: then
    the test asserts on ``dbg.diagnosis()`` itself.
    """
    from neuraldbg.session import NeuralDbg

    opened: list[tuple[Any, str | None]] = []

    def make(model: Any = None, *, fail_on: str | None = "named", **settings: Any) -> Any:
        _outcomes(fail_on)
        path = settings.pop("path", None) or _trace_path(request.node, len(opened))
        debugger = NeuralDbg(model, path=path, script=request.node.nodeid, **settings)
        opened.append((debugger, fail_on))
        return debugger

    yield make
    for debugger, fail_on in opened:
        if fail_on is not None and debugger.path is not None:
            check(debugger, fail_on, None)


def check(debugger: Any, fail_on: str | None, cause: str | None) -> None:
    """Raises TrainingFailed with the verdict where a run is not as the test wants it."""
    from neuraldbg.report import render

    diagnosis = debugger.diagnosis()
    verdict = render(diagnosis, width=88)
    trace = f"\nTrace: {debugger.path}"
    if cause is not None:
        named = diagnosis.hypotheses[0].cause if diagnosis.hypotheses else "no cause"
        if named != cause:
            raise TrainingFailed(f"expected training to fail for {cause}, found {named}:\n\n{verdict}{trace}")
        return
    if diagnosis.outcome in _outcomes(fail_on):
        raise TrainingFailed(f"training failed:\n\n{verdict}{trace}")
    if diagnosis.outcome == "unseen":
        raise TrainingFailed(f"expected the test to train, found no step:\n\n{verdict}")


def _arguments(marker: pytest.Mark, test: str) -> tuple[str, str | None]:
    unknown = set(marker.kwargs) - {"fail_on", "cause"}
    if unknown or marker.args:
        raise pytest.UsageError(f"{test}: trains() takes fail_on= and cause=, found {marker.args or sorted(unknown)}")
    fail_on = str(marker.kwargs.get("fail_on", "named"))
    _outcomes(fail_on)
    return fail_on, marker.kwargs.get("cause")


def _outcomes(fail_on: str | None) -> tuple[str, ...]:
    if fail_on is None:
        return ()
    if fail_on not in _FAILING:
        raise pytest.UsageError(f"fail_on expects named or suspected, found {fail_on!r}")
    return _FAILING[fail_on]


def _trace_path(item: Any, number: int = 0) -> Path:
    """A trace of its own per test, in the folder in which pytest keeps those of its last three runs."""
    factory = item.config._tmp_path_factory
    name = re.sub(r"\W+", "_", item.name)[:40]
    return Path(factory.mktemp(f"{name}-neuraldbg", numbered=True)) / f"{name}{number or ''}.ndbg"
