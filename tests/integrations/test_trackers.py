"""Trackers: what is written with their own SDK is read back with it, after a real run that failed."""

from __future__ import annotations

import json
import struct
import time
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

from torch import nn  # noqa: E402

from neuraldbg import NeuralDbg  # noqa: E402


def failing_run(rate: float = 30.0):
    torch.manual_seed(0)
    inputs = torch.randn(32, 4)
    model = nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=rate)
    with NeuralDbg(model) as debugger:
        for _ in range(30):
            optimizer.zero_grad()
            nn.functional.mse_loss(model(inputs), inputs.sum(1, keepdim=True)).backward()
            optimizer.step()
    return debugger


@pytest.fixture
def debugger():
    return failing_run()


def onsets(diagnosis) -> list[tuple[int, int]]:
    """(step, events begun up to it), counted independently of what is tested."""
    starts = [event.step_range[0] for event in diagnosis.events]
    return [(step, sum(start <= step for start in starts)) for step in sorted(set(starts))]


def assert_report(page: str, diagnosis) -> None:
    assert page.lstrip().lower().startswith("<!doctype html>")
    assert diagnosis.hypotheses[0].title in page and "<svg" in page  # with the curves of the trace


def test_tensorboard(tmp_path, debugger):
    pytest.importorskip("tensorboard", reason="the package tensorboard is not installed")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
    from torch.utils.tensorboard import SummaryWriter

    from neuraldbg.integrations.tensorboard import write_diagnosis

    found = debugger.diagnosis()
    with SummaryWriter(str(tmp_path / "board")) as writer:
        write_diagnosis(found, writer, debugger.path)
    read = EventAccumulator(str(tmp_path / "board"), size_guidance={"tensors": 0, "scalars": 0})
    read.Reload()

    def texts(tag: str) -> list[tuple[int, str]]:
        return [(e.step, e.tensor_proto.string_val[0].decode()) for e in read.Tensors(f"{tag}/text_summary")]

    assert "FAILED" in texts("neuraldbg/verdict")[0][1]
    assert {step for step, _ in texts("neuraldbg/events")} == {step for step, _ in onsets(found)}
    assert f"neuraldbg/confidence/{found.hypotheses[0].cause}" in read.Tags()["scalars"]
    markers = {event.step: int(event.value) for event in read.Scalars("neuraldbg/events_so_far")}
    assert sorted(markers.items()) == onsets(found)
    link = texts("neuraldbg/report")[0][1]
    page = tmp_path / "board" / "neuraldbg_report.html"
    assert page.as_uri() in link
    assert_report(page.read_text(encoding="utf-8"), found)


def records_of(file: Path):
    """The records of an offline run: its file is a log of LevelDB's format, each record a message of wandb's schema."""
    from wandb.proto import wandb_internal_pb2

    data, at, whole = file.read_bytes(), 7, b""
    assert data[:4] == b":W&B"
    while at + 7 <= len(data):
        _, length, kind = struct.unpack("<IHB", data[at : at + 7])
        if at + 7 + length > len(data):  # still being written
            return
        whole += data[at + 7 : at + 7 + length]
        at += 7 + length
        if 32768 - at % 32768 < 7:  # a header never crosses a block
            at += 32768 - at % 32768
        if kind in (1, 4):
            record = wandb_internal_pb2.Record()
            record.ParseFromString(whole)
            whole = b""
            yield record


def written(folder, seconds=60):
    """The records of the only run in a folder, once the service in its own process has written the last one."""
    until = time.monotonic() + seconds
    while True:
        records = [record for path in folder.glob("offline-run-*/*.wandb") for record in records_of(path)]
        if any(record.HasField("exit") for record in records) or time.monotonic() > until:
            return records
        time.sleep(0.2)


def values_of(items) -> dict[str, object]:
    return {"/".join(item.nested_key) or item.key: json.loads(item.value_json) for item in items}


