"""Scenarios, and runs of them."""

from __future__ import annotations

import html
import json
import numbers
import operator
import os
import threading
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from hawser import _native, own

#: The arguments of :meth:`Scenario.run` that choose policies: the fields of ``[transport]`` in scenario files.
KINDS = ("policy", "scheduler", "congestion", "acks", "paths", "protection")


def checked_seed(seed: Any, name: str = "seed") -> int:
    """A seed. Raises ``TypeError`` for what is no whole number, ``ValueError`` for one out of range."""
    try:
        number = operator.index(seed)
    except TypeError:
        raise TypeError(f"{name}: expected a whole number of 0 to 2**63 - 1, found {seed!r}") from None
    if not 0 <= number < 2**63:
        raise ValueError(f"{name}: expected 0 to 2**63 - 1, found {seed}")
    return number


def _flag(name: str, value: Any) -> bool:
    if not isinstance(value, bool):
        raise TypeError(f"{name}: expected True or False, found {value!r}")
    return value


@dataclass(frozen=True)
class _Own:
    schedulers: list[tuple[str, Any]]
    controllers: list[tuple[str, Any]]


@dataclass(frozen=True)
class _Wanted:
    interval: float | None
    packets: bool
    qlog: bool
    signals: bool


def _overrides(fields: dict[str, Any]) -> tuple[str, ...]:
    """``link__wifi0__rate="5 Mbit/s"`` is ``link.wifi0.rate=5 Mbit/s``; keys with dots stay as they are."""

    def text(value: Any) -> str:
        if isinstance(value, bool):
            return str(value).lower()
        return json.dumps(value) if isinstance(value, list | dict) else str(value)

    return tuple(f"{key.replace('__', '.')}={text(value)}" for key, value in fields.items())


@dataclass(frozen=True)
class Scenario:
    """Links, flows and policies: what scenario files say (docs/scenarios.md), read and checked.

    Scenarios never change, compare equal by what they say, and can be pickled.
    """

    text: str
    file: str
    folder: str
    overrides: tuple[str, ...] = ()

    def _checked(self) -> Scenario:
        _native.describe(self)
        return self

    @classmethod
    def load(cls, path: str | os.PathLike[str], /, **overrides: Any) -> Scenario:
        """The scenario of a file. Raises ``FileNotFoundError`` and its like, and ``ValueError`` with the line, the field and what is allowed.

        An override is the path of a field, with ``__`` for its dots, as ``hawser sim run --set`` takes it:
        ``link__wifi0__rate="5 Mbit/s"``. Keys that are no Python names go in a dictionary: ``**{"link.*.queue": "100 kB"}``.
        """
        return replace(cls._read(Path(path)), overrides=_overrides(overrides))._checked()

    @classmethod
    def _read(cls, file: Path) -> Scenario:
        try:
            text = file.read_text(encoding="utf-8")
        except UnicodeDecodeError as error:
            raise ValueError(f"{file}: expected a scenario (TOML, a text in UTF-8): {error}") from error
        return cls(text, str(file), str(file.parent.absolute()))

    @classmethod
    def from_toml(cls, text: str, /, *, folder: str | os.PathLike[str] = ".", **overrides: Any) -> Scenario:
        """The scenario of a text; ``folder`` is where the files are that it names."""
        if not isinstance(text, str):
            raise TypeError(f"expected the text of a scenario, found {text!r}")
        return cls(text, "scenario.toml", str(Path(folder).absolute()), _overrides(overrides))._checked()

    def with_(self, **overrides: Any) -> Scenario:
        """The same with more overrides, which go over those that it has."""
        return replace(self, overrides=self.overrides + _overrides(overrides))._checked()

    @property
    def description(self) -> dict[str, Any]:
        """Name, description, seed, duration (s, or ``None``), names of the links, and the flows."""
        return _native.describe(self)

    @property
    def name(self) -> str:
        """Its name, or that of its file."""
        return str(self.description["name"])

    def run(
        self,
        *,
        seed: int | None = None,
        interval: float | None = 0.1,
        packets: bool = False,
        qlog: bool = False,
        stop: _native.Stop | None = None,
        **policies: Any,
    ) -> Run:
        """Runs it to its end in virtual time, without the interpreter's lock.

        ``seed`` takes the place of the scenario's. A sample is kept every ``interval`` seconds (0.001 to 86400; ``None``:
        none), with ``packets`` a row for each packet, with ``qlog`` what both ends of each connection write of themselves.
        Policies are chosen by kind: ``scheduler=``, ``congestion=``, ``policy=``, ``acks=``, ``paths=``,
        ``protection=``, each a text (``"cubic,beta=0.8"``), an object of :func:`hawser.policies`, or a class or object of your own.
        The same scenario, seed and version give the same run, packet for packet.

        Raises ``ValueError`` for what makes no sense, with what is allowed; what a policy of yours raised;
        ``KeyboardInterrupt``; ``RuntimeError`` if another thread set ``stop``.
        """
        if seed is not None:
            seed = checked_seed(seed)
        if interval is not None and not isinstance(interval, numbers.Real):
            raise TypeError(f"interval: expected seconds, or None for no samples, found {interval!r}")
        if stop is not None and not isinstance(stop, _native.Stop):
            raise TypeError(f"stop: expected a hawser.Stop, found {stop!r}")
        chosen, owned = _choose(policies)
        wanted = _Wanted(interval, _flag("packets", packets), _flag("qlog", qlog), threading.current_thread() is threading.main_thread())
        finished = _native.run(self, chosen, owned, seed, wanted, stop or _native.Stop())
        return Run(finished, self)

    def _repr_html_(self) -> str:
        about = self.description
        flows = ", ".join(f"{flow['name']} ({flow['kind']}, {flow['direction']})" for flow in about["flows"])
        return f"<p><b>{about['name']}</b>: {about['description']}<br>links: {', '.join(about['links'])}; flows: {flows}</p>"


