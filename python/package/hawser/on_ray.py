"""Cells of a sweep as tasks of Ray, which is imported where it is asked for."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hawser.sweep import _Cell

#: How often a cell runs again whose worker was killed.
RETRIES = 5


def on_ray(cells: list[_Cell], left: list[int], on: str, workers: int | None) -> Iterator[tuple[int, str]]:
    """Runs cells on the Ray of this process, one that is started, or a cluster. Raises ``ImportError`` without Ray."""
    try:
        import ray
    except ImportError as error:
        raise ImportError('on="ray" needs the package ray') from error
    from hawser.sweep import _run_cell

    started = not ray.is_initialized()
    if started:
        address = {"ray": None, "ray:auto": "auto"}.get(on, on)
        cores: dict[str, Any] = {"num_cpus": workers} if address is None and workers else {}
        ray.init(address=address, include_dashboard=False, log_to_driver=False, **cores)
    try:
        task = ray.remote(num_cpus=1, max_retries=RETRIES)(_run_cell)
        # Twice as many as run at once: no worker waits for the driver.
        resources: dict[str, float] = ray.cluster_resources()  # type: ignore[no-untyped-call]
        most = 2 * max(1, int(resources.get("CPU", 1)))
        waiting = iter(left)
        running = {task.remote(cells[number]): number for number in itertools.islice(waiting, most)}
        while running:
            done, _ = ray.wait(list(running), num_returns=1)
            for reference in done:
                yield running.pop(reference), ray.get(reference)
                for number in itertools.islice(waiting, 1):
                    running[task.remote(cells[number])] = number
    finally:
        if started:
            ray.shutdown()
