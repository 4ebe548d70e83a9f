"""Probes: small classifiers on what a model computes, and what they say about heads and tokens."""
