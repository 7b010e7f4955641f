"""``neuraldbg run`` is ``python`` in all that a script can see of itself, and in how it ends."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Callable

import pytest

from helpers.command_line import SOURCE, Box

AsPython = Callable[..., tuple[subprocess.CompletedProcess[str], subprocess.CompletedProcess[str]]]

SELF = """
import sys
main = sys.modules["__main__"]
print(__name__, __file__, __package__, __doc__, type(__loader__).__name__, __builtins__)
print(__spec__ and (__spec__.name, __spec__.origin))
print(sys.argv, sys.path[0], main.__dict__ is globals(), sorted(vars(main)))
"""


def test_a_script_sees_itself_as_under_python(box: Box, as_python: AsPython) -> None:
    box.write("sub/train.py", '"""Words."""\n' + SELF)
    plain, _ = as_python("sub/train.py", "--lr", "1", "-m", "x", "--", "--help", "--verbose", "")
    assert "'--help', '--verbose', ''" in plain.stdout


def test_a_module_sees_itself_as_under_python(box: Box, as_python: AsPython) -> None:
    box.write("pkg/__init__.py", "print('package')")
    box.write("pkg/train.py", "from . import __name__ as package\nprint(package)\n" + SELF)
    box.write("pkg/sub/__main__.py", SELF)
    as_python("-m", "pkg.train", "--verbose", "-m", "--lr", "1")
    as_python("-m", "pkg.sub", "x")


def test_a_folder_with_a_main_file_runs(box: Box, as_python: AsPython) -> None:
    box.write("program/__main__.py", "import helper, sys\nprint(helper.VALUE, sys.path[0], __name__)")
    box.write("program/helper.py", "VALUE = 3")
    as_python("program")


@pytest.mark.parametrize(
    "ending",
    [
        "",
        "sys.exit()",
        "sys.exit(0)",
        "sys.exit(7)",
        "sys.exit(True)",
        "sys.exit('a message')",
        "raise SystemExit(('a', 1))",
        "os._exit(9)",
        "os.kill(os.getpid(), 9)",
        "os.kill(os.getpid(), 15)",
        "os.abort()",
        "raise ValueError('a\\nb')",
        "int('x')",
        "f()",
        "import nothing_of_that_name",
        "raise KeyboardInterrupt",
        "os.kill(os.getpid(), 2); time.sleep(5)",
        "sys.excepthook = lambda *a: print('hook', a[0].__name__); 1 / 0",
        "sys.excepthook = None; 1 / 0",
        "sys.stderr.close(); sys.exit(3)",
        "sys.stdout.close(); sys.exit(4)",
        "sys.stderr = None; sys.exit(5)",
        "raise GeneratorExit",
        "threading.Thread(target=lambda: (time.sleep(0.2), print('thread'))).start()",
    ],
)
def test_every_ending_stays_as_it_is(box: Box, as_python: AsPython, ending: str) -> None:
    box.write(
        "train.py",
        f"""
import atexit, os, sys, threading, time
atexit.register(lambda: os.write(1, b"at exit\\n"))
atexit.register(lambda: os.write(1, repr(len(LATE)).encode()))
LATE = [1, 2]
def f():
    try:
        {{}}["missing"]
    except KeyError as error:
        raise RuntimeError("chained") from error
