"""`open_workers`: from ``local:2``, the address of a scheduler or a YAML file to workers that are there and fit."""

from __future__ import annotations

import asyncio
import logging
import re
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import resweep
from resweep.cluster.spec import read_cluster
from resweep.cluster.tasks import describe_mismatch
from resweep.errors import ResweepError
from resweep.optional import require
from resweep.work import OneProcess, Workers

_LOCAL = "local:"
_ADDRESS = re.compile(r"(tcp|tls|ucx|ws|wss|inproc)://[^\s/]+(:\d+)?")
_MAX_LOCAL = 256  # workers of one machine: each takes about 150 MB by itself
_CONNECT_S = 5.0
_JOIN_S = 15.0  # for which a running scheduler may be without any worker
_START_S = 60.0  # which workers of this machine may take to start
# Packages whose versions must be the same on the workers in their first two parts.
_SAME_MINOR = {"python": "Python", "numpy": "NumPy", "distributed": "dask.distributed"}

CONFIG = {
    "distributed.scheduler.allowed-failures": 20,  # workers that may be lost with a task
    "distributed.worker.memory.target": False,  # results are small; a worker that waits for memory would wait forever
    "distributed.worker.memory.spill": False,
    "distributed.worker.memory.pause": False,
    "distributed.admin.large-graph-warning-threshold": "1TB",
    "distributed.comm.timeouts.connect": f"{_CONNECT_S:.0f}s",
    # Threads of the libraries below NumPy: native code has threads of its own, whose number a task sets.
    "distributed.nanny.pre-spawn-environ": {
        "OMP_NUM_THREADS": "1",
        "MKL_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
    },
}


@contextmanager
def open_workers(text: str | None) -> Iterator[Workers]:
    """What runs tasks, for as long as the context lasts.

    ``text`` is ``local:N`` (N processes on this machine), the address of a running dask scheduler (``tcp://host:port``)
    or a YAML file (`ClusterSpec`); None runs them in this process. Workers that cannot be reached, that do not come or
    that have another version of Resweep are errors, before any task. What was started here ends with the context.

    Example: ``with open_workers("local:4") as workers: rs.generate(plan, "out", workers=workers)``
    """
    if text is None:
        yield OneProcess()
        return
    start = _choose(text)
    require("distributed", f"cluster '{text}'")
    require("cloudpickle", f"cluster '{text}'")
    dask = require("dask", f"cluster '{text}'")
    with ExitStack() as stack:
        stack.enter_context(dask.config.set(CONFIG))
        stack.enter_context(_silence_logs())
        client = start(text, stack)
        _check_versions(client)
        if client.dashboard_link:
            print(f"dask dashboard: {client.dashboard_link}", file=sys.stderr, flush=True)
        from resweep.cluster.workers import DaskWorkers

        yield DaskWorkers(client)


def _choose(text: str) -> Any:
    """What starts or reaches the cluster of ``text``; a mistake in it is an error here."""
    if text.startswith(_LOCAL):
        _parse_local(text)
        return _start_local
    if "://" in text:
        if not _ADDRESS.fullmatch(text):
            raise ResweepError(f"cluster '{text}': is no address of a scheduler; give one such as tcp://host:8786")
        return _connect
    if Path(text).suffix.lower() not in (".yaml", ".yml"):
        raise ResweepError(
            f"cluster '{text}': expected local:N, the address of a scheduler (tcp://host:port) or a YAML file"
        )
    spec = read_cluster(text)
    return lambda text, stack: _deploy(spec, text, stack)


def _parse_local(text: str) -> int:
    count = text.removeprefix(_LOCAL)
    if not re.fullmatch(r"\d{1,9}", count) or not 1 <= int(count) <= _MAX_LOCAL:
        raise ResweepError(f"cluster '{text}': expected a number of workers from 1 to {_MAX_LOCAL}, such as local:4")
    return int(count)


def _start_local(text: str, stack: ExitStack) -> Any:
    count = _parse_local(text)
    stack.enter_context(_hide_script())
    folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="resweep-cluster-", ignore_cleanup_errors=True))
    try:
        cluster = require("distributed", f"cluster '{text}'").LocalCluster(
            n_workers=count,
            threads_per_worker=1,
            processes=True,
            host="127.0.0.1",
            dashboard_address="127.0.0.1:0",
            worker_dashboard_address=None,
            local_directory=folder,
            silence_logs=logging.CRITICAL,
            preload=["resweep.cluster.local_worker"],
        )
    except (OSError, RuntimeError, TimeoutError) as error:
        raise ResweepError(f"cluster '{text}': workers cannot be started ({error})") from error
    stack.enter_context(tolerate_worker_loss(cluster))
    return _open_client(cluster, text, _START_S, stack, count)


