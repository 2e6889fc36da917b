"""Deciding from the data: facts, candidates, one contest. Importing this registers the methods auto and auto-best."""

from tensorfill.auto import auto as _auto  # noqa: F401
