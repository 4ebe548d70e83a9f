"""Results: a folder of netCDF files with a manifest, and the labelled tree that is read from it.

Needs no torch, so that figures and tables of a finished run can be made anywhere.
"""

from headcats.results.folder import BLOCKS, MANIFEST, SUITE, ResultsFolder, slug
from headcats.results.merging import merge
from headcats.results.tree import load, suite_blocks, task_nodes, tree, unfinished_tasks

__all__ = [
    "BLOCKS",
    "MANIFEST",
    "SUITE",
    "ResultsFolder",
    "load",
    "merge",
    "slug",
    "suite_blocks",
    "task_nodes",
    "tree",
    "unfinished_tasks",
]
