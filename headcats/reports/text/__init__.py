"""What saved results say, as data: tables and sentences that a terminal and a page show alike. Loads no torch."""

from headcats.reports.text.table import Finding, Note, Paragraph, Table

__all__ = ["Finding", "Note", "Paragraph", "Table"]
