"""What a verdict on heads depends on: protocols, halves of the prompts, models, and methods of other kinds."""
