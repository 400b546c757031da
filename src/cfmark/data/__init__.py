"""Tables, schemas, encoders, constraints and data sets."""

from cfmark.data.constraints import Layout as Layout
from cfmark.data.constraints import Rules as Rules
from cfmark.data.constraints import limits as limits
from cfmark.data.constraints import movable as movable
from cfmark.data.constraints import project as project
from cfmark.data.constraints import rules_of as rules_of
from cfmark.data.datasets import Dataset as Dataset
from cfmark.data.datasets import Split as Split
from cfmark.data.datasets import from_table as from_table
from cfmark.data.datasets import load as load
from cfmark.data.datasets import load_table as load_table
from cfmark.data.encoder import Encoder as Encoder
from cfmark.data.schema import Feature as Feature
from cfmark.data.schema import Schema as Schema
from cfmark.data.schema_file import read_schema as read_schema
from cfmark.data.sources import BUILT_IN as BUILT_IN
from cfmark.data.sources import cache_folder as cache_folder
from cfmark.data.sources import data_folder as data_folder
from cfmark.data.sources import is_present as is_present
from cfmark.data.sources import is_table as is_table
from cfmark.data.tables import read_chunks as read_chunks
from cfmark.data.tables import read_table as read_table
from cfmark.data.tables import write_table as write_table

__all__ = [
    "BUILT_IN",
    "Dataset",
    "Encoder",
    "Feature",
    "Layout",
    "Rules",
    "Schema",
    "Split",
    "cache_folder",
    "data_folder",
    "from_table",
    "is_present",
    "is_table",
    "limits",
    "load",
    "load_table",
    "movable",
    "project",
    "read_chunks",
    "read_schema",
    "read_table",
    "rules_of",
    "write_table",
]
