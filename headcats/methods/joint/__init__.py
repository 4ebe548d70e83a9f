"""Joint methods: they judge heads over all tasks at once."""