def _connect(text: str, stack: ExitStack) -> Any:
    try:
        with ThreadPoolExecutor(1) as thread:  # this one may have a loop that runs, as in a notebook
            thread.submit(asyncio.run, _identify(text)).result()
    except (OSError, TimeoutError, ValueError, ImportError) as error:
        raise _make_no_answer_error(text) from error
    return _open_client(text, text, _JOIN_S, stack)


async def _identify(address: str) -> None:
    """Raise unless a scheduler answers; a client would wait forever for something else that listens there."""
    distributed = require("distributed", f"cluster '{address}'")

    async def ask() -> None:
        async with distributed.rpc(address) as scheduler:
            await scheduler.identity()

    await asyncio.wait_for(ask(), _CONNECT_S)


def _make_no_answer_error(text: str) -> ResweepError:
    return ResweepError(
        f"cluster '{text}': no dask scheduler answers there within {_CONNECT_S:.0f} s; check the address, and that "
        "'dask scheduler' runs and can be reached from here"
    )


def _deploy(spec: Any, text: str, stack: ExitStack) -> Any:
    cluster = stack.enter_context(tolerate_worker_loss(spec.start(text)))
    return _open_client(cluster, text, spec.wait_s, stack)


def tolerate_worker_loss(cluster: Any) -> Any:
    """The cluster, which now tolerates the loss of a worker that it did not know yet.

    distributed (2026.8) takes what it knows of a lost worker from a table. A worker that is killed soon after it joined
    is not in it: the watch of the workers would end there, and closing the cluster would raise its ``KeyError``.
    """
    update = cluster._update_worker_status

    def update_known(op: str, worker: Any) -> None:
        if op != "remove" or worker in cluster.scheduler_info["workers"]:
            update(op, worker)

    cluster._update_worker_status = update_known
    return cluster


def _open_client(cluster: Any, text: str, wait_s: float, stack: ExitStack, count: int = 1) -> Any:
    """A client of the cluster, once it has ``count`` workers."""
    distributed = require("distributed", f"cluster '{text}'")
    try:
        client = stack.enter_context(distributed.Client(cluster, timeout=_CONNECT_S, set_as_default=False))
    except (OSError, TimeoutError, ValueError, ImportError) as error:
        raise _make_no_answer_error(text) from error
    try:
        client.wait_for_workers(count, timeout=wait_s)
    except TimeoutError as error:
        raise ResweepError(
            f"cluster '{text}': no worker has joined its scheduler within {wait_s:g} s; start some with 'dask worker', "
            "or wait until the queue has room"
        ) from error
    return client


def _check_versions(client: Any) -> None:
    """Raise if a worker has another version of Resweep, or of what tasks and results are pickled with."""
    versions = client.get_versions()
    mine = versions["client"]
    for address, its in sorted(versions["workers"].items()):
        for name, title in _SAME_MINOR.items():
            wanted, found = (_find_version(which, name) for which in (mine, its))
            if found.split(".")[:2] != wanted.split(".")[:2]:
                raise ResweepError(describe_mismatch(address, title, found, wanted))
    for address, found in sorted(client.run(_make_reader()).items()):
        if found != resweep.__version__:
            raise ResweepError(describe_mismatch(address, "Resweep", found, resweep.__version__))


def _find_version(versions: dict[str, Any], name: str) -> str:
    found = versions["host"]["python"] if name == "python" else versions["packages"].get(name)
    return ".".join(str(found or "").split(".")[:3])


def _make_reader() -> Any:
    """A function that is sent whole, as a worker may be without Resweep."""

    def read_version() -> str | None:
        try:
            import resweep
        except ImportError:
            return None
        return str(resweep.__version__)

    return read_version


@contextmanager
def _hide_script() -> Iterator[None]:
    """No script of this process for new ones to import: they need none, and one that guards nothing would run again."""
    main = sys.modules["__main__"]
    hidden = {name: getattr(main, name) for name in ("__file__", "__spec__") if hasattr(main, name)}
    for name in hidden:
        setattr(main, name, None)
    try:
        yield
    finally:
        for name, value in hidden.items():
            setattr(main, name, value)


@contextmanager
def _silence_logs() -> Iterator[None]:
    """No lines of dask's own: what matters is in errors, and in what `DaskWorkers` prints of lost workers."""
    loggers = [logging.getLogger(name) for name in ("distributed", "tornado.application", "bokeh", "asyncio")]
    before = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.CRITICAL + 1)
    try:
        yield
    finally:
        for logger, level in zip(loggers, before, strict=True):
            logger.setLevel(level)
