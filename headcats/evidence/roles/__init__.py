"""Layer x token role: what patching does there, and where attention goes."""
