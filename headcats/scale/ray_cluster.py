"""`hc.Cluster`: where a run finds its workers."""

import contextlib
import importlib.util
import logging
import math
import os
import signal
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from headcats.base.errors import ClusterError, OptionError, check_count, pluralize, shown

if TYPE_CHECKING:
    from headcats.models.adapter import HookedModel
    from headcats.scale.pool import Pool
    from headcats.scale.spread import Spread

_REACHED = 5.0
"""Seconds in which a cluster has to answer; Ray alone would try for minutes."""
# No report to its makers, and no warning about graphics cards that a worker does not ask for.
_QUIET = {"RAY_USAGE_STATS_ENABLED": "0", "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0", "RAY_DEDUP_LOGS": "0"}
_CLIENT = "ray://"
_PORTS = {_CLIENT: "10001", "": "6379"}

_log = logging.getLogger("headcats")


@dataclass(frozen=True)
class Cluster:
    """Machines on which a run scores its cells: a Ray cluster, or the cores of this one.

    Every worker holds the model, loaded once from the name or folder that it has here, and scores a method on some
    prompts of a task at a time. Prompts are sent to the workers, and results come back to the process that called
    `hc.run`, which alone writes: workers need to see the model, no results and no suite. That process loads the whole
    model too, to check it and to describe its heads, so its machine needs the memory. A cell whose worker or node dies
    is done again elsewhere; one that runs out of memory is cut in halves, else tried once more elsewhere. A cell holds
    as many prompts as a sweep of the first process would take at once, since the last bits of a result depend on that:
    one method on one task keeps one worker busy, unless a limit of memory cuts its prompts.

    Attributes:
        address: `host:port` of the head node, or "auto" for the cluster that this machine belongs to; None takes the
            Ray that this process has, that of the variable RAY_ADDRESS, one that runs on this machine, or starts one.
        gpus_per_worker: GPUs of a worker; the model is spread over several. None takes one where the cluster has any.
        cpus_per_worker: Cores of a worker, and its threads where it has no GPU.

    Raises:
        ClusterError: Ray is not installed.
        OptionError: Numbers that are no counts, or an address that is none.

    Example:
        >>> import headcats as hc
        >>> hc.Cluster("10.0.0.1:6379", gpus_per_worker=2)  # hc.run(model, cluster=...)
        Cluster(address='10.0.0.1:6379', gpus_per_worker=2, cpus_per_worker=1)

    References:
        Moritz et al. (2018), Ray: A Distributed Framework for Emerging AI Applications, OSDI.
    """

    address: str | None = None
    gpus_per_worker: int | None = None
    cpus_per_worker: int = 1

    def __post_init__(self) -> None:
        if importlib.util.find_spec("ray") is None:
            raise ClusterError("A cluster needs Ray: pip install 'headcats[ray]', on every node.")
        check_count("cpus_per_worker", self.cpus_per_worker, least=1, most=math.inf)
        if self.gpus_per_worker is not None:
            check_count("gpus_per_worker", self.gpus_per_worker, least=0, most=math.inf)
        if self.address is not None and not (isinstance(self.address, str) and self.address.strip()):
            raise OptionError(f"address must be host:port of the head node, or 'auto'; got {shown(self.address)}.")

    @classmethod
    def parse(cls, text: str) -> "Cluster":
        """Read `here`, `auto` or `host:port`, with `,gpus=N` or without; an OptionError for anything else.

        Args:
            text: As `--cluster` takes it.
        """
        address, _, gpus = text.partition(",")
        name, _, number = gpus.partition("=")
        if gpus and (name.strip() != "gpus" or not number.strip().isdecimal()):
            raise OptionError(f"cluster must be here, auto or host:port, with or without ,gpus=N; got {text!r:.80}.")
        return cls(None if address == "here" else address, int(number) if gpus else None)

    def check_reachable(self) -> None:
        """Raise a ClusterError if nobody listens at the address, or at that of RAY_ADDRESS where it is used."""
        place = self._place()
        if place in (None, "auto", "local"):
            return
        assert place is not None
        host, port = _host_and_port(place)
        try:
            socket.create_connection((host, int(port)), timeout=_REACHED).close()
        except (OSError, ValueError, OverflowError) as error:
            named = place if place == self.address else f"{place}, which the variable RAY_ADDRESS names"
            raise ClusterError(
                f"No Ray cluster answers at {named} ({getattr(error, 'strerror', None) or error}). `ray start --head` "
                "on its first node prints the address, host:port; is there a firewall between?"
            ) from None

    def _place(self) -> str | None:
        """The address that Ray will take; None or "auto" lets it look for one."""
        if self.address not in (None, "auto") or ("ray" in sys.modules and sys.modules["ray"].is_initialized()):
            return self.address
        return os.environ.get("RAY_ADDRESS") or self.address

    @contextlib.contextmanager
    def connected(self) -> "Iterator[Callable[..., Spread]]":
        """Reach the cluster; yields what makes the scorer of a study, whose workers end on leaving."""
        self.check_reachable()
        for name, value in _QUIET.items():
            os.environ.setdefault(name, value)
        import ray

        with _silent():
            is_ours = not ray.is_initialized()
            if is_ours:
                with _keeping_sigterm():
                    self._initialize()
            elif self.address not in (None, "auto"):
                raise ClusterError(
                    f"This process has connected Ray already, and the run is to use {self.address}: call "
                    "ray.shutdown() first, or take hc.Cluster() for the Ray that is there."
                )
            try:
                with contextlib.ExitStack() as pools:
                    yield lambda preparation, **options: self._spread(pools, preparation, **options)
            finally:
                if is_ours:
                    ray.shutdown()

    def _spread(self, pools: contextlib.ExitStack, preparation: Any, **options: Any) -> "Spread":
        from headcats.scale.spread import Spread

        return Spread(pools.enter_context(self.workers(preparation.model)), preparation, **options)

    def _initialize(self) -> None:
        import ray

        place = self._place()
        # With an address, Ray takes no options of a cluster of its own.
        options: dict[str, Any] = {"include_dashboard": False} if place in (None, "local") else {}
        try:
            ray.init(address=place, log_to_driver=False, logging_level=logging.ERROR, **options)
        except (RuntimeError, ValueError, OSError) as error:
            raise ClusterError(f"The Ray cluster cannot be used: {error}") from None

    @contextlib.contextmanager
    def workers(self, model: "HookedModel") -> "Iterator[Pool]":
        """Workers with the model of this process, which end on leaving; within `connected`.

        Args:
            model: A model that `hc.load_model` has loaded from a name or folder.
        """
        from headcats.models.weights import resident_bytes
        from headcats.scale.pool import Pool
        from headcats.scale.worker import Order
        from headcats.study.identity import model_record, versions

        if not model.origin.source:
            raise ClusterError(
                f"Model {model.name!r} was made by this program, so no worker can load it. Save it and its tokenizer "
                "with save_pretrained, into a folder that every node sees, and run with that folder."
            )
        gpus = self.gpus_per_worker
        if gpus is None:
            gpus = int(any(node["Resources"].get("GPU", 0) >= 1 for node in _nodes()))
        resources: dict[str, Any] = {"num_cpus": self.cpus_per_worker, "num_gpus": gpus}
        if not gpus:
            # While weights are read, they are there twice.
            resources["memory"] = 2 * resident_bytes(model.model)
        sizes = _room(resources)
        order = Order(
            source=model.origin.source,
            loading=_loading(model, gpus=gpus),
            model=model_record(model),
            versions=versions(),
            threads=self.cpus_per_worker,
            neighbours=max(sizes),
        )
        _log.info("Cluster: %s, %s.", pluralize(len(sizes), "node"), pluralize(sum(sizes), "worker"))
        pool = Pool(order, size=sum(sizes), resources=resources)
        try:
            yield pool
        finally:
            pool.close()


