"""run --live on a pseudo-terminal: the script keeps its streams, exit code and signals; the terminal comes back."""

import contextlib
import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time

import pytest

from helpers.command_line import TRAINING, environment

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="there are no pseudo-terminals")

COLUMNS, ROWS = 60, 24
#: Of 24 lines a third is set aside.
SET_ASIDE, GIVEN_BACK = "\x1b[1;16r", "\x1b[r"

#: Trains until it is told to end, then says what it saw of its streams.
SCRIPT = (
    TRAINING.replace("for i in range(STEPS):\n    loss = step()\n", "")
    .replace('print("last loss", loss.item(), flush=True)\n', "")
    .rstrip()
    + """
import os, select
print("streams", sys.stdin.isatty(), sys.stdout.isatty(), sys.stderr.isatty(), flush=True)
while not select.select([sys.stdin], [], [], 0.02)[0]:
    step()
print("read", input(), flush=True)
try:
    os.wait()
except ChildProcessError:
    print("no child", flush=True)
sys.exit(7)
"""
)


def plain(text):
    """Without colours and styles."""
    return re.sub(r"\x1b\[[\d;]*m", "", text)


class Terminal:
    """A command on a terminal of its own."""

    def __init__(self, folder, *arguments, shell=False):
        self.said = ""
        self.pid, self.leader = pty.fork()
        if self.pid == 0:
            # As under a login: what was started in the background of a script is deaf to the keyboard.
            for number in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT):
                signal.signal(number, signal.SIG_DFL)
            fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
            os.chdir(folder)
            settings = environment(TERM="xterm", NO_COLOR="1")
            if shell:
                os.execvpe("bash", ["bash", "--norc", "--noprofile", "-i"], settings)
            os.execve(sys.executable, [sys.executable, "-m", "neuraldbg", *arguments], settings)

    @property
    def scrolled(self):
        """What was said outside of the lines that the view draws; a write of the script may be cut by one of its."""
        return re.sub(r"\x1b7.*?\x1b8", "", self.said, flags=re.S)

    def read(self, seconds=0.1):
        """Takes in what was said within the time; False once the terminal has gone."""
        if not select.select([self.leader], [], [], seconds)[0]:
            return True
        try:
            piece = os.read(self.leader, 65536)
        except OSError:
            return False
        self.said += piece.decode("utf-8", "replace")
        return bool(piece)

    def until(self, pattern, seconds=240):
        end = time.monotonic() + seconds
        while not re.search(pattern, plain(self.said)) and not re.search(pattern, self.scrolled):
            assert time.monotonic() < end and self.read(), self.said[:1500] + "\n...\n" + self.said[-1500:]

    def type(self, text):
        os.write(self.leader, text.encode())

    def end(self):
        """The status that a shell would see, after all was said."""
        while self.read(5):
            pass
        os.close(self.leader)
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])


@pytest.fixture
def terminal(tmp_path):
    (tmp_path / "train.py").write_text(SCRIPT, encoding="utf-8")
    opened = Terminal(tmp_path, "run", "--live", "train.py")
    yield opened
    with contextlib.suppress(OSError):
        os.kill(opened.pid, signal.SIGKILL)


def test_the_view_stands_below_and_the_script_is_as_it_is_under_python(terminal):
    terminal.until(r"streams True True True")
    terminal.until(r"train\.py · [\d,]+ steps · running")
    terminal.until(r"loss +[▁▂▃▄▅▆▇█]+")
    terminal.type("hello\n")
    terminal.until("read hello")
    assert terminal.end() == 7
    said = terminal.said
    assert "no child" in terminal.scrolled
    # The lines are set aside, given back before the verdict, and not taken again.
    assert said.index(SET_ASIDE) < said.index("running") < said.rindex(GIVEN_BACK) < said.rindex("Trace: ")
    assert said.rindex(SET_ASIDE) < said.rindex(GIVEN_BACK)
    # Between two moves of the cursor nothing is drawn but on those lines, and nothing reaches the last column.
    drawn = re.sub(r"\x1b\[[\d;]*[mKr]", "", "".join(re.findall(r"\x1b7(\x1b\[0m.*?)\x1b8", said, re.S)))
    moves = re.findall(r"\x1b\[(\d+);(\d+)H([^\x1b]*)", drawn)
    assert moves and all(16 < int(row) <= ROWS and int(column) + len(text) <= COLUMNS for row, column, text in moves)


