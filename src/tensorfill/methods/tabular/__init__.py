"""Methods for tables and series: means, neighbours, regressions, smoothers."""