def test_weights_and_biases_offline(tmp_path, debugger):
    wandb = pytest.importorskip("wandb", reason="the package wandb is not installed")
    from neuraldbg.integrations.wandb import write_diagnosis

    found = debugger.diagnosis()
    run = wandb.init(mode="offline", project="p", dir=str(tmp_path), settings=wandb.Settings(silent=True))
    for step in range(30):
        run.log({"loss": 1.0 / (step + 1)})
    write_diagnosis(found, run, debugger.path)
    run.finish()

    records = written(tmp_path / "wandb")
    history = [values_of(r.history.item) for r in records if r.HasField("history")]
    markers = [(h["neuraldbg/step"], h["neuraldbg/events_so_far"]) for h in history if "neuraldbg/events_so_far" in h]
    assert markers == onsets(found)
    assert sum("loss" in row for row in history) == 30  # what the user logged is as it was
    axes = {r.metric.name: r.metric.step_metric for r in records if r.HasField("metric")}
    assert axes["neuraldbg/events_so_far"] == "neuraldbg/step"
    summary: dict[str, object] = {}
    for record in records:
        if record.HasField("summary"):
            summary.update(values_of(record.summary.update))
    assert "FAILED" in str(summary["neuraldbg/verdict"])
    assert summary["neuraldbg/cause"] == found.hypotheses[0].cause
    media = next((tmp_path / "wandb").glob("offline-run-*/files/media"))
    assert_report(next(media.glob("html/neuraldbg/report*.html")).read_text(encoding="utf-8"), found)
    table = json.loads(next(media.glob("table/neuraldbg/events*.json")).read_text(encoding="utf-8"))
    assert [row[-1] for row in table["data"]] == [
        str(event) for event in sorted(found.events, key=lambda e: e.step_range)
    ]


def test_mlflow(tmp_path, monkeypatch, debugger):
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    mlflow = pytest.importorskip("mlflow", reason="the package mlflow is not installed")
    from neuraldbg.integrations.mlflow import write_diagnosis

    found = debugger.diagnosis()
    mlflow.set_tracking_uri((tmp_path / "mlruns").as_uri())
    try:
        mlflow.set_experiment("tests")
        with mlflow.start_run() as run:
            mlflow.log_metric("loss", 1.0, step=29)
            write_diagnosis(found, run, debugger.path)
        client = mlflow.MlflowClient()
        identifier = run.info.run_id
        history = client.get_metric_history(identifier, "neuraldbg/events_so_far")
        assert sorted((m.step, int(m.value)) for m in history) == onsets(found)
        tags = client.get_run(identifier).data.tags
        assert (tags["neuraldbg.cause"], tags["neuraldbg.outcome"]) == (found.hypotheses[0].cause, "failed")
        assert "FAILED" in mlflow.artifacts.load_text(f"{run.info.artifact_uri}/neuraldbg/verdict.txt")
        assert_report(mlflow.artifacts.load_text(tags["neuraldbg.report"]), found)
        events = mlflow.artifacts.load_dict(f"{run.info.artifact_uri}/neuraldbg/events.json")["events"]
        assert len(events) == len(found.events) and "sentence" in events[0]
    finally:
        mlflow.set_tracking_uri(None)


def test_trackio(tmp_path, monkeypatch, debugger):
    monkeypatch.setenv("TRACKIO_DIR", str(tmp_path / "trackio"))
    trackio = pytest.importorskip("trackio", reason="the package trackio is not installed")
    from neuraldbg.integrations.trackio import write_diagnosis

    found = debugger.diagnosis()
    run = trackio.init(project="p", name="failing", embed=False, auto_log_cpu=False, auto_log_gpu=False)
    for step in range(30):
        trackio.log({"loss": 1.0 / (step + 1)}, step=step)
    write_diagnosis(found, run, debugger.path)
    trackio.finish()

    logs = trackio.SQLiteStorage.get_logs("p", "failing")
    markers = [(row["step"], row["neuraldbg/events_so_far"]) for row in logs if "neuraldbg/events_so_far" in row]
    assert sorted(markers) == onsets(found)
    verdict = next(row for row in logs if "neuraldbg/verdict" in row)
    assert verdict["step"] == found.steps - 1
    assert "FAILED" in verdict["neuraldbg/verdict"]["_value"]
    assert len(verdict["neuraldbg/events"]["_value"]) == len(found.events)
    page = trackio.utils.MEDIA_DIR / verdict["neuraldbg/report"]["file_path"]
    assert_report(page.read_text(encoding="utf-8"), found)
    alert = trackio.Api().runs("p")[0].alerts()[0]
    assert alert["title"] == f"neuraldbg: {found.hypotheses[0].cause}"
    assert alert["step"] == found.hypotheses[0].step_range[0]


def test_a_healthy_run_raises_no_alert(tmp_path, monkeypatch):
    monkeypatch.setenv("TRACKIO_DIR", str(tmp_path / "trackio"))
    trackio = pytest.importorskip("trackio", reason="the package trackio is not installed")
    from neuraldbg.integrations.trackio import write_diagnosis

    debugger = failing_run(rate=0.05)
    found = debugger.diagnosis()
    assert found.outcome == "healthy"
    run = trackio.init(project="q", name="healthy", embed=False, auto_log_cpu=False, auto_log_gpu=False)
    write_diagnosis(found, run)
    trackio.finish()
    assert not trackio.Api().runs("q")[0].alerts()
    assert any("neuraldbg/verdict" in row for row in trackio.SQLiteStorage.get_logs("q", "healthy"))
