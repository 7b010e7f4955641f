"""Programs in the shape of the frameworks' examples: bare, under ``neuraldbg run``, with the one line, and sick."""

from __future__ import annotations

import runpy
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

from neuraldbg.cli import main  # noqa: E402
from neuraldbg.cli._verdict import judge  # noqa: E402
from neuraldbg.trace_store.reader import read_trace  # noqa: E402

FOLDER = Path(__file__).parent / "published"


@dataclass(frozen=True)
class Shape:
    """A program, what it needs, how long it trains, and what makes it sick of which cause."""

    name: str
    needs: tuple[str, ...]
    steps: int
    backwards: int
    arguments: tuple[str, ...]
    sick: tuple[str, ...]
    cause: str
    evaluates: bool = True
    watch: str = "--watch"


#: Arguments of the Trainer, as its own scripts get them.
TRAINER = (
    "--output_dir", "out", "--do_train", "--do_eval", "--use_cpu", "--report_to", "none", "--disable_tqdm", "true",
    "--num_train_epochs", "2", "--eval_strategy", "epoch", "--seed", "3", "--logging_steps", "10",
)  # fmt: skip

SHAPES = [
    Shape("pytorch_mnist", (), 48, 48, (), ("--lr", "3000"), "learning_rate_too_high"),
    Shape(
        "pytorch_word_language_model", (), 120, 120, (), ("--lr", "500", "--clip", "0"), "learning_rate_too_high"
    ),
    Shape(
        "nanogpt_train", (), 61, 122, (),
        ("--learning_rate=1.0",
         "--min_lr=1.0",
         "--warmup_iters=0",
         "--grad_clip=0",
         "--weight_decay=0.0"), "learning_rate_too_high",
        watch="--watch=1",
    ),
    Shape(
        "lightning_image_classifier", ("lightning",), 48, 48, (), ("--learning_rate", "30"), "learning_rate_too_high"
    ),
    Shape("lightning_gan", ("lightning",), 48, 96, (), ("--bad_row", "300"), "nan_in_input", evaluates=False),
    Shape(
        "transformers_run_clm", ("transformers", "accelerate"), 30, 60,
        (*TRAINER, "--per_device_train_batch_size", "8", "--gradient_accumulation_steps", "2",
         "--learning_rate", "3e-3", "--warmup_steps", "5", "--lr_scheduler_type", "cosine",
         "--save_strategy", "epoch", "--bf16"),
        ("--learning_rate", "30", "--optim", "sgd", "--max_grad_norm", "0", "--warmup_steps", "0"),
        "learning_rate_too_high",
    ),
    Shape(
        "transformers_run_glue", ("transformers", "accelerate"), 40, 40,
        (*TRAINER, "--per_device_train_batch_size", "16", "--learning_rate", "1e-3", "--save_strategy", "no"),
        ("--learning_rate", "1"), "learning_rate_too_high",
    ),
    Shape(
        "accelerate_nlp", ("accelerate",), 72, 144, (), ("--keep_gradients", "--num_epochs", "4"), "missing_zero_grad",
        evaluates=False,
    ),
    Shape("ignite_mnist", ("ignite",), 56, 56, (), ("--bad_row", "200"), "nan_in_input"),
]  # fmt: skip


@pytest.fixture(params=SHAPES, ids=lambda shape: shape.name)
def shape(request, monkeypatch) -> Shape:
    for package in request.param.needs:
        pytest.importorskip(package, reason=f"the package {package} is not installed")
    # The launcher puts the script in the place of this program.
    monkeypatch.setattr(sys, "argv", list(sys.argv))
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setitem(sys.modules, "__main__", sys.modules["__main__"])
    return request.param


def save_as(shape: Shape, name: str) -> list[str]:
    return [f"--save={name}"] if shape.watch.endswith("=1") else ["--save", name]


def under_python(shape: Shape, folder: str, *more: str) -> None:
    """In a folder of its own, so that nothing of another run is found there."""
    sys.argv = [str(FOLDER / f"{shape.name}.py"), *shape.arguments, *more, *save_as(shape, "weights.pt")]
    in_folder(folder, lambda: runpy.run_path(sys.argv[0], run_name="__main__"))


def under_neuraldbg_run(shape: Shape, folder: str, *more: str) -> None:
    given = ["run", str(FOLDER / f"{shape.name}.py"), *shape.arguments, *more, *save_as(shape, "weights.pt")]
    assert in_folder(folder, lambda: main(given)) == 0


def in_folder(folder: str, act):
    import os

    Path(folder).mkdir()
    before = Path.cwd()
    os.chdir(folder)
    try:
        return act()
    finally:
        os.chdir(before)


def weights(folder: str) -> dict[str, object]:
    return torch.load(Path(folder) / "weights.pt")


def assert_same(left, right) -> None:
    assert left.keys() == right.keys()
    for name, one in left.items():
        assert torch.equal(one, right[name]), name


def newest(traces: Path) -> Path:
    return max(traces.glob("*.ndbg"), key=lambda path: path.stat().st_mtime_ns)


def test_it_trains_as_it_does_unwatched(shape, tmp_path, capsys, hooks_left):
    under_python(shape, "bare")
    under_neuraldbg_run(shape, "run")
    under_python(shape, "line", shape.watch)
    for folder in ("run", "line"):
        assert_same(weights(folder), weights("bare"))
    assert hooks_left() == 0
    traces = sorted((tmp_path / "traces").glob("*.ndbg"))
    assert len(traces) == 2
    for path in traces:
        trace = read_trace(path)
        assert (trace.steps, trace.meta["counts"]["backwards"]) == (shape.steps, shape.backwards)
        assert bool(trace.series("evaluation.loss")) == shape.evaluates
        assert not trace.facts("observer.failure")
        diagnosis, _ = judge(path)
        assert diagnosis.outcome == "healthy", str(diagnosis)


def test_when_sick_it_is_explained(shape, tmp_path, capsys):
    under_neuraldbg_run(shape, "sick", *shape.sick)
    said = capsys.readouterr().err
    diagnosis, _ = judge(newest(tmp_path / "traces"))
    assert diagnosis.outcome == "failed"
    assert diagnosis.hypotheses[0].cause == shape.cause, said
    assert "FAILED" in said and shape.cause in said
