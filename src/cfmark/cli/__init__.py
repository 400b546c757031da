"""The command line: parse, call one function, print."""

from cfmark.cli.app import main as main

__all__ = ["main"]
