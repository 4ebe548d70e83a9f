"""Models whose heads are known beforehand: planted by hand, or compiled from a program; and the whole tool on them."""
