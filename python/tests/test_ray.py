"""Sweeps on Ray."""

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
    return two(duration="500 ms")


def test_ray_gives_the_bytes_of_the_runner_though_a_worker_is_killed(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    here = hawser.sweep(small(), seeds=range(30), out=tmp_path / "here")
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    try:

        @ray.remote(num_cpus=0)
        def workers() -> list[int]:
            parent = os.getppid()
            found = [int(entry) for entry in os.listdir("/proc") if entry.isdigit()]
            return [pid for pid in found if pid != os.getpid() and parent_of(pid) == parent and is_busy(pid)]

        def kill() -> None:
            until = time.monotonic() + 30
            while time.monotonic() < until:
                for pid in ray.get(workers.remote()):
                    os.kill(pid, signal.SIGKILL)
                    killed.append(pid)
                    return
                time.sleep(0.02)

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


def parent_of(pid: int) -> int:
    try:
        return int(Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[1])
    except (OSError, IndexError):
        return 0


def is_busy(pid: int) -> bool:
    """Ray names a worker after the task that it runs."""
    try:
        return b"_run_cell" in Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return False
