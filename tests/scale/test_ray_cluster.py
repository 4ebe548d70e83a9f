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
from headcats.base.errors import ClusterError, OptionError
from headcats.models.adapter import HookedModel
from headcats.models.transformers_model import PLACING, check_loader_options
from headcats.results.folder import ResultsFolder
from headcats.scale import ray_cluster


# ------------------------------------------------------------------------------------------------- without a cluster
def test_without_ray_the_error_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    find = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name, *rest: None if name == "ray" else find(name, *rest))
    with pytest.raises(ClusterError, match=r"headcats\[ray\]"):
        hc.Cluster()


@pytest.mark.usefixtures("unchecked_types")
def test_what_is_no_cluster_is_refused() -> None:
    for option, values in {"address": ["", 5], "gpus_per_worker": [-1, 0.5], "cpus_per_worker": [0]}.items():
        for value in values:
            with pytest.raises(OptionError, match=option):
                hc.Cluster(**{option: value})


def test_an_address_where_nobody_listens_is_refused_before_a_model_is_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ray alone would try for minutes."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    for address in (f"127.0.0.1:{port}", f"ray://127.0.0.1:{port}", "127.0.0.1:port", "ray://127.0.0.1:99999"):
        with pytest.raises(ClusterError, match=f"No Ray .*{address}"):
            hc.run("no such model", cluster=hc.Cluster(address))
    monkeypatch.setenv("RAY_ADDRESS", f"127.0.0.1:{port}")
    for given in (None, "auto"):
        with pytest.raises(ClusterError, match=f"{port}, .*RAY_ADDRESS"):
            hc.run("no such model", cluster=hc.Cluster(given))
    hc.Cluster("local").check_reachable()
    monkeypatch.setenv("RAY_ADDRESS", "")
    hc.Cluster().check_reachable()


@pytest.mark.slow
def test_nothing_of_ray_is_imported_by_the_command_line() -> None:
    code = "import sys, headcats.cli.run, headcats; headcats.Cluster('a:1'); sys.exit('ray' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


# ---------------------------------------------------------------------------------------------------- on two nodes
@pytest.mark.slow
def test_the_numbers_are_those_of_one_process(study: Study, on_nodes: Path) -> None:
    assert study.compared(hc.load(on_nodes)) == "same bits"
    found = ResultsFolder(on_nodes).read_manifest()
    plain = hc.load(on_nodes)
    assert found is not None
    assert found.unfinished() == []
    assert set(found.checks) == {"model", "always_a", "always_b", "always_c"}
    assert all(set(found.checks[task]) == {"hooks", "residual", "clean_unchanged"} for task in ("always_a", "always_c"))
    assert list(found.skipped()) == ["shifted"]
    assert found.tasks["shifted"].given_answers != ()
    assert "missing" not in plain.attrs
    psutil.wait_procs(workers(), timeout=60)
    assert workers() == []


@pytest.mark.slow
def test_what_is_finished_is_not_done_again(study: Study, nodes: Any, on_nodes: Path, tmp_path: Path) -> None:
    out = tmp_path / "r"
    shutil.copytree(on_nodes, out)
    lost = out / "blocks" / "mean_ablation@all.nc"
    lost.unlink()
    before = {path: path.stat().st_mtime_ns for path in out.rglob("*.nc") if path.name != "descriptors.nc"}
    assert study.compared(study.run(nodes.address, out)) == "same bits"
    assert lost.exists()
    assert {path: path.stat().st_mtime_ns for path in before} == before


@pytest.mark.slow
def test_a_model_of_the_program_is_refused(nodes: Any) -> None:
    made = as_bridge(hf_model("llama", n_layers=2, seed=0), word_tokenizer())
    with pytest.raises(ClusterError, match="save_pretrained"):
        hc.run(made, cluster=hc.Cluster(nodes.address), **OPTIONS)


@pytest.mark.slow
def test_an_address_is_refused_where_this_process_has_connected_ray(nodes: Any) -> None:
    """The run would go on where nobody meant it to."""
    with hc.Cluster(nodes.address).connected():
        for same in ("auto", None):
            with hc.Cluster(same).connected():
                pass
        with pytest.raises(ClusterError, match="connected Ray already"), hc.Cluster(nodes.address).connected():
            pass


def test_how_many_workers_the_nodes_have_room_for(monkeypatch: pytest.MonkeyPatch) -> None:
    nodes = [{"Resources": {"CPU": 8.0, "memory": 90}}, {"Resources": {"CPU": 3.0, "GPU": 2.0, "memory": 1000}}]
    monkeypatch.setattr(ray_cluster, "_nodes", lambda: nodes)
    for needs, expected in (
        ({"num_cpus": 2, "num_gpus": 0, "memory": 30}, [3, 1]),
        ({"num_cpus": 1, "num_gpus": 1}, [0, 2]),
        ({"num_cpus": 8, "num_gpus": 0}, [1, 0]),
    ):
        assert ray_cluster._room(needs) == expected
    with pytest.raises(ClusterError, match=r"9 CPU.* 8 CPU; 3 CPU"):
        ray_cluster._room({"num_cpus": 9, "num_gpus": 0})


@pytest.mark.parametrize("gpus", [0.0, 1.0])
def test_what_a_worker_takes_of_its_node(counting_model: HookedModel, gpus: float, monkeypatch: Any) -> None:
    asked = []
    monkeypatch.setattr(ray_cluster, "_nodes", lambda: [{"Resources": {"CPU": 3.0, "GPU": gpus, "memory": 1e9}}] * 2)
    monkeypatch.setattr("headcats.scale.pool.Pool", lambda order, **more: asked.append((order, more)) or _Closed())
    with hc.Cluster().workers(counting_model):
        (order, more) = asked[0]
    size = sum(weight.nbytes for weight in counting_model.model.parameters())
    memory = {} if gpus else {"memory": pytest.approx(2 * size, rel=0.1)}
    assert more["resources"] == {"num_cpus": 1, "num_gpus": int(gpus)} | memory
    assert (order.threads, order.neighbours, more["size"]) == ((1, 1, 2) if gpus else (1, 3, 6))
    assert order.loading["device"] == ("cuda" if gpus else "cpu")


def test_only_an_address_is_looked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    monkeypatch.setattr(
        ray_cluster.socket, "create_connection", lambda place, timeout: asked.append(place) or _Closed()
    )
    for address in (None, "auto", "local", "head", "head:1", "ray://head", "ray://head:2"):
        hc.Cluster(address).check_reachable()
    assert asked == [("head", 6379), ("head", 1), ("head", 10001), ("head", 2)]


def test_a_placed_model_is_placed_by_workers_too(counting_model: HookedModel) -> None:
    for name in PLACING:
        origin = replace(counting_model.origin, loader={name: "auto"})
        model = HookedModel(counting_model.model, name="placed", tokenizer=counting_model.tokenizer, origin=origin)
        loading = ray_cluster._loading(model, gpus=1)
        assert loading[name] == "auto"
        check_loader_options({name: loading[name]}, device=loading.get("device"), backend="bridge")


class _Closed:
    def close(self) -> None:
        pass