print("working", flush=True)
{ending}
""",
    )
    as_python("train.py")


def test_a_syntax_error_reads_as_under_python(box: Box, as_python: AsPython) -> None:
    box.write("train.py", "x = 1\nfor\n")
    plain, _ = as_python("train.py")
    assert plain.returncode == 1 and "SyntaxError" in plain.stderr


def test_an_unhandled_interrupt_ends_by_the_signal(box: Box) -> None:
    box.write("train.py", "import time\nprint('ready', flush=True)\ntime.sleep(60)\n")
    process = box.start(["run", "train.py"])
    assert process.stdout is not None and process.stdout.readline() == "ready\n"
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=30)
    # A shell shows a death by SIGINT as 130.
    assert process.returncode == -signal.SIGINT
    assert errors.count("KeyboardInterrupt") == 1 and "neuraldbg/cli" not in errors


def test_the_installed_command_ends_by_the_signal_too(box: Box) -> None:
    box.write("train.py", "raise KeyboardInterrupt\n")
    box.write("command.py", "import sys\nfrom neuraldbg.cli import main\nsys.exit(main())\n")
    done = box.python("command.py", "run", "train.py")
    assert done.returncode == -signal.SIGINT and done.stderr.count("Traceback") == 1


def test_signal_handlers_are_the_ones_of_python(box: Box, as_python: AsPython) -> None:
    box.write("train.py", "import signal\nprint([signal.getsignal(s) for s in (2, 15, 13, 10)])\n")
    as_python("train.py")


def test_objects_of_main_can_be_pickled_and_spawned(box: Box, as_python: AsPython) -> None:
    box.write(
        "train.py",
        """
        import multiprocessing, pickle
        class Setting:
            value = 3
        def work(setting):
            return setting.value + 1
        if __name__ == "__main__":
            print(pickle.loads(pickle.dumps(Setting())).value, Setting.__module__)
            for method in ("spawn", "fork"):
                with multiprocessing.get_context(method).Pool(1) as pool:
                    print(pool.map(work, [Setting()]))
        """,
    )
    box.write("pkg/train.py", (box.folder / "train.py").read_text("utf-8"))
    as_python("train.py")
    as_python("-m", "pkg.train")


def test_a_fork_that_runs_to_the_end_gives_no_second_verdict(box: Box) -> None:
    box.write("train.py", "import os\nif os.fork():\n    os.wait()\n")
    done = box.neuraldbg("run", "train.py")
    assert done.returncode == 0 and done.stderr.count("neuraldbg:") == 1


def test_torch_is_not_imported_ahead_of_the_script(box: Box) -> None:
    box.write(
        "train.py",
        """
        import sys
        print("torch" in sys.modules, "numpy" in sys.modules, flush=True)
        import torch
        print(type(torch.__loader__).__name__, type(torch.__spec__.loader).__name__)
        print([type(finder).__name__ for finder in sys.meta_path if "neuraldbg" in type(finder).__module__])
        """,
    )
    done = box.neuraldbg("run", "train.py")
    assert done.stdout == "False False\nSourceFileLoader SourceFileLoader\n[]\n"


def test_a_script_that_is_not_there_is_one_line(box: Box) -> None:
    for arguments, code in ((("run", "nothing.py"), 2), (("run", "-m", "nothing"), 1), (("run",), 2)):
        done = box.neuraldbg(*arguments)
        assert done.returncode == code and len(done.stderr.splitlines()) == 1, done.stderr
    # As many as python gives.
    assert box.python("nothing.py").returncode == 2
    assert box.python("-m", "nothing").returncode == 1


def test_a_module_whose_own_import_fails_shows_that(box: Box) -> None:
    box.write("pkg/__init__.py", "import nothing_of_that_name")
    box.write("pkg/train.py", "")
    done = box.neuraldbg("run", "-m", "pkg.train")
    assert done.returncode == 1 and "No module named 'nothing_of_that_name'" in done.stderr


def test_without_torch_a_script_still_runs(box: Box) -> None:
    box.write("train.py", "try:\n    import torch\nexcept ImportError as error:\n    print(error)\n")
    box.write("blocked/torch/__init__.py", "raise ImportError('torch is blocked')")
    done = box.python("-m", "neuraldbg", "run", "train.py", PYTHONPATH=f"{box.folder / 'blocked'}:{SOURCE}")
    assert (done.returncode, done.stdout) == (0, "torch is blocked\n")


def test_the_interpreter_is_the_same(box: Box, as_python: AsPython) -> None:
    box.write("train.py", "import sys\nprint(sys.executable, sys.flags, sys.warnoptions)\n")
    plain, _ = as_python("train.py")
    assert sys.executable in plain.stdout
