"""Links over time: recordings, generators, satellites.

>>> import hawser.links
>>> drive = hawser.links.read("drive.up", "drive.down")                          # doctest: +SKIP
>>> city = hawser.links.generate("urban", duration=300, seed=4)                  # doctest: +SKIP
>>> city.scenario().run(scheduler="ecf").goodput_bps                             # doctest: +SKIP
"""

from __future__ import annotations

import datetime
import json
import os
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hawser import _native
from hawser.scenario import Scenario

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

#: The first shell of Starlink, and OneWeb, as :func:`satellites` takes them.
STARLINK = {"planes": 72, "per_plane": 22, "phasing": 1, "inclination": 53.0, "altitude": 550e3, "spread": 360.0}
ONEWEB = {"planes": 12, "per_plane": 49, "phasing": 1, "inclination": 87.9, "altitude": 1200e3, "spread": 180.0}


@dataclass(frozen=True)
class Links:
    """What links do over time.

    ``table`` has the columns of ``hawser trace import -o FILE.parquet`` (docs/traces.md): ``link``, ``direction`` (``up`` leads to the
    server), ``time_ns``, ``rate_bps``, ``delay_ns``, ``loss``, ``is_down``; each row holds until the next one of that direction. Rows with
    an ``event`` (``hand-over``, ``attach``, ...) are about the link as a whole.
    """

    #: The trace, or the model.
    name: str
    #: Their names.
    links: list[str]
    #: Seconds.
    duration: float
    #: What was assumed, or left out.
    notes: list[str]
    table: _native.Table = field(repr=False, compare=False)

    def scenario(self, flows: str = "", *, queue: str = "100 ms", **overrides: Any) -> Scenario:
        """A scenario over these links, for their duration: with a bulk transfer, or with the ``flows`` of a text (docs/scenarios.md).

        What was not recorded is unlimited (rate) or zero (delay, loss); ``link__NAME__delay="20 ms"`` says otherwise. A queue may be a
        time or bytes. Raises ``ValueError`` for a link that never carries anything.
        """
        text = f'version = 1\nname = "{_plain(self.name, 32)}"\nduration = "{self.duration:.9f} s"\n'
        names = _short_names(self.links)
        for link in self.links:
            text += f'\n[[link]]\nname = "{names[link]}"\nqueue = "{queue}"\nrate = "unlimited"\n'
            for direction in ("up", "down"):
                fields = list(_fields(self._states(link, direction), self.duration))
                if fields:
                    text += f"[link.{direction}]\n" + "".join(fields)
        return Scenario.from_toml(text + "\n" + flows, **overrides)

    def _states(self, link: str, direction: str) -> list[dict[str, Any]]:
        columns = {name: self.table.column(name) for name in self.table.column_names}
        rows = range(len(self.table))
        return [
            {name: columns[name][row] for name in columns}
            for row in rows
            if columns["link"][row] == link and columns["direction"][row] == direction
        ]

    def plot(self, *, direction: str = "down", ax: Any = None) -> Any:
        """Draws the rates over time; needs matplotlib. Returns the axes. Raises ``ImportError``, ``ValueError`` without rates."""
        if direction not in ("up", "down"):
            raise ValueError(f"direction: expected 'up' or 'down', found {direction!r}")
        if ax is None:
            import matplotlib.pyplot as pyplot

            ax = pyplot.figure(layout="constrained").add_subplot()
        drawn = False
        for link in self.links:
            states = [state for state in self._states(link, direction) if state["rate_bps"] is not None]
            if states:
                drawn = True
                times = [state["time_ns"] / 1e9 for state in states] + [self.duration]
                rates = [state["rate_bps"] / 1e6 for state in states]
                ax.step(times, [*rates, rates[-1]], where="post", label=link)
        if not drawn:
            raise ValueError(f"{self.name} has no rates of the direction {direction!r}")
        ax.set(xlabel="time (s)", ylabel="rate (Mbit/s)", title=self.name)
        ax.legend()
        return ax

    def _repr_html_(self) -> str:
        return f"<p><b>{self.name}</b>: {', '.join(self.links)}; {self.duration:g} s, {len(self.table)} rows</p>"


def _plain(name: str, most: int) -> str:
    plain = re.sub(r"[^A-Za-z0-9_-]+", "-", name)[:most].strip("-")
    return plain if plain[:1].isalpha() else f"l{plain}"[:most]


def _short_names(links: list[str]) -> dict[str, str]:
    """Names of links as scenarios have them: up to 15 plain characters, each once."""
    names: dict[str, str] = {}
    for link in links:
        short = _plain(link, 15)
        if short in names.values():
            short = next(f"{short[:12]}{number}" for number in range(len(links) + 1) if f"{short[:12]}{number}" not in names.values())
        names[link] = short
    return names


