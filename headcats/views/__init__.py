"""Attention views: pages that show where the heads of every category look, on prompts of their tasks.

`write_views` is what makes them. Importing this package loads no model library; reading the attribute does.
"""
