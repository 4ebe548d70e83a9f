"""Two processes write one folder in turns while a third reads it: whole at every moment."""

import subprocess
import sys
import warnings
from pathlib import Path

from results.folders import LABEL

from headcats.results.loading import load
from headcats.results.place import MANIFEST
from headcats.results.run_results import RunResults

# Adds a task after the other, each time as the one writer, and makes one of its blocks anew.
WRITER = """
import sys
sys.path.insert(0, sys.argv[1])
from results.folders import LABEL, block, manifest
from headcats.results.folder import ResultsFolder
from headcats.results import writer

writer._PATIENCE = 600.0  # seconds, where other processes leave little of the machine
out, name, n = sys.argv[2], sys.argv[3], int(sys.argv[4])
print("ready", flush=True)
sys.stdin.readline()
for number in range(n):
    folder = ResultsFolder(out)
    with folder.writing(name):
        known = folder.read_manifest() or manifest()
        task = f"{name}{number}"
        added = manifest(task)
        known.join(added)
        folder.write_block(task, LABEL, block())
        folder.write_manifest(known)
        folder.write_block(task, LABEL, block())
"""


def test_a_reader_beside_two_writers_sees_whole_states(tmp_path):
    path, n_writes, n_reads = tmp_path / "r", 4, 8
    command = [sys.executable, "-c", WRITER, str(Path(__file__).parents[1]), str(path)]
    processes = [
        subprocess.Popen([*command, name, str(n_writes)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for name in "ab"
    ]
    for process in processes:
        assert process.stdout.readline() == "ready\n"
    for process in processes:
        process.stdin.write("\n")
        process.stdin.flush()
    n_tasks = []
    while len(n_tasks) < n_reads or any(process.poll() is None for process in processes):
        if not (path / MANIFEST).is_file():
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # a block that is missing would be one
            run = RunResults(load(path))
        assert len(run.tasks) == len(run.manifest.tasks)
        n_tasks.append(len(run.tasks))
    for process in processes:
        process.communicate()
        assert process.returncode == 0
    assert n_tasks == sorted(n_tasks), "nothing that was there is gone"
    blocks = load(path)
    assert sorted(RunResults(blocks).tasks) == sorted(f"{name}{number}" for name in "ab" for number in range(n_writes))
    assert all(LABEL in blocks[task].children for task in RunResults(blocks).tasks)
