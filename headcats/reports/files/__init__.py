"""Numbers of finished results as files for other programs."""
