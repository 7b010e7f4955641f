"""``python -m neuraldbg``: the same as the command ``neuraldbg``."""

import sys

from neuraldbg.cli import main

if __name__ == "__main__":
    sys.exit(main())
