"""A guard around imports of optional packages, so that the error names the extra to install."""

from collections.abc import Iterator
from contextlib import contextmanager

from cfmark.errors import MissingExtra


@contextmanager
def optional(extra: str) -> Iterator[None]:
    """Turn an ImportError inside the block into advice.

    >>> with optional("dice"):
    ...     import not_there
    Traceback (most recent call last):
    ...
    cfmark.errors.MissingExtra: this needs the package 'not_there': pip install 'cfmark[dice]'
    """
    try:
        yield
    except ImportError as problem:
        raise MissingExtra(
            f"this needs the package {problem.name!r}: pip install 'cfmark[{extra}]'"
        ) from problem
