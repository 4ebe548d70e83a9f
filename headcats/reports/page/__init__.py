"""One self-contained HTML page from a results folder: what was run, what came out, and how sure that is.

Reads saved results alone: no model, no torch.
"""
