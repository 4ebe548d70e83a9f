"""What a verdict on heads depends on: protocols, halves of the prompts, and methods of other kinds."""
