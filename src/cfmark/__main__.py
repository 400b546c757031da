"""``python -m cfmark``."""

from cfmark.cli import main

main()
