"""Observations in blocks, stored in memory, on disk or with the workers of a Dask cluster."""

from tensorfill.data.partitions.base import Block as Block
from tensorfill.data.partitions.base import Partitions as Partitions
from tensorfill.data.partitions.extract import Extract as Extract
