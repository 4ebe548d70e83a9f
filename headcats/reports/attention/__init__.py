"""Attention views: pages that show where the heads of every category look, on prompts of their tasks."""
