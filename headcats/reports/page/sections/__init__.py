"""Sections of the page of one run, each a function that yields its parts."""
