"""Results: a folder of netCDF files with a manifest, and the labelled tree that is read from it.

Needs no torch, so that figures and tables of a finished run can be made anywhere. (Only to merge folders that hold
different parts of a joint method, the method itself is loaded.)
"""