def _fields(states: list[dict[str, Any]], duration: float) -> Iterator[str]:
    """The fields of one direction in a scenario."""
    if not states:
        return

    def steps(column: str, text: Any) -> Iterator[str]:
        kept: list[tuple[int, Any]] = []
        for state in states:
            value = state[column]
            if value is not None and not (state["is_down"] and column == "rate_bps") and (not kept or kept[-1][1] != value):
                kept.append((state["time_ns"] if kept else 0, value))
        if kept:
            name = column.split("_")[0]
            listed = ", ".join(f'["{time} ns", {text(value)}]' for time, value in kept)
            yield f"{name} = {text(kept[0][1])}\n" if len(kept) == 1 else f"{name} = {{ steps = [{listed}] }}\n"

    yield from steps("rate_bps", lambda rate: f'"{rate} bit/s"')
    yield from steps("delay_ns", lambda delay: f'"{delay} ns"')
    yield from steps("loss", lambda loss: f"{loss:.9f}")
    outages: list[tuple[int, int]] = []
    ends = [state["time_ns"] for state in states[1:]] + [round(duration * 1e9)]
    for state, end in zip(states, ends, strict=True):
        if state["is_down"] and end > state["time_ns"]:
            if outages and outages[-1][1] == state["time_ns"]:
                outages[-1] = (outages[-1][0], end)
            else:
                outages.append((state["time_ns"], end))
    if outages:
        yield "outage = [" + ", ".join(f'{{ from = "{begin} ns", to = "{end} ns" }}' for begin, end in outages) + "]\n"


def read(
    *files: str | os.PathLike[str],
    format: str | None = None,
    direction: str | None = None,
    interval: float = 0.01,
) -> Links:
    """Recordings of every format that ``hawser trace`` reads (docs/traces.md); those about the same link complete each other.

    A file may be ``"LINK=FILE"``. ``format`` names the format of all (default: each by its content), ``direction`` (``"up"``,
    ``"down"``) what files without one are about, ``interval`` the seconds between lines without times. Raises
    ``FileNotFoundError`` and its like, ``ValueError`` with file and line.
    """
    if not files:
        raise ValueError("files: expected one or more")
    return Links(*_native.read_links([os.fspath(file) for file in files], format, direction, interval))


def generators() -> list[str]:
    """The names of the models: motion, cells, satellites, WiFi from cars, and generators fitted to measurements (docs/radio.md)."""
    return [name for name, _ in _native.link_models()]


def parameters(model: str) -> dict[str, Any]:
    """The parameters of a model with their defaults: metres, seconds, m/s, bit/s, Hz, watts, decibels. Raises ``ValueError``."""
    models = dict(_native.link_models())
    if model not in models:
        raise ValueError(f"no model {model!r}: there are {', '.join(models)}")
    return tomllib.loads(models[model])


def generate(model: str, /, *, duration: float, seed: int = 1, **parameters: Any) -> Links:
    """Links as a model draws them for ``duration`` seconds; the same model, parameters and seed give the same links on every machine.

    Parameters are those of :func:`parameters`, or a dictionary that lies over the default field by field (over a list of named ones:
    ``links={"wifi": {...}}``). Raises ``ValueError`` with the
    parameter and what is allowed.
    """
    if not 0 <= seed < 2**63:
        raise ValueError(f"seed: expected 0 to 2**63 - 1, found {seed}")
    return Links(*_native.generate_links(model, json.dumps(parameters), duration, seed))


@dataclass(frozen=True)
class Satellite:
    """A satellite as seen from a place."""

    number: int
    #: Of those from elements.
    name: str | None
    #: Degrees above the horizon.
    elevation: float
    #: Metres.
    distance: float
    #: Seconds that light needs for it.
    flight_time: float
    #: Metres in the frame that turns with the Earth (ECEF).
    position: tuple[float, float, float]


def satellites(
    latitude: float,
    longitude: float,
    at: datetime.datetime | float,
    *,
    altitude: float = 0.0,
    mask: float = 25.0,
    walker: dict[str, Any] | None = None,
    elements: str | os.PathLike[str] | None = None,
) -> list[Satellite]:
    """The satellites above ``mask`` degrees at a time (with a time zone, or seconds since 1970), highest first.

    ``walker`` is a constellation (:data:`STARLINK`, the default, :data:`ONEWEB`, or your own), ``elements`` a file of two-line elements or
    OMM (JSON). Raises ``FileNotFoundError`` and its like, ``ValueError``.
    """
    if walker is not None and elements is not None:
        raise ValueError("walker and elements: expected one of them")
    if isinstance(at, datetime.datetime):
        if at.tzinfo is None:
            raise ValueError("at: expected a time with a time zone, such as datetime.timezone.utc")
        at = at.timestamp()
    text = Path(elements).read_text(encoding="utf-8") if elements is not None else None
    seen = _native.satellites((latitude, longitude, altitude), at, mask, json.dumps(walker or STARLINK), text)
    return [Satellite(number, name, height, distance, time, where) for number, name, height, distance, time, where in seen]
