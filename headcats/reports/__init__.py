"""Finished results in words: tables and sentences (`text`), one page (`page`), and attention patterns (`attention`)."""
