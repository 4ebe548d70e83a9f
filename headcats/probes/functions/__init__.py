"""Which function does a head serve? A classifier on head outputs, and the importance of each head in it."""
