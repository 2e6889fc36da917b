"""Gibbs sampling of a CP model with main effects: every weight is drawn, none is searched for."""
