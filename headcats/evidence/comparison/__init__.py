"""Dependence of verdicts on heads: on protocols, halves of the prompts, and methods of other kinds."""
