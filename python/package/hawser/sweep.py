"""Many runs: every combination of values and seeds, on all cores or on Ray.

What comes of a cell depends on nothing but its scenario, its values and its seed, so the table is the same, byte for byte, for
any number of workers, here or elsewhere, and after any interruption.
"""

from __future__ import annotations

import hashlib
import inspect
import itertools
import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from hawser import _native, own
from hawser.scenario import KINDS, Scenario, _choose, checked_seed

#: More cells would take years.
MOST_CELLS = 10_000_000


@dataclass(frozen=True)
class _Cell:
    scenario: Scenario
    seed: int
    replicate: int
    #: The value of each factor, as text.
    labels: tuple[str, ...] = ()
    policies: dict[str, Any] = field(default_factory=dict)


def sweep(
    what: Scenario | str | os.PathLike[str],
    *,
    seeds: Iterable[int] | None = None,
    vary: Mapping[str, Iterable[Any]] | None = None,
    workers: int | None = None,
    on: str | None = None,
    out: str | os.PathLike[str] | None = None,
    runtime_env: Mapping[str, Any] | None = None,
    **policies: Any,
) -> _native.Table:
    """Runs a plan file (docs/sweeps.md), or a scenario with every seed and every combination of what varies.

    ``vary`` has lists of values: for kinds of policies (``{"scheduler": ["minrtt", Mine]}``) and for fields of the scenario
    (``{"link.wifi0.rate": ["5 Mbit/s", "20 Mbit/s"]}``). All values meet the same seeds. ``policies`` are the same for all cells.
    ``workers`` are threads (default: one per core); a policy in Python runs in one of them at a time.

    ``on="ray"`` runs the cells as tasks of a Ray that is started here, ``on="ray://HOST:PORT"`` (or ``"ray:auto"``) of a cluster.
    ``runtime_env`` is what Ray gives its workers for that: ``{"py_modules": ["hawser-...whl"]}`` brings this package to those that have
    only what it depends on, ``{"pip": ["hawser-...whl"]}`` that, too.
    With a folder ``out`` (or an address that fsspec can write) every finished cell is kept there; the same call again runs
    the others, and at the end leaves ``flows.parquet`` if pyarrow is there.

    Returns a row per flow of each cell: ``cell``, a column per factor, ``replicate``, then those of :attr:`Run.summary`. A cell that
    fails has one row, which says why in ``failed``; the others go on. Raises ``ValueError`` for what makes no sense, and if ``out`` has
    the results of something else.
    """
    if workers is not None and not isinstance(workers, int):
        raise TypeError(f"workers: expected a whole number, or None for one per core, found {workers!r}")
    if workers is not None and not 1 <= workers <= 1024:
        raise ValueError(f"workers: expected 1 to 1024, found {workers}")
    names, cells = _cells(what, seeds, vary, policies)
    store = _Store(out, names, cells) if out is not None else None
    results: dict[int, str] = store.found() if store else {}
    left = [number for number in range(len(cells)) if number not in results]
    runner = _runner(on, workers, runtime_env)
    for number, outcome in runner(cells, left):
        results[number] = outcome
        if store:
            store.keep(number, outcome)
    table = _table(names, cells, results)
    if store:
        store.finish(table)
    return table


def _table(names: list[str], cells: list[_Cell], results: dict[int, str]) -> _native.Table:
    lead: list[tuple[str, list[int] | list[str]]] = [("cell", list(range(len(cells))))]
    lead += [(name, [cell.labels[place] for cell in cells]) for place, name in enumerate(names)]
    lead.append(("replicate", [cell.replicate for cell in cells]))
    return _native.summary([results[number] for number in range(len(cells))], lead)


