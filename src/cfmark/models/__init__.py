"""Networks, their training, and any other model as a Classifier."""

from cfmark.models import mlp as mlp
from cfmark.models.adapters import BlackBox as BlackBox
from cfmark.models.adapters import adapt as adapt
from cfmark.models.classifier import JaxClassifier as JaxClassifier
from cfmark.models.classifier import accuracy as accuracy
from cfmark.models.classifier import describe as describe
from cfmark.models.classifier import fit_classifier as fit_classifier
from cfmark.models.classifier import load_classifier as load_classifier
from cfmark.models.classifier import owner_config as owner_config
from cfmark.models.classifier import read_facts as read_facts
from cfmark.models.classifier import save_classifier as save_classifier
from cfmark.models.owner import Owned as Owned
from cfmark.models.owner import own_classifier as own_classifier
from cfmark.models.surrogate import DistilConfig as DistilConfig
from cfmark.models.surrogate import Distilled as Distilled
from cfmark.models.surrogate import distil as distil
from cfmark.models.training import TrainConfig as TrainConfig
from cfmark.models.training import descend as descend
from cfmark.models.training import fit as fit
from cfmark.models.training import fit_many as fit_many
from cfmark.models.training import forget_programs as forget_programs
from cfmark.models.training import soft_labels as soft_labels

__all__ = [
    "BlackBox",
    "DistilConfig",
    "Distilled",
    "JaxClassifier",
    "Owned",
    "TrainConfig",
    "accuracy",
    "adapt",
    "descend",
    "describe",
    "distil",
    "fit",
    "fit_classifier",
    "fit_many",
    "forget_programs",
    "load_classifier",
    "mlp",
    "own_classifier",
    "owner_config",
    "read_facts",
    "save_classifier",
    "soft_labels",
]
