"""The image engine: smooth low-rank fits, self-similarity of patches, continuation into holes, large pictures."""
