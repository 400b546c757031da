"""Thieves and innocents: they see an Oracle or public data, and nothing else."""

from cfmark.attacks.extraction import ATTACKS as ATTACKS
from cfmark.attacks.extraction import dual_cf as dual_cf
from cfmark.attacks.extraction import mrce as mrce
from cfmark.attacks.extraction import query as query
from cfmark.attacks.extraction import with_labels as with_labels
from cfmark.attacks.innocents import KINDS as KINDS
from cfmark.attacks.innocents import Sources as Sources
from cfmark.attacks.innocents import gather as gather
from cfmark.attacks.innocents import true_labels as true_labels
from cfmark.attacks.oracle import LocalOracle as LocalOracle
from cfmark.attacks.thieves import FAMILIES as FAMILIES
from cfmark.attacks.thieves import NETWORKS as NETWORKS
from cfmark.attacks.thieves import extract as extract
from cfmark.attacks.thieves import extract_many as extract_many
from cfmark.attacks.thieves import train_config as train_config
from cfmark.attacks.thieves import train_networks as train_networks

__all__ = [
    "ATTACKS",
    "FAMILIES",
    "KINDS",
    "NETWORKS",
    "LocalOracle",
    "Sources",
    "dual_cf",
    "extract",
    "extract_many",
    "gather",
    "mrce",
    "query",
    "train_config",
    "train_networks",
    "true_labels",
    "with_labels",
]
