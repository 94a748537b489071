"""Sweeps on Ray."""

import contextlib
import hashlib
import os
import signal
import socket
import subprocess
import sysconfig
import tempfile
import threading
import time
import venv
from pathlib import Path

import pytest

import hawser
from test_run import two
from test_sweep import rows

# Clusters of this machine that live for seconds. Otherwise Ray wants a token as soon as one was ever made here. Read when it is imported.
os.environ["RAY_AUTH_MODE"] = "disabled"
ray = pytest.importorskip("ray")


def small() -> hawser.Scenario:
    """Runs of some tenths of a second, so that a worker is met at work."""
    return two(duration="10 s")


def test_ray_gives_the_bytes_of_the_runner_though_a_worker_is_killed(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    here = hawser.sweep(small(), seeds=range(30), out=tmp_path / "here")
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    try:

        session = ray._private.worker.global_worker.node.get_session_dir_path()

        def kill() -> None:
            until = time.monotonic() + 120
            while time.monotonic() < until and not killed:
                for pid in map(int, filter(str.isdigit, os.listdir("/proc"))):
                    if runs_a_cell(pid, session):
                        os.kill(pid, signal.SIGKILL)
                        killed.append(pid)
                        break
                time.sleep(0.005)

        killed: list[int] = []
        thread = threading.Thread(target=kill)
        thread.start()
        there = hawser.sweep(small(), seeds=range(30), on="ray", out=tmp_path / "there")
        thread.join()
    finally:
        ray.shutdown()
    assert killed, "no worker was met while it ran a cell"
    assert rows(here) == rows(there)
    assert (tmp_path / "here" / "flows.parquet").read_bytes() == (tmp_path / "there" / "flows.parquet").read_bytes()


def interpreter_without_the_package(folder: Path) -> Path:
    """Python with everything that this one has, Ray included, but `hawser`: what a node of a cluster may have."""
    venv.create(folder, symlinks=True)
    (site,) = folder.glob("lib/python*/site-packages")
    for entry in Path(sysconfig.get_paths()["purelib"]).iterdir():
        if not entry.name.startswith("hawser") and not (site / entry.name).exists():
            (site / entry.name).symlink_to(entry)
    return folder / "bin" / "python"


def test_the_wheel_is_the_runtime_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A node whose Python lacks the package: told so, and with the wheel the same bytes as here."""
    pytest.importorskip("pyarrow")
    if "HAWSER_WHEEL" not in os.environ:
        pytest.skip("HAWSER_WHEEL=PATH names the wheel that is tested")
    python = interpreter_without_the_package(tmp_path / "node")
    assert subprocess.run([python, "-c", "import hawser"], capture_output=True).returncode != 0
    here = hawser.sweep(small(), seeds=range(6), out=tmp_path / "here")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    start = [python, "-m", "ray.scripts.scripts", "start", "--head", f"--port={port}", "--num-cpus=2"]
    start += ["--include-dashboard=false", "--object-store-memory=80000000", "--block", f"--temp-dir={short_folder()}"]
    node = subprocess.Popen(start, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
    try:
        reachable(port)
        monkeypatch.setenv("RAY_ADDRESS", f"127.0.0.1:{port}")
        with pytest.raises(ImportError, match="runtime_env"):
            hawser.sweep(small(), seeds=range(2), on="ray:auto")
        wheel = {"py_modules": [os.environ["HAWSER_WHEEL"]]}
        there = hawser.sweep(small(), seeds=range(6), on="ray:auto", out=tmp_path / "there", runtime_env=wheel)
    finally:
        ray.shutdown()
        stop(node)
    assert rows(here) == rows(there)
    bytes_here, bytes_there = ((tmp_path / name / "flows.parquet").read_bytes() for name in ("here", "there"))
    print("wheel by runtime_env; flows.parquet:", *(hashlib.sha256(data).hexdigest()[:16] for data in (bytes_here, bytes_there)))
    assert bytes_here == bytes_there


def stop(node: subprocess.Popen[bytes]) -> None:
    """What it started has its session, and ends with it at the latest when its raylet is gone."""
    node.send_signal(signal.SIGTERM)
    try:
        node.wait(30)
    except subprocess.TimeoutExpired:
        os.killpg(node.pid, signal.SIGKILL)
        node.wait(30)


def short_folder() -> str:
    """Ray has sockets there, whose paths may have 107 bytes."""
    return tempfile.mkdtemp(prefix="ray-")


def reachable(port: int) -> None:
    until = time.monotonic() + 90
    while time.monotonic() < until:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
            return
        time.sleep(0.2)
    raise AssertionError("the node does not answer")


def test_a_runtime_environment_is_rays() -> None:
    with pytest.raises(ValueError, match="only Ray"):
        hawser.sweep(small(), seeds=range(1), runtime_env={})
    with pytest.raises(TypeError, match="dictionary"):
        hawser.sweep(small(), seeds=range(1), on="ray", runtime_env="hawser.whl")  # type: ignore[arg-type]


def runs_a_cell(pid: int, session: str) -> bool:
    """Whether it is a worker of this Ray, which names it after its task."""
    try:
        if b"_run_cell" not in Path(f"/proc/{pid}/cmdline").read_bytes():
            return False
        parent = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[1]
        return session.encode() in Path(f"/proc/{parent}/cmdline").read_bytes()
    except (OSError, IndexError):
        return False


def test_a_node_of_two_may_be_killed(tmp_path: Path) -> None:
    """Two nodes of a cluster on this machine, one of them killed with SIGKILL in the middle; then the same from what was kept."""
    pytest.importorskip("pyarrow")
    cluster_utils = pytest.importorskip("ray.cluster_utils")
    memory = {"object_store_memory": 80_000_000}
    here = hawser.sweep(small(), seeds=range(24), out=tmp_path / "here")
    # The head drives and runs nothing.
    cluster = cluster_utils.Cluster(initialize_head=True, head_node_args={"num_cpus": 0} | memory)
    try:
        nodes = [cluster.add_node(num_cpus=1, **memory) for _ in range(2)]
        ray.init(address=cluster.address, log_to_driver=False, logging_level="error")
        cluster.wait_for_nodes()
        told: list[str] = []

        def kill() -> None:
            cells, until = tmp_path / "there" / "cells", time.monotonic() + 120
            while time.monotonic() < until:
                finished = len(list(cells.glob("*.json"))) if cells.is_dir() else 0
                if finished >= 6:
                    cluster.remove_node(nodes[0], allow_graceful=False)
                    told.append(f"node killed after {finished} of 24 cells")
                    return
                time.sleep(0.05)

        thread = threading.Thread(target=kill)
        thread.start()
        there = hawser.sweep(small(), seeds=range(24), on="ray", out=tmp_path / "there")
        thread.join()
    finally:
        ray.shutdown()
        cluster.shutdown()
    assert told, "the sweep was over before a node could be killed"
    assert int(told[0].split()[3]) < 24
    bytes_here, bytes_there = ((tmp_path / name / "flows.parquet").read_bytes() for name in ("here", "there"))
    print(told[0], "; flows.parquet:", *(hashlib.sha256(data).hexdigest()[:16] for data in (bytes_here, bytes_there)))
    assert rows(here) == rows(there) and bytes_here == bytes_there
    # What was kept is enough: without Ray, and without a run.
    assert rows(hawser.sweep(small(), seeds=range(24), out=tmp_path / "there")) == rows(here)
