"""Where heads look: those of every category, on a prompt of its tasks, for the page; and any of them, in any text."""