def test_a_screen_that_the_script_clears_is_drawn_again(tmp_path):
    cleared = SCRIPT.replace("while not select", 'print("\\x1b[2J", flush=True)\nwhile not select', 1)
    (tmp_path / "train.py").write_text(cleared, encoding="utf-8")
    terminal = Terminal(tmp_path, "run", "--live", "train.py")
    try:
        terminal.until(r"steps · running")
        for _ in range(2):
            # What is drawn from here on holds all parts, the one that has not changed too.
            terminal.said = ""
            terminal.until(r"Nothing suspicious so far")
    finally:
        os.kill(terminal.pid, signal.SIGKILL)


def test_an_interrupt_ends_it_as_it_ends_python(terminal):
    terminal.until(r"steps · running")
    terminal.type("\x03")
    assert terminal.end() == -signal.SIGINT
    assert "KeyboardInterrupt" in terminal.said and terminal.said.rindex(SET_ASIDE) < terminal.said.rindex(GIVEN_BACK)


def test_a_killed_run_leaves_no_view_behind(terminal):
    terminal.until(r"steps · running")
    os.kill(terminal.pid, signal.SIGKILL)
    os.waitpid(terminal.pid, 0)
    end = time.monotonic() + 60
    while terminal.said.rfind(GIVEN_BACK) < terminal.said.rfind(SET_ASIDE):
        assert time.monotonic() < end and terminal.read(), terminal.said[-2000:]


def test_without_a_terminal_it_says_so_and_runs(tmp_path):
    (tmp_path / "train.py").write_text(TRAINING, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "neuraldbg", "run", "--live", "train.py", "30"],
        cwd=tmp_path, env=environment(), capture_output=True, text=True, stdin=subprocess.DEVNULL,
        start_new_session=True, timeout=300,
    )  # fmt: skip
    assert done.returncode == 0 and done.stdout.startswith("last loss")
    assert "there is no terminal to draw on; follow the run from another one: neuraldbg watch " in done.stderr


def test_it_is_suspended_and_comes_back_in_a_shell(tmp_path):
    (tmp_path / "train.py").write_text(SCRIPT, encoding="utf-8")
    shell = Terminal(tmp_path, shell=True)
    shell.type(f"stty -echo; PS1='ready> '; {sys.executable} -m neuraldbg run --live train.py; echo code $?\n")
    shell.until(r"steps · running")
    modes = termios.tcgetattr(shell.leader)
    shell.type("\x1a")
    shell.until(r"Stopped")
    end = time.monotonic() + 60
    while shell.said.rfind(GIVEN_BACK) < shell.said.rfind(SET_ASIDE):
        assert time.monotonic() < end and shell.read(), shell.said[-2000:]
    shell.said = ""
    # While it is stopped nothing is drawn between the shell's lines.
    shell.type("echo still $((1+1))\n")
    shell.until("still 2")
    shell.read(1.5)
    assert SET_ASIDE not in shell.said and "running" not in shell.said
    shell.type("fg; echo code $?\n")
    shell.until(re.escape(SET_ASIDE))
    shell.until(r"steps · (running|no step)")
    assert termios.tcgetattr(shell.leader)[3] == modes[3]
    shell.type("hello\n")
    shell.until("code 7")
    assert shell.said.rindex(SET_ASIDE) < shell.said.rindex(GIVEN_BACK)
    shell.type("exit\n")
    shell.end()
