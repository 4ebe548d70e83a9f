"""What a cluster is refused for, and that a run on one is that of one process."""

import importlib.util
import shutil
import socket
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import psutil
import pytest
from cluster_faults import OPTIONS, Study, workers
from toys import as_bridge, hf_model, word_tokenizer

import headcats as hc
from headcats.cluster import ray_cluster
from headcats.errors import ClusterError, OptionError
from headcats.models.adapter import HookedModel
from headcats.models.transformers_model import PLACING, check_loader_options
from headcats.results.folder import ResultsFolder


# ------------------------------------------------------------------------------------------------- without a cluster
def test_without_ray_the_error_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    find = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name, *rest: None if name == "ray" else find(name, *rest))
    with pytest.raises(ClusterError, match=r"headcats\[ray\]"):
        hc.Cluster()


@pytest.mark.parametrize(
    "options",
    [{"address": ""}, {"address": 5}, {"gpus_per_worker": -1}, {"gpus_per_worker": 0.5}, {"cpus_per_worker": 0}],
)
def test_what_is_no_cluster_is_refused(options: dict[str, Any]) -> None:
    with pytest.raises(OptionError, match=next(iter(options))):
        hc.Cluster(**options)


@pytest.mark.parametrize("scheme", ["", "ray://"])
@pytest.mark.parametrize("port", [None, "port", "99999"])
def test_an_address_where_nobody_listens_is_refused_before_a_model_is_loaded(scheme: str, port: str | None) -> None:
    """Ray alone would try for minutes."""
    if port is None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = str(free.getsockname()[1])
    address = f"{scheme}127.0.0.1:{port}"
    with pytest.raises(ClusterError, match=f"No Ray cluster answers at {address}"):
        hc.run("no such model", cluster=hc.Cluster(address))


def test_nothing_of_ray_is_imported_by_the_command_line() -> None:
    code = "import sys, headcats.cli.run, headcats; headcats.Cluster('a:1'); sys.exit('ray' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


# ---------------------------------------------------------------------------------------------------- on two nodes
@pytest.mark.ci
def test_the_numbers_are_those_of_one_process(study: Study, finished: Path) -> None:
    assert study.states(hc.load(finished)) == {"same bits"}
    found = ResultsFolder(finished).read_manifest()
    plain = hc.load(finished)
    assert found is not None
    assert found.unfinished() == []
    assert set(found.checks) == {"model", "always_a", "always_b", "always_c"}
    assert all(set(found.checks[task]) == {"hooks", "residual", "clean_unchanged"} for task in ("always_a", "always_c"))
    assert list(found.skipped()) == ["shifted"]
    assert found.tasks["shifted"].given_answers != ()
    assert "missing" not in plain.attrs


@pytest.mark.ci
def test_no_worker_is_left_behind(finished: Path) -> None:
    psutil.wait_procs(workers(), timeout=60)
    assert workers() == []


@pytest.mark.ci
def test_what_is_finished_is_not_done_again(study: Study, nodes: Any, finished: Path, tmp_path: Path) -> None:
    out = tmp_path / "r"
    shutil.copytree(finished, out)
    lost = out / "blocks" / "always_b" / "mean_ablation@all.nc"
    lost.unlink()
    before = {path: path.stat().st_mtime_ns for path in out.rglob("*.nc") if path.name != "descriptors.nc"}
    assert study.states(study.run(nodes.address, out)) == {"same bits"}
    assert lost.exists()
    assert {path: path.stat().st_mtime_ns for path in before} == before


@pytest.mark.ci
def test_a_model_of_the_program_is_refused(nodes: Any) -> None:
    made = as_bridge(hf_model("llama", n_layers=2, seed=0), word_tokenizer())
    with pytest.raises(ClusterError, match="save_pretrained"):
        hc.run(made, cluster=hc.Cluster(nodes.address), **OPTIONS)


@pytest.mark.slow
def test_changed_weights_are_found(study: Study, nodes: Any) -> None:
    """A worker loads the folder, which has others."""
    model = hc.load_model(study.root / "model", device="cpu")
    next(model.model.parameters()).data.mul_(1.5)
    with pytest.raises(ClusterError, match="weights_hash"):
        hc.run(model, cluster=hc.Cluster(nodes.address), progress=False, **OPTIONS)


@pytest.mark.ci
def test_another_cluster_than_the_one_of_this_process_is_refused(nodes: Any) -> None:
    """The run would go on where nobody meant it to."""
    host, port = nodes.address.split(":")
    with socket.create_server(("127.0.0.1", 0)) as other, hc.Cluster(nodes.address).connected():
        for same in (nodes.address, f"localhost:{port}", "auto", None):
            with hc.Cluster(same).connected():
                pass
        with (
            pytest.raises(ClusterError, match=rf"connected Ray to {host}:{port}"),
            hc.Cluster(f"127.0.0.1:{other.getsockname()[1]}").connected(),
        ):
            pass


@pytest.mark.ci
def test_too_much_for_every_node_is_refused(study: Study, nodes: Any) -> None:
    with pytest.raises(ClusterError, match=r"needs 5 CPU.*there are 1 CPU"):
        hc.run(study.model, cluster=hc.Cluster(nodes.address, cpus_per_worker=5), **OPTIONS)


def test_only_an_address_is_looked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    monkeypatch.setattr(
        ray_cluster.socket, "create_connection", lambda place, timeout: asked.append(place) or _Closed()
    )
    for address in (None, "auto", "local", "head", "head:1", "ray://head", "ray://head:2"):
        hc.Cluster(address).check_reachable()
    assert asked == [("head", 6379), ("head", 1), ("head", 10001), ("head", 2)]


def test_the_address_of_the_environment_is_looked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{free.getsockname()[1]}"
    monkeypatch.setenv("RAY_ADDRESS", address)
    for given in (None, "auto"):
        with pytest.raises(ClusterError, match=f"No Ray cluster answers at {address}, .*RAY_ADDRESS"):
            hc.run("no such model", cluster=hc.Cluster(given))
    hc.Cluster("local").check_reachable()
    monkeypatch.setenv("RAY_ADDRESS", "")
    hc.Cluster().check_reachable()


@pytest.mark.parametrize("name", PLACING)
def test_a_placed_model_is_placed_by_workers_too(study: Study, name: str) -> None:
    origin = replace(study.model.origin, loader={name: "auto"})
    model = HookedModel(study.model.model, name="placed", tokenizer=study.model.tokenizer, origin=origin)
    loading = ray_cluster._loading(model, gpus=1)
    assert loading[name] == "auto"
    check_loader_options({name: loading[name]}, device=loading.get("device"), backend="bridge")


class _Closed:
    def close(self) -> None:
        pass
