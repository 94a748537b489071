"""Figures; matplotlib is imported where one is drawn."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hawser.scenario import Run


def _columns(table: Any) -> dict[str, list[Any]]:
    return {name: table.column(name) for name in table.column_names}


def draw(run: Run, ax: Any, label: str | None) -> Any:
    """The goodput of all flows of a run, sample by sample. Returns the axes."""
    columns = _columns(run.flows)
    total: dict[int, int] = {}
    for time, received in zip(columns["time_ns"], columns["bytes"], strict=True):
        total[time] = total.get(time, 0) + received
    times = sorted(total)
    if len(times) < 2:
        raise ValueError("this run kept no samples to draw: run(..., interval=0.1) does")
    if ax is None:
        import matplotlib.pyplot as pyplot

        ax = pyplot.figure(layout="constrained").add_subplot()
    steps = list(zip(times, times[1:], strict=False))
    rates = [(total[after] - total[before]) * 8e3 / (after - before) for before, after in steps]
    flow = run.outcome["flows"][0]
    ax.plot([after / 1e9 for after in times[1:]], rates, label=label or flow["scheduler"])
    ax.set(xlabel="time (s)", ylabel="goodput (Mbit/s)", title=run.outcome["scenario"])
    ax.legend()
    return ax
