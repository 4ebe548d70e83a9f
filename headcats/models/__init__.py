"""Models: one adapter over TransformerLens' two classes, loading, and the checks before any number is trusted."""
