"""Cells of a sweep as tasks of Ray, which is imported where it is asked for."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hawser.sweep import _Cell

#: How often a cell runs again whose worker was killed.
RETRIES = 5
#: So long a task should take, in seconds: several short cells are one task, for a task costs milliseconds.
BATCH_SECONDS = 0.2
#: As many cells are lost at most with a worker.
MOST_CELLS_OF_TASK = 64


def _run_cells(cells: list[_Cell]) -> tuple[list[str], float]:
    """The outcomes of cells, and the seconds that they took."""
    from hawser.sweep import _run_cell

    began = time.monotonic()
    return [_run_cell(cell) for cell in cells], time.monotonic() - began


def on_ray(cells: list[_Cell], left: list[int], on: str, workers: int | None) -> Iterator[tuple[int, str]]:
    """Runs cells on the Ray of this process, one that is started, or a cluster. Raises ``ImportError`` without Ray."""
    try:
        import ray
    except ImportError as error:
        raise ImportError('on="ray" needs the package ray') from error
    started = not ray.is_initialized()
    if started:
        address = {"ray": None, "ray:auto": "auto"}.get(on, on)
        cores: dict[str, Any] = {"num_cpus": workers} if address is None and workers else {}
        ray.init(address=address, include_dashboard=False, log_to_driver=False, **cores)
    try:
        task = ray.remote(num_cpus=1, max_retries=RETRIES)(_run_cells)
        # Twice as many as run at once: no worker waits for the driver.
        resources: dict[str, float] = ray.cluster_resources()  # type: ignore[no-untyped-call]
        most = 2 * max(1, int(resources.get("CPU", 1)))
        waiting, size = deque(left), 1
        running: dict[Any, list[int]] = {}
        while waiting or running:
            while waiting and len(running) < most:
                # Towards the end less, so that all workers are done at the same time.
                batch = [waiting.popleft() for _ in range(min(size, -(-len(waiting) // most)))]
                running[task.remote([cells[number] for number in batch])] = batch
            done, _ = ray.wait(list(running), num_returns=1)
            for reference in done:
                outcomes, seconds = ray.get(reference)
                yield from zip(running.pop(reference), outcomes, strict=True)
                if seconds < BATCH_SECONDS / 2:
                    size = min(2 * size, MOST_CELLS_OF_TASK)
                elif seconds > 2 * BATCH_SECONDS:
                    size = max(size // 2, 1)
    finally:
        if started:
            ray.shutdown()
