"""Dependence of verdicts on heads: on protocols, and methods of other kinds."""
