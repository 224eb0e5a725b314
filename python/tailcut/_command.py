"""The ``tailcut`` command of the package: the same program as the binary."""

import signal
import sys

from ._tailcut import command


def main() -> int:
    """Runs the command with the arguments of the process; for the script ``tailcut``."""
    # The command handles its signals: it stops at the first one and prints what it knows.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)
    return command(sys.argv[1:])


if __name__ == "__main__":
    sys.exit(main())
