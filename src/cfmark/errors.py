"""Every error that cfmark raises on purpose.

The tree::

    CfmarkError
    ├── TableError        a table's contents: names the file, the row and the column
    ├── SchemaError       a schema file or a feature in it
    ├── ConfigError       an option or a configuration value
    ├── DatasetError      a data set that is not there, or not the right bytes
    ├── ModelError        a model that does not answer as a classifier must
    ├── BudgetExceeded    a service that has answered as often as it may
    ├── EmbeddingError    a watermark whose optimisation went wrong
    ├── WorkerLost        a worker process that was killed
    └── MissingExtra      a package that an optional feature needs

The command line prints the message of any of these on one line and exits 1.
"""


class CfmarkError(Exception):
    """The root: catch this to catch everything cfmark raises on purpose."""


class TableError(CfmarkError):
    """A table cannot be used; the message starts with file, row and column."""

    def __init__(
        self, message: str, *, source: str = "table", row: int | None = None, column: str | None = None
    ) -> None:
        place = [source]
        if row is not None:
            place.append(f"row {row}")
        if column is not None:
            place.append(f"column {column!r}")
        super().__init__(f"{', '.join(place)}: {message}")
        self.source, self.row, self.column = source, row, column


class SchemaError(CfmarkError):
    """A schema contradicts itself, or its file cannot be read."""


class ConfigError(CfmarkError):
    """An option or a configuration value is unknown or out of range."""


class DatasetError(CfmarkError):
    """A data set's files are missing, or are not the bytes they should be."""


class ModelError(CfmarkError):
    """A model does not answer as a classifier must."""


class BudgetExceeded(CfmarkError):
    """A service was asked for more than its budget."""


class EmbeddingError(CfmarkError):
    """The optimisation of a watermark gave values that are not finite."""


class WorkerLost(CfmarkError):
    """A worker process was killed; the message names what it was working on."""


class MissingExtra(CfmarkError):
    """An optional feature needs a package that is not installed."""
