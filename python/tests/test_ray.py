"""Sweeps on Ray."""

import hashlib
import os
import signal
import threading
import time
from pathlib import Path

import pytest

import hawser
from test_run import two
from test_sweep import rows

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
