"""Clusters that cannot be used say so in one line, before any work; those that can leave nothing behind."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import psutil
import pytest
from cluster_tasks import die, die_once, fail, refuse_to_be_sent, square, warn

from resweep.cluster import ClusterSpec, open_workers, start
from resweep.cluster.spec import read_cluster
from resweep.errors import ResweepError, UnknownPosesError

from .conftest import PATIENCE_S, Cluster, Places, content

# A scheduler in a process whose resweep is another one, or none; with workers in the same process.
OTHER = """
import sys
from distributed import LocalCluster
if __name__ == "__main__":
    with LocalCluster(
        n_workers=int(sys.argv[1]), threads_per_worker=1, processes=False, protocol="tcp://", host="127.0.0.1",
        dashboard_address=None, silence_logs=50
    ) as cluster:
        print(cluster.scheduler_address, flush=True)
        sys.stdin.read()
"""


@contextmanager
def other_process(count: int, path: str) -> Iterator[str]:
    """The address of a scheduler with ``count`` workers in a process that imports from ``path``."""
    args = [sys.executable, "-c", OTHER, str(count)]
    env = {**os.environ, "PYTHONPATH": path}
    with subprocess.Popen(args, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=env) as process:
        assert process.stdout is not None
        yield process.stdout.readline().strip()
        process.communicate("")


def refusal(text: str) -> str:
    with pytest.raises(ResweepError) as caught, open_workers(text):
        pass
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize("text", ["local:0", "local:", "local:two", "local:-1", "local:5000"])
def test_a_wrong_number_of_workers(text: str) -> None:
    assert refusal(text) == f"cluster '{text}': expected a number of workers from 1 to 256, such as local:4"


@pytest.mark.parametrize("text", ["everywhere", "", "8786", "tcp:/host"])
def test_what_is_no_cluster(text: str) -> None:
    assert "expected local:N, the address of a scheduler (tcp://host:port) or a YAML file" in refusal(text)


@pytest.mark.parametrize("text", ["tcp://", "http://host:80/path", "gopher://host:70"])
def test_what_is_no_address(text: str) -> None:
    assert refusal(text) == f"cluster '{text}': is no address of a scheduler; give one such as tcp://host:8786"


def test_a_scheduler_that_cannot_be_reached(monkeypatch: pytest.MonkeyPatch, places: Places, resweep: Any) -> None:
    monkeypatch.setattr(start, "_CONNECT_S", 1.0)
    with socket.create_server(("127.0.0.1", 0)) as silent:  # something that is no scheduler
        taken = silent.getsockname()[1]
        assert f"cluster 'tcp://127.0.0.1:{taken}': no dask scheduler answers there within 1 s" in refusal(
            f"tcp://127.0.0.1:{taken}"
        )
    command = ["simulate", places.room, "-s", "velodyne-vlp-16", "-p", "0,0,0", "-o", places.folder / "none"]
    done = resweep(*command, "--cluster", f"tcp://127.0.0.1:{taken}")
    assert (done.status, done.err.count("\n")) == (1, 1), done.err
    assert done.err.startswith(f"resweep: error: cluster 'tcp://127.0.0.1:{taken}': no dask scheduler answers")
    assert not (places.folder / "none").exists()


def test_a_scheduler_without_workers(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(start, "_JOIN_S", 0.5)
    with other_process(0, str(tmp_path)) as address:
        assert f"cluster '{address}': no worker has joined its scheduler within 0.5 s" in refusal(address)


def test_workers_with_another_version_of_resweep(tmp_path: Path) -> None:
    (tmp_path / "resweep").mkdir()
    (tmp_path / "resweep" / "__init__.py").write_text("__version__ = '0.0.1'\n")
    import resweep

    with other_process(1, str(tmp_path)) as address:
        text = refusal(address)
    assert text.startswith("worker tcp://127.0.0.1:")
    assert f"has Resweep 0.0.1, this command is Resweep {resweep.__version__}; install the same on all workers" in text


@pytest.mark.parametrize(("name", "title"), [("python", "Python"), ("numpy", "NumPy")])
def test_workers_with_another_minor_version(name: str, title: str) -> None:
    def versions(**changed: str) -> dict[str, Any]:
        own = {"python": "3.11.7.final.0", "numpy": "2.1.3", "distributed": "2026.8.0", **changed}
        return {"host": {"python": own["python"]}, "packages": own}

    import resweep

    def client(its: dict[str, Any]) -> Any:
        known = {"client": versions(), "workers": {"tcp://far:1": its}}
        return SimpleNamespace(get_versions=lambda: known, run=lambda _: {"tcp://far:1": resweep.__version__})

    start._check_versions(client(versions(numpy="2.1.9", python="3.11.1.final.0")))
    with pytest.raises(ResweepError, match=rf"^worker tcp://far:1: has {title} 4\.2\.0, this command is {title} [23]"):
        start._check_versions(client(versions(**{name: "4.2.0"})))


def test_dask_that_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    assert "needs the package 'distributed'" in refusal("local:2")
    assert "pip install 'resweep[cluster]'" in refusal("local:2")


def test_nothing_of_dask_is_imported_without_a_cluster() -> None:
    code = (
        "import sys, resweep.cluster as c\nwith c.open_workers(None) as w: print(list(w.map(abs, [-1], 'x')))\n"
        "print({'dask', 'distributed', 'cloudpickle'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[1]\nset()\n"


SPECS = [
    ("type: SLURMCluser\nworkers: 2\n", "type: unknown deployer 'SLURMCluser'; did you mean 'SLURMCluster'"),
    ("type: SLURMCluster\n", "workers: missing; give how many workers to ask for, or adapt"),
    ("type: SLURMCluster\nworkers: 2\nadapt: {maximum: 3}\n", "adapt: takes no workers; give one of them"),
    ("type: PBSCluster\nadapt: {minimum: 5, maximum: 3}\n", "adapt.minimum: is 5, more than the maximum of 3"),
    ("type: SSHCluster\nworkers: 2\n", "workers: the options of SSHCluster say how many"),
    ("type: PBSCluster\nworker: 2\n", "worker: unknown key; did you mean 'workers'"),
    ("type: LocalCluster\noptions: {n_wrkers: 2}\n", "options: LocalCluster cannot be started with them ("),
]


@pytest.mark.parametrize(("text", "problem"), SPECS)
def test_a_wrong_description_of_a_cluster(text: str, problem: str, tmp_path: Path) -> None:
    file = tmp_path / "cluster.yaml"
    file.write_text(text)
    with pytest.raises(ResweepError) as caught, open_workers(str(file)):
        pass
    assert str(caught.value).splitlines()[0].startswith(f"{file}: {problem}"), caught.value


@pytest.mark.parametrize(("kind", "package"), [("SLURMCluster", "dask-jobqueue"), ("KubeCluster", "dask-kubernetes")])
def test_a_deployer_that_is_missing(kind: str, package: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for module in ("dask_jobqueue", "dask_kubernetes", "dask_kubernetes.operator"):
        monkeypatch.setitem(sys.modules, module, None)
    (tmp_path / "cluster.yml").write_text(f"type: {kind}\nworkers: 3\n")
    assert refusal(str(tmp_path / "cluster.yml")).endswith(f"install it with: pip install {package}")


@pytest.mark.slow
def test_a_cluster_of_a_file(tmp_path: Path) -> None:
    (tmp_path / "cluster.yaml").write_text(
        "type: LocalCluster\noptions: {n_workers: 1, threads_per_worker: 1, processes: false, protocol: 'tcp://',\n"
        "  host: 127.0.0.1, dashboard_address: '127.0.0.1:0'}\n"
    )
    assert isinstance(read_cluster(tmp_path / "cluster.yaml"), ClusterSpec)
    with open_workers(str(tmp_path / "cluster.yaml")) as workers:
        assert workers.count == 1
        assert list(workers.map(square, range(5), "squares")) == [0, 1, 4, 9, 16]


def test_results_errors_and_warnings_arrive(cluster: Cluster, tmp_path: Path) -> None:
    with open_workers(cluster.scale(2)) as workers:
        assert workers.count == 2
        assert list(workers.map(square, range(40), "squares")) == [number**2 for number in range(40)]
        with pytest.raises(UnknownPosesError) as caught:
            list(workers.map(fail, range(20), "numbers"))
        assert str(caught.value) == str(UnknownPosesError("number 3 is bad"))
        assert caught.value.problem == "number 3 is bad"
        with pytest.warns(UserWarning, match="^number 4 is odd$") as warned:
            list(workers.map(warn, [4, 4, 4], "numbers"))
        assert len(warned) == 1
        with pytest.raises(ResweepError, match=r"^this work cannot be sent to workers \("):
            list(workers.map(refuse_to_be_sent, [1], "numbers"))
        assert list(workers.map(die_once, [str(tmp_path / "died"), "b"], "deaths")) == [str(tmp_path / "died"), "b"]
        assert (tmp_path / "died").is_file()


@pytest.mark.slow
def test_a_task_that_kills_every_worker_is_given_up(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    cluster.scale(2)
    monkeypatch.setattr("resweep.cluster.workers._MAX_ATTEMPTS", 1)
    monkeypatch.setattr(cluster.scheduler, "allowed_failures", 1)
    with (
        open_workers(cluster.address) as workers,
        pytest.raises(ResweepError, match=r"^a task was given up: all \d workers that tried it were lost"),
    ):
        list(workers.map(die, [1], "deaths"))


@pytest.mark.slow
def test_a_worker_that_was_lost_before_it_was_known(cluster: Cluster) -> None:
    cluster.scale(1)
    cluster.hear("remove", "tcp://127.0.0.1:9")
    assert cluster.pids()


# A command that waits for its workers as long as a loaded machine takes to start them.
COMMAND = f"""
import sys
from resweep.cli import main
from resweep.cluster import start
start._CONNECT_S = start._START_S = {PATIENCE_S}
main(sys.argv[1:])
"""

# Imported by every process that Python starts: the later sweeps take long enough to be interrupted on any machine.
SLOW_SWEEPS = """
import sys, time
if not any("resource_tracker" in word for word in sys.orig_argv):
    from resweep.simulate import Simulator
    sweep = Simulator.sweep
    def slow(simulator, *args, index=0, **options):
        if index >= 2:
            time.sleep(3.0)
        return sweep(simulator, *args, index=index, **options)
    Simulator.sweep = slow
