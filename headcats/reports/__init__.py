"""Finished results in words: tables and sentences (`text`), one page (`page`), attention patterns (`attention`).

`notebook` shows summaries of them, `exporting` writes their numbers for other programs.
"""
