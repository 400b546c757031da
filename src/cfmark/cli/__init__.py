"""The command line: parse, call one function, print."""

import sys

__all__ = ["main"]


def main() -> None:
    """Run the program. Whenever it is stopped with Ctrl-C, it ends with code 130 and without a traceback."""
    try:
        from cfmark.cli.app import run

        run()
    except KeyboardInterrupt:
        sys.exit(130)
