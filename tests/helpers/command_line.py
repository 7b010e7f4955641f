"""Runs the command the way a user does: in a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

SOURCE = str(Path(__file__).parents[2] / "src")

#: Trains for STEPS steps (40 unless given) and knows nothing of NeuralDBG.
TRAINING = """
import sys, time, torch
from torch import nn
torch.manual_seed(0)
torch.set_num_threads(1)
STEPS = int(sys.argv[1]) if len(sys.argv) > 1 else 40
RATE = float(sys.argv[2]) if len(sys.argv) > 2 else 0.05
model = nn.Sequential(nn.Linear(10, 32), nn.Tanh(), nn.Linear(32, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=RATE)
def step():
    inputs = torch.randn(32, 10)
    loss = nn.functional.mse_loss(model(inputs), inputs.sum(1, keepdim=True))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss
for i in range(STEPS):
    loss = step()
print("last loss", loss.item(), flush=True)
"""

#: Trains for STEPS steps, ends well, and does not learn what it could: softmax is applied twice.
TWICE_SOFTMAX = """
import sys, torch
from torch.nn import functional as F
torch.set_num_threads(1)
torch.manual_seed(0)
model = torch.nn.Linear(8, 4)
optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
for _ in range(int(sys.argv[1])):
    x = torch.randn(64, 8)
    p = F.softmax(model(x), dim=1)
    loss = F.cross_entropy(p, x[:, :4].argmax(1))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""


def environment(**extra: str) -> dict[str, str]:
    settings = {name: value for name, value in os.environ.items() if name not in ("NEURALDBG_DIR", "COLUMNS")}
    return {**settings, "PYTHONPATH": SOURCE, "OMP_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": "1", **extra}


@dataclass
class Box:
    """A working folder with scripts in it."""

    folder: Path

    def write(self, name: str, text: str) -> Path:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text), encoding="utf-8")
        return path

    def python(self, *arguments: str, **extra: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, *arguments],
            cwd=self.folder,
            env=environment(**extra),
            capture_output=True,
            text=True,
            timeout=900,
            stdin=subprocess.DEVNULL,
        )

    def neuraldbg(self, *arguments: str, **extra: str) -> subprocess.CompletedProcess[str]:
        return self.python("-m", "neuraldbg", *arguments, **extra)

    def start(self, arguments: Sequence[str]) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, "-m", "neuraldbg", *arguments],
            cwd=self.folder,
            env=environment(),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def traces(self) -> list[Path]:
        return sorted((self.folder / ".neuraldbg").glob("*.ndbg"))
