"""Results: a folder of netCDF files with a manifest, and the labelled tree that is read from it.

Needs no torch, so that figures and tables of a finished run can be made anywhere. (Only to merge folders that hold
different parts of a joint method, the method itself is loaded.)
"""

from headcats.results.folder import BLOCKS, ResultsFolder, read_table, slug, table_bytes
from headcats.results.label import Label
from headcats.results.manifest import MANIFEST, SUITE, Manifest
from headcats.results.merging import join_parts, merge
from headcats.results.one_table import refuse_results, tables_of
from headcats.results.tree import find_manifest, load, manifest_of, scored_labels, suite_blocks, task_nodes, tree
from headcats.results.whole_file import write_whole

__all__ = [
    "BLOCKS",
    "MANIFEST",
    "SUITE",
    "Label",
    "Manifest",
    "ResultsFolder",
    "find_manifest",
    "join_parts",
    "load",
    "manifest_of",
    "merge",
    "read_table",
    "refuse_results",
    "scored_labels",
    "slug",
    "suite_blocks",
    "table_bytes",
    "tables_of",
    "task_nodes",
    "tree",
    "write_whole",
]
