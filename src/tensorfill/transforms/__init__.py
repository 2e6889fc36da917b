"""Transforms wrap a method: they change the data before a fit, and its answer (means, quantiles, draws) back."""

from tensorfill.transforms.clip import Clipped
from tensorfill.transforms.flatten import Flattened
from tensorfill.transforms.fold import Folded
from tensorfill.transforms.standardise import Standardised

__all__ = ["Clipped", "Flattened", "Folded", "Standardised"]
