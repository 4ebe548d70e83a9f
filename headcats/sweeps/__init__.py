"""Interventions on every head of a model."""