def _host_and_port(address: str) -> tuple[str, str]:
    scheme = _CLIENT if address.startswith(_CLIENT) else ""
    host, _, port = address.removeprefix(scheme).rpartition(":")
    return (host, port) if host else (port, _PORTS[scheme])


def _loading(model: "HookedModel", *, gpus: int) -> dict[str, Any]:
    """Arguments of `hc.load_model` that make the same model again, on the devices of a worker."""
    from headcats.models.hooks import model_class
    from headcats.models.transformers_model import PLACING

    origin, dtype = model.origin, str(model.dtype).removeprefix("torch.")
    loading = {
        "dtype": dtype,
        "revision": origin.revision,
        "tokenizer": model.tokenizer,
        "backend": "hooked" if model_class(model.model) == "HookedTransformer" else "bridge",
    } | dict(origin.loader)
    if not any(loading.get(name) is not None for name in PLACING):
        loading |= {"device_map": "auto"} if gpus > 1 else {"device": "cuda" if gpus else "cpu"}
    return loading


def _nodes() -> list[dict[str, Any]]:
    import ray

    return [node for node in ray.nodes() if node["Alive"]]


def _room(resources: dict[str, Any]) -> list[int]:
    """Number of workers that each node has room for; a ClusterError if none has any."""
    names = {"num_cpus": "CPU", "num_gpus": "GPU", "memory": "memory"}
    needs = {names[option]: amount for option, amount in resources.items() if amount}
    sizes = [min(int(node["Resources"].get(name, 0) // need) for name, need in needs.items()) for node in _nodes()]
    if not sum(sizes):
        wanted = ", ".join(f"{need:g} {name}" for name, need in needs.items())
        there = "; ".join(
            ", ".join(f"{node['Resources'].get(name, 0):g} {name}" for name in needs) for node in _nodes()
        )
        raise ClusterError(f"No node has room for a worker, which needs {wanted} (memory in bytes); there are {there}.")
    return sizes


@contextlib.contextmanager
def _silent() -> Iterator[None]:
    """No line of Ray on stdout, which belongs to what a command answers: it prints what happens to nodes there."""
    with open(os.devnull, "w", encoding="utf-8") as nowhere, contextlib.redirect_stdout(nowhere):
        yield


@contextlib.contextmanager
def _keeping_sigterm() -> Iterator[None]:
    """Ray exits on SIGTERM; a command saves what is finished and says so."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.getsignal(signal.SIGTERM)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