def _choose(policies: dict[str, Any]) -> tuple[list[tuple[str, str]], _Own]:
    """Texts for the simulator, and the factories of policies that are written in Python."""
    chosen: list[tuple[str, str]] = []
    owned = _Own([], [])
    for kind, policy in policies.items():
        if kind not in KINDS:
            raise TypeError(f"run() has no argument {kind!r}; policies are chosen by {', '.join(KINDS)}")
        if policy is None:
            continue
        scheduler, controller = own.scheduler_factory(policy), own.controller_factory(policy)
        if scheduler is not None and kind == "scheduler":
            owned.schedulers.append((own.name_of(policy), scheduler))
        elif controller is not None and kind == "congestion":
            owned.controllers.append((own.name_of(policy), controller))
        elif scheduler is not None or controller is not None:
            fit = "scheduler" if scheduler is not None else "congestion"
            raise TypeError(f"{kind}={policy!r}: expected it as {fit}=")
        elif isinstance(policy, str) or hasattr(policy, "parameters"):
            chosen.append((kind, str(policy)))
            continue
        else:
            raise TypeError(
                f"{kind}={policy!r}: expected the text of a policy, one of hawser.policies(), or a class or object of "
                "hawser.Scheduler or hawser.CongestionController"
            )
        chosen.append((kind, own.name_of(policy)))
    return chosen, owned


class Run:
    """A run that is over. Tables are read by whatever reads Arrow, without a copy: ``polars.DataFrame(run.paths)``,
    ``duckdb.sql`` with ``pyarrow.table(run.paths)``, ``pandas.DataFrame.from_arrow(run.paths)``.
    """

    def __init__(self, finished: _native.Finished, scenario: Scenario):
        self._finished = finished
        self._outcome: dict[str, Any] | None = None
        #: What was run.
        self.scenario = scenario

    @property
    def outcome(self) -> dict[str, Any]:
        """What ``hawser sim run --json`` prints, but for the real time: totals, flows, paths, links (docs/simulation.md)."""
        if self._outcome is None:
            self._outcome = json.loads(self._finished.outcome)
        return self._outcome

    @property
    def trace_hash(self) -> str:
        """Stands for every packet delivered: when, where, how long, and what. Sixteen hexadecimal digits."""
        return self._finished.trace_hash

    @property
    def goodput_bps(self) -> float:
        """Of all connections together, bit/s."""
        return float(self.outcome["goodput_bps"])

    @property
    def summary(self) -> _native.Table:
        """A row per flow: what came of it."""
        return _native.summary([self._finished.outcome], [])

    @property
    def flows(self) -> _native.Table:
        """Samples of flows: bytes in order, requests completed."""
        return self._finished.tables["flows"]

    @property
    def paths(self) -> _native.Table:
        """Samples of paths at their sending ends: window, in flight, round-trip times, acknowledged, lost."""
        return self._finished.tables["paths"]

    @property
    def links(self) -> _native.Table:
        """Samples of the directions of links: queue, delivered, dropped."""
        return self._finished.tables["links"]

    @property
    def packets(self) -> _native.Table:
        """Every packet: sent, arrived or dropped where and why, its data delivered. Raises ``ValueError`` unless recorded."""
        return self._recorded("packets", "packets=True")

    @property
    def events(self) -> _native.Table:
        """What both ends of each connection wrote: time, name, data as JSON. Raises ``ValueError`` unless recorded."""
        return self._recorded("events", "qlog=True")

    def qlog(self) -> dict[str, str]:
        """The traces by file name, as qlog tools read them. Raises ``ValueError`` unless recorded."""
        self._recorded("events", "qlog=True")
        return dict(self._finished.qlog)

    def _recorded(self, table: str, option: str) -> _native.Table:
        if table not in self._finished.tables:
            raise ValueError(f"this run recorded no {table}: run(..., {option}) does")
        return self._finished.tables[table]

    def plot(self, *, ax: Any = None, label: str | None = None) -> Any:
        """Draws the goodput of all flows over time; needs matplotlib and samples. Returns the axes, so that another run can go in them.

        Raises ``ImportError`` without matplotlib, ``ValueError`` without samples.
        """
        from hawser.plot import draw

        return draw(self, ax, label)

    def __repr__(self) -> str:
        out = self.outcome
        return (
            f"<hawser.Run {out['scenario']}, seed {out['seed']}: {out['goodput_bps'] / 1e6:.2f} Mbit/s, "
            f"{out['simulated_seconds']:.2f} s, {out['end']}, trace {self.trace_hash}>"
        )

    def _repr_html_(self) -> str:
        def row(flow: dict[str, Any]) -> str:
            took = flow["completion_seconds"]
            cells = (
                flow["flow"],
                flow["scheduler"],
                flow["controller"],
                f"{flow['goodput_bps'] / 1e6:.2f}",
                "" if took is None else f"{took:.2f}",
            )
            return "<tr>" + "".join(f"<td>{cell}</td>" for cell in cells) + "</tr>"

        head = "".join(f"<th>{name}</th>" for name in ("flow", "scheduler", "controller", "Mbit/s", "seconds"))
        return f"<p>{html.escape(repr(self))}</p>" + (
            f"<table><tr>{head}</tr>" + "".join(map(row, self.outcome["flows"])) + "</table>"
        )