"""


@pytest.mark.slow
def test_an_interrupted_command_leaves_no_process_and_can_be_resumed(
    places: Places, resweep: Any, tmp_path: Path
) -> None:
    args = ["simulate", places.room, "-s", "velodyne-vlp-16", "-p", places.drive, "-o"]
    (tmp_path / "slow").mkdir()
    (tmp_path / "slow" / "sitecustomize.py").write_text(SLOW_SWEEPS)
    path = os.pathsep.join(filter(None, (str(tmp_path / "slow"), os.environ.get("PYTHONPATH"))))
    line = [sys.executable, "-c", COMMAND, *map(str, (*args, tmp_path / "out", "--cluster", "local:2"))]
    pipes: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    env = {**os.environ, "PYTHONPATH": path}
    process = subprocess.Popen(line, env=env, start_new_session=True, **pipes)
    while len(list(tmp_path.rglob("out.partial/new/*.sweep"))) < 2:
        assert process.poll() is None, process.communicate()[1]
        time.sleep(0.2)
    workers = psutil.Process(process.pid).children(recursive=True)
    assert len(workers) >= 2
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does: to the workers too
    _, err = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 130, err
    assert err.splitlines()[-1].startswith("resweep: error: interrupted; the same command goes on where it stopped")
    assert "Traceback" not in err
    assert "dashboard" not in err
    _, alive = psutil.wait_procs(workers, timeout=60)
    assert alive == []
    done = resweep(*args, tmp_path / "out")
    assert done.status == 0, done.err
    assert "resuming;" in done.err
    assert resweep(*args, tmp_path / "plain").status == 0
    assert content(tmp_path / "out") == content(tmp_path / "plain")


def test_strangers_cannot_connect_to_a_local_cluster(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither the scheduler nor a worker takes anything from a client without the keys of this command."""
    import urllib.error
    import urllib.request

    from distributed import Client, Security

    with open_workers("local:1") as workers:
        assert list(workers.map(square, [3], "squares")) == [9]
        client = workers._client  # type: ignore[attr-defined]
        info = client.scheduler_info()
        addresses = [info["address"], *info["workers"]]
        nannies = [worker["nanny"] for worker in info["workers"].values()]
        assert all(address.startswith("tls://127.0.0.1:") for address in (*addresses, *nannies))
        for address in (*addresses, *nannies):
            for guess in (address.replace("tls://", "tcp://"), address):
                strange = Security() if guess.startswith("tcp") else Security.temporary()
                with pytest.raises((OSError, TimeoutError, TypeError)):
                    Client(guess, security=strange, timeout=1, set_as_default=False)
        for port in (
            info["services"].get("dashboard"),
            *(w["services"].get("dashboard") for w in info["workers"].values()),
        ):
            for page in ("info/main/workers.html", "status", "json/counts.json", "metrics") if port else ():
                with pytest.raises(urllib.error.HTTPError, match="404"):
                    urllib.request.urlopen(f"http://127.0.0.1:{port}/{page}", timeout=5)


