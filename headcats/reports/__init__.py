"""Finished results in words: tables and sentences (`text`), one page (`page`), attention patterns (`attention`).

`files` holds their numbers for other programs.
"""
