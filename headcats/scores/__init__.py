"""Replicates to estimates: one labelled table of effects per task and head."""