def _cells(
    what: Any, seeds: Iterable[int] | None, vary: Mapping[str, Iterable[Any]] | None, policies: dict[str, Any]
) -> tuple[list[str], list[_Cell]]:
    for kind in policies:
        if kind not in KINDS:
            raise TypeError(f"sweep() has no argument {kind!r}; policies are chosen by {', '.join(KINDS)}")
    if not isinstance(what, Scenario):
        if seeds is not None or vary is not None:
            raise ValueError("seeds and vary: a plan has its own; expected a hawser.Scenario with them")
        return _cells_of_plan(Path(what), policies)
    if vary is not None and not isinstance(vary, Mapping):
        raise TypeError(f"vary: expected a dictionary of lists of values, found {vary!r}")
    factors = {key: _values(key, values) for key, values in (vary or {}).items()}
    for kind, policy in [*policies.items(), *((kind, value) for kind in KINDS for value in factors.get(kind, ()))]:
        # Once, before anything runs, and not by each cell.
        _check_policy(kind, policy)
    for key, values in factors.items():
        if not values:
            raise ValueError(f"vary: expected values for {key!r}, found none")
        if key in policies:
            raise ValueError(f"vary: {key!r} is chosen for all cells, too")
    if seeds is not None and (isinstance(seeds, str) or not isinstance(seeds, Iterable)):
        raise TypeError(f"seeds: expected whole numbers, such as range(20), found {seeds!r}")
    numbers = [checked_seed(seed, "seeds") for seed in (range(20) if seeds is None else seeds)]
    count = len(numbers)
    for values in factors.values():
        count *= len(values)
    if not 1 <= count <= MOST_CELLS:
        raise ValueError(f"expected 1 to {MOST_CELLS} cells, found {count}")
    cells = []
    for combination in itertools.product(*factors.values()):
        chosen = dict(zip(factors, combination, strict=True))
        fields = {key: value for key, value in chosen.items() if key not in KINDS}
        scenario = what.with_(**fields) if fields else what
        own_policies = policies | {key: value for key, value in chosen.items() if key in KINDS}
        labels = tuple(map(_label, combination))
        cells += [_Cell(scenario, seed, place, labels, own_policies) for place, seed in enumerate(numbers)]
    return list(factors), cells


def _values(key: str, values: Any) -> list[Any]:
    # A text has letters, which nobody means.
    if isinstance(values, str) or not isinstance(values, Iterable):
        raise TypeError(f"vary: expected a list of values for {key!r}, found {values!r}")
    return list(values)


def _check_policy(kind: str, policy: Any) -> None:
    chosen, _ = _choose({kind: policy})
    if isinstance(policy, str):
        for kind, text in chosen:
            _native.check_policy(kind, text)


def _cells_of_plan(plan: Path, policies: dict[str, Any]) -> tuple[list[str], list[_Cell]]:
    names, rows = _native.cells(str(plan))
    texts: dict[str, Scenario] = {}
    cells = []
    for path, replicate, seed, overrides in rows:
        file = str(path)
        if file not in texts:
            texts[file] = Scenario._read(Path(file))
        values = dict(overrides)
        # Not checked: what is wrong with a cell is told when it runs, by that cell.
        scenario = replace(texts[file], overrides=tuple(f"{key}={value}" for key, value in overrides))
        cells.append(_Cell(scenario, seed, replicate, tuple(values[name] for name in names), policies))
    return names, cells


def _label(value: Any) -> str:
    if own.scheduler_factory(value) or own.controller_factory(value):
        return own.name_of(value)
    return str(value)


def _run_cell(cell: _Cell, stop: _native.Stop | None = None) -> str:
    """The outcome as JSON, or why there is no outcome. What is no mistake of the cell is raised."""
    try:
        run = cell.scenario.run(seed=cell.seed, interval=None, stop=stop, **cell.policies)
    except Exception as error:
        if stop is not None and stop.is_set():
            raise
        return json.dumps({"failed": f"{type(error).__name__}: {error}"})
    return run._finished.outcome


Runner = Callable[[list[_Cell], list[int]], Iterator[tuple[int, str]]]


def _runner(on: str | None, workers: int | None, runtime_env: Mapping[str, Any] | None) -> Runner:
    if runtime_env is not None and not isinstance(runtime_env, Mapping):
        raise TypeError(f"runtime_env: expected a dictionary, as ray.init() takes it, found {runtime_env!r}")
    if on is None:
        if runtime_env is not None:
            raise ValueError('runtime_env: only Ray has one; expected on="ray" or an address with it')
        return lambda cells, left: _on_threads(cells, left, workers or os.cpu_count() or 1)
    if isinstance(on, str) and (on == "ray" or on.startswith("ray:")):
        from hawser.on_ray import on_ray

        return lambda cells, left: on_ray(cells, left, on, workers, dict(runtime_env) if runtime_env is not None else None)
    raise ValueError(f'on: expected None, "ray", "ray:auto" or "ray://HOST:PORT", found {on!r}')


