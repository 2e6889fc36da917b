"""Low-rank models fitted under a numerical prior: CP, its exact case, and other forms."""
