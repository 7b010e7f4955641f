"""``python -m bench.faultbench``: carries out the runs, resumes where it stopped, prints one table."""

from __future__ import annotations

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")

import argparse
import multiprocessing
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.markdown import Markdown
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from bench.faultbench import baselines, families, injectors, score, split
from bench.faultbench.runs import Results, Spec, specs
from bench.faultbench.watch import again, carry_out, version

HERE = Path(__file__).parent / "results"


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.faultbench", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="two runs per cause; under 5 minutes on two cores")
    group = parser.add_mutually_exclusive_group()
    group.add_argument("--fit-families", action="store_true", help="only families that may be fitted on")
    group.add_argument("--unseen", action="store_true", help="only families that are never fitted")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--only", default="", help="causes, separated by commas")
    parser.add_argument("--fresh", action="store_true", help="forget earlier results")
    parser.add_argument("--keep-traces", action="store_true", help="keep the trace files, for --again")
    parser.add_argument("--again", action="store_true", help="explain kept traces again instead of training again")
    parser.add_argument("--table", action="store_true", help="only print the table of the results so far")
    return parser.parse_args()


def chosen_specs(options: argparse.Namespace) -> list[Spec]:
    """The runs that the options ask for; the same runs whichever families are asked for, less the others."""
    wanted = split.fit_families() if options.fit_families else split.unseen_families() if options.unseen else None
    only = {name for name in options.only.split(",") if name}
    found = specs(options.quick, wanted)
    return [spec for spec in found if not only or spec.cause in only]


def train(todo: list[Spec], results: Results, options: argparse.Namespace, console: Console) -> list[str]:
    """Carry out what is missing; returns the errors."""
    errors: list[str] = []
    context = multiprocessing.get_context("spawn")
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console) as progress, ProcessPoolExecutor(options.jobs, context) as pool:
        task = progress.add_task("training", total=len(todo))
        waiting: set[Future[dict[str, Any]]] = set()
        queue = iter(todo)
        try:
            while True:
                for spec in queue:
                    waiting.add(pool.submit(carry_out, spec, str(HERE / "traces"), options.keep_traces))
                    if len(waiting) >= 2 * options.jobs:
                        break
                if not waiting:
                    break
                done, waiting = wait(waiting, return_when=FIRST_COMPLETED)
                for future in done:
                    record = future.result()
                    if "failed" in record:
                        errors.append(f"{record['key']}: {record['failed'].strip().splitlines()[-1]}")
                    else:
                        results.add(record)
                    progress.advance(task)
        except KeyboardInterrupt:
            pool.shutdown(wait=False, cancel_futures=True)
            console.print("Stopped; the next call goes on from here.")
    return errors


def explain_again(results: Results, keys: set[str], console: Console) -> None:
    """Fresh explanations of the traces that were kept."""
    with Progress(console=console) as progress:
        for key in progress.track([key for key in results.records if key in keys], description="explaining"):
            results.add(again(results.records[key], HERE / "traces"))


def main() -> int:
    options = arguments()
    console = Console()
    path = HERE / ("quick.jsonl" if options.quick else "full.jsonl")
    if options.fresh:
        path.unlink(missing_ok=True)
    for name, why in families.load()[1].items():
        console.print(f"Left out: {name} ({why})")
    for cause, why in injectors.LEFT_OUT.items():
        console.print(f"Left out: {cause} ({why})")
    with console.status("listing the runs"):
        asked = chosen_specs(options)
    results = Results(path)
    keys = {spec.key for spec in asked}
    errors: list[str] = []
    if options.again:
        explain_again(results, keys, console)
    elif not options.table:
        errors = train([spec for spec in asked if spec.key not in results.records], results, options, console)
    records = [record for key, record in results.records.items() if key in keys]
    if not records:
        console.print("No results yet.")
        return 1
    tools = ["neuraldbg", *baselines.BASELINES]
    which = "families for fitting" if options.fit_families else "unseen families" if options.unseen else "all families"
    text = score.markdown(records, tools, f"FaultBench, {which}: {len(records)} runs of {len(asked)}")
    (HERE / "table.md").write_text(text)
    console.print(Markdown(text))
    dropped = sum(not record["kept"] for record in records)
    console.print(f"{dropped} runs dropped: they did not fail, or their healthy twin did not train.")
    other = sum(record.get("version") != version() for record in records)
    if other:
        console.print(
            f"{other} results are of another version of the engine; --again or --fresh brings them up to date."
        )
    for error in errors:
        console.print(f"Error in {error}", style="red", markup=False)
    return 1 if errors else 0


if __name__ == "__main__":
    raise SystemExit(main())
