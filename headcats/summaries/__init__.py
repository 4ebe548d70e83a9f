"""What the tables of methods over the whole suite say, in words: one file per method. Loads no torch."""
