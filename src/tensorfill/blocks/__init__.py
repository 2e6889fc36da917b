"""Observations in blocks, stored in memory, on disk or with the workers of a Dask cluster."""

from tensorfill.blocks.base import Block as Block
from tensorfill.blocks.base import Partitions as Partitions
from tensorfill.blocks.sample import Sample as Sample