def test_a_scheduler_without_tls_is_warned_of(cluster: Cluster) -> None:
    cluster.scale(1)
    with (
        pytest.warns(
            UserWarning, match=r"has no TLS, so whoever can connect to it can run code on the workers"
        ) as said,
        open_workers(cluster.address),
    ):
        pass
    assert "DASK_DISTRIBUTED__COMM__TLS__CA_FILE" in str(said[0].message)


def test_a_scheduler_with_certificates(tmp_path: Path) -> None:
    """Reached with the files that dask's own settings name; without them, and with others, one line says so."""
    import dask
    from distributed import LocalCluster, Security

    assert "tls://127.0.0.1:9': there are no certificates for TLS; set DASK_" in refusal("tls://127.0.0.1:9")
    security = Security.temporary()
    for name, text in (("ca", security.tls_ca_file), ("key", security.tls_client_key)):
        (tmp_path / name).write_text(text)
    settings = {
        "ca-file": str(tmp_path / "ca"),
        "client.cert": str(tmp_path / "ca"),
        "client.key": str(tmp_path / "key"),
    }
    options: dict[str, Any] = {
        "processes": False,
        "n_workers": 1,
        "threads_per_worker": 1,
        "dashboard_address": "127.0.0.1:0",
    }
    with (
        LocalCluster(security=security, host="127.0.0.1", silence_logs=50, **options) as running,
        dask.config.set({f"distributed.comm.tls.{name}": value for name, value in settings.items()}),
        open_workers(running.scheduler_address) as workers,
    ):
        assert list(workers.map(square, [4], "squares")) == [16]
    with dask.config.set(
        {"distributed.comm.tls.ca-file": str(tmp_path / "none"), "distributed.comm.tls.client.cert": "x"}
    ):
        assert "its certificates cannot be read" in refusal("tls://127.0.0.1:9")
