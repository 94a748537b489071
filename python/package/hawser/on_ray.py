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
#: What to do about workers without the package.
LACKING = "the workers of Ray lack the package hawser: install it there, or bring it with runtime_env={'py_modules': ['hawser-...whl']}"


def _run_cells(cells: list[_Cell]) -> tuple[list[str], float]:
    """The outcomes of cells, and the seconds that they took."""
    from hawser.sweep import _run_cell

    began = time.monotonic()
    return [_run_cell(cell) for cell in cells], time.monotonic() - began


def on_ray(
    cells: list[_Cell], left: list[int], on: str, workers: int | None, runtime_env: dict[str, Any] | None
) -> Iterator[tuple[int, str]]:
    """Runs cells on the Ray of this process, one that is started, or a cluster, whose workers get ``runtime_env``.

    Raises ``ImportError`` without Ray, and for workers that lack the package; ``ValueError`` for a ``runtime_env`` that comes too late.
    """
    try:
        import ray
    except ImportError as error:
        raise ImportError('on="ray" needs the package ray') from error
    started = not ray.is_initialized()
    if runtime_env is not None and not started:
        raise ValueError("runtime_env: this process uses Ray already; give it to ray.init()")
    if started:
        address = {"ray": None, "ray:auto": "auto"}.get(on, on)
        # A Ray that is there has its own dashboard and cores.
        options: dict[str, Any] = {"include_dashboard": False} if address is None else {}
        if address is None and workers:
            options["num_cpus"] = workers
        ray.init(address=address, log_to_driver=False, runtime_env=runtime_env, **options)
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
                try:
                    outcomes, seconds = ray.get(reference)
                except ray.exceptions.RayTaskError as error:
                    if "No module named 'hawser'" in str(error):
                        raise ImportError(LACKING) from error
                    raise
                yield from zip(running.pop(reference), outcomes, strict=True)
                if seconds < BATCH_SECONDS / 2:
                    size = min(2 * size, MOST_CELLS_OF_TASK)
                elif seconds > 2 * BATCH_SECONDS:
                    size = max(size // 2, 1)
    finally:
        if started:
            ray.shutdown()
