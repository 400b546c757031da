"""Thieves and innocents: they see an Oracle or public data, and nothing else."""

from cfmark.attacks.extraction import ATTACKS as ATTACKS
from cfmark.attacks.extraction import Labels as Labels
from cfmark.attacks.extraction import attacked as attacked
from cfmark.attacks.extraction import dual_cf as dual_cf
from cfmark.attacks.extraction import mrce as mrce
from cfmark.attacks.extraction import query as query
from cfmark.attacks.extraction import with_labels as with_labels
from cfmark.attacks.innocents import KINDS as KINDS
from cfmark.attacks.innocents import Sources as Sources
from cfmark.attacks.innocents import gather as gather
from cfmark.attacks.innocents import true_labels as true_labels
from cfmark.attacks.oracle import LocalOracle as LocalOracle
from cfmark.attacks.removal import averaging as averaging
from cfmark.attacks.removal import clean as clean
from cfmark.attacks.removal import finetune as finetune
from cfmark.attacks.removal import noise as noise
from cfmark.attacks.removal import prune as prune
from cfmark.attacks.removal import rounding as rounding
from cfmark.attacks.thieves import FAMILIES as FAMILIES
from cfmark.attacks.thieves import NETWORKS as NETWORKS
from cfmark.attacks.thieves import agreement as agreement
from cfmark.attacks.thieves import agreements as agreements
from cfmark.attacks.thieves import extract as extract
from cfmark.attacks.thieves import extract_many as extract_many
from cfmark.attacks.thieves import train_config as train_config
from cfmark.attacks.thieves import train_networks as train_networks
from cfmark.attacks.thieves import unstack as unstack

__all__ = [
    "ATTACKS",
    "FAMILIES",
    "KINDS",
    "NETWORKS",
    "Labels",
    "LocalOracle",
    "Sources",
    "agreement",
    "agreements",
    "attacked",
    "averaging",
    "clean",
    "dual_cf",
    "extract",
    "extract_many",
    "finetune",
    "gather",
    "mrce",
    "noise",
    "prune",
    "query",
    "rounding",
    "train_config",
    "train_networks",
    "true_labels",
    "unstack",
    "with_labels",
]
