"""Finished results in words: tables and sentences (`text`), one page (`page`), attention patterns (`attention`).

`exporting` writes their numbers for other programs.
"""
