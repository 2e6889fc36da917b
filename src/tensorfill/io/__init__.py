"""Data of other libraries and files, in and out: the only place that knows formats and optional libraries."""

from tensorfill.io.observe import observe as observe