def _on_threads(cells: list[_Cell], left: list[int], workers: int) -> Iterator[tuple[int, str]]:
    stop = _native.Stop()
    waiting = iter(left)
    pool = ThreadPoolExecutor(workers, thread_name_prefix="hawser-sweep")
    try:
        running = {pool.submit(_run_cell, cells[number], stop): number for number in itertools.islice(waiting, 2 * workers)}
        while running:
            done, _ = wait(running, return_when=FIRST_COMPLETED)
            for future in done:
                yield running.pop(future), future.result()
                for number in itertools.islice(waiting, 1):
                    running[pool.submit(_run_cell, cells[number], stop)] = number
    finally:
        # Also after Ctrl-C: what runs ends within milliseconds.
        stop.set()
        pool.shutdown(cancel_futures=True)


class _Store:
    """Finished cells in a folder: a file each, which gets its name when everything in it is there."""

    def __init__(self, out: str | os.PathLike[str], names: list[str], cells: list[_Cell]):
        self._files = _files(os.fspath(out))
        digest = _digest(names, cells)
        known = self._files.read("sweep.json")
        if known is None:
            self._files.write("sweep.json", json.dumps({"digest": digest, "cells": len(cells)}))
        elif json.loads(known).get("digest") != digest:
            raise ValueError(f"{out} has the results of another sweep (or of another version); choose another folder")
        self._count = len(cells)

    def found(self) -> dict[int, str]:
        """The cells that are there."""
        results = {}
        for name in self._files.names("cells"):
            number = name.removesuffix(".json")
            if number.isdigit() and int(number) < self._count:
                text = self._files.read(f"cells/{name}")
                if text is not None:
                    results[int(number)] = text
        return results

    def keep(self, number: int, outcome: str) -> None:
        self._files.write(f"cells/{number:08}.json", outcome)

    def finish(self, table: _native.Table) -> None:
        try:
            import pyarrow
            from pyarrow import parquet
        except ImportError:
            return
        sink = pyarrow.BufferOutputStream()
        parquet.write_table(pyarrow.table(table), sink)
        self._files.write("flows.parquet", sink.getvalue().to_pybytes())


def _digest(names: list[str], cells: list[_Cell]) -> str:
    digest = hashlib.sha256(Path(_native.__file__).read_bytes())
    digest.update(json.dumps(names).encode())
    for cell in cells:
        what = [cell.scenario.text, list(cell.scenario.overrides), cell.seed, list(cell.labels)]
        what += [[kind, _identity(policy)] for kind, policy in sorted(cell.policies.items())]
        digest.update(json.dumps(what).encode())
    return digest.hexdigest()


def _identity(policy: Any) -> str:
    """A policy of one's own is its source and its values: another one must not continue its sweep."""
    if not (own.scheduler_factory(policy) or own.controller_factory(policy)):
        return str(policy)
    kind = policy if isinstance(policy, type) else type(policy)
    try:
        source = inspect.getsource(kind)
    except (OSError, TypeError):
        source = kind.__qualname__
    return source + ("" if isinstance(policy, type) else repr(sorted(vars(policy).items(), key=lambda item: item[0])))


class _Folder:
    """A folder on this machine."""

    def __init__(self, path: str):
        self._path = Path(path)
        (self._path / "cells").mkdir(parents=True, exist_ok=True)

    def names(self, folder: str) -> list[str]:
        return sorted(entry.name for entry in (self._path / folder).iterdir())

    def read(self, name: str) -> str | None:
        try:
            return (self._path / name).read_text(encoding="utf-8")
        except FileNotFoundError:
            return None

    def write(self, name: str, data: str | bytes) -> None:
        partial = self._path / f"{name}.partial"
        partial.write_bytes(data.encode() if isinstance(data, str) else data)
        partial.replace(self._path / name)


class _Remote:
    """A folder that fsspec knows; an object there appears when it is whole."""

    def __init__(self, address: str):
        try:
            import fsspec
        except ImportError as error:
            raise ImportError(f"out={address!r} needs the package fsspec") from error
        self._system, self._path = fsspec.core.url_to_fs(address)
        self._system.makedirs(f"{self._path}/cells", exist_ok=True)

    def names(self, folder: str) -> list[str]:
        found = self._system.ls(f"{self._path}/{folder}", detail=False)
        return sorted(str(name).rsplit("/", 1)[-1] for name in found)

    def read(self, name: str) -> str | None:
        try:
            data: bytes = self._system.cat_file(f"{self._path}/{name}")
        except FileNotFoundError:
            return None
        return data.decode()

    def write(self, name: str, data: str | bytes) -> None:
        self._system.pipe_file(f"{self._path}/{name}", data.encode() if isinstance(data, str) else data)


def _files(out: str) -> _Folder | _Remote:
    return _Remote(out) if "://" in out else _Folder(out)
