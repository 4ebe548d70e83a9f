"""Replicates of one task to numbers per head. Plain arrays, no labels."""
