"""Steering: the mean output of a few heads, added to prompts without demonstrations."""
