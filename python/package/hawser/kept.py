"""Runs that ``hawser lab verify`` keeps (docs/reproductions.md), for notebooks: tables, and figures with matplotlib.

>>> import hawser.kept
>>> kept = hawser.kept.runs("mams", otherwise={"items": ["5"], "seeds": 1})      # doctest: +SKIP
>>> kept.bars("goodput_bps", "up-*")                                             # doctest: +SKIP

Needs pandas with pyarrow; matplotlib for figures.
"""

from __future__ import annotations

import fnmatch
import json
import os
import shutil
import subprocess
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

#: What values of metrics are divided by for a figure, and the unit then, by the end of their names.
UNITS = {"_bps": (1e6, "Mbit/s"), "_ms": (1.0, "ms"), "_seconds": (1.0, "s"), "_s": (1.0, "s"), "_bytes": (1e3, "kB")}
#: Student's t for 95 %, by degrees of freedom.
STUDENT = [12.71, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131]


@dataclass(frozen=True)
class Kept:
    """The runs of a list."""

    #: Where they are.
    folder: Path
    #: Whether they are a subset, so that figures may lack their runs.
    is_part: bool = False

    @property
    def table(self) -> Any:
        """A row per metric of a run, as a pandas ``DataFrame``: ``scenario``, ``policy``, ``seed``, ``trace_hash``, ``metric``, ``value``."""
        import pandas

        return pandas.read_parquet(self.folder / "merged" / "runs.parquet")

    @property
    def verdicts(self) -> Any:
        """A row per item, as a pandas ``DataFrame``: what is claimed, the value and its interval, what the paper says, the verdict."""
        import pandas

        items = json.loads((self.folder / "verdicts.json").read_text(encoding="utf-8"))["items"]
        columns = ["id", "statement", "value", "low", "high", "threshold", "paper", "verdict"]
        return pandas.DataFrame(items)[columns].set_index("id")

    def means(self, metric: str, scenarios: str = "*", policies: str | Iterable[str] = "*") -> Any:
        """Mean over the seeds, and half the width of its 95 % interval, by ``scenario`` and ``policy``, in the order of the list.

        ``scenarios`` and ``policies`` are patterns (``"up-*"``), several with ``|`` between them or as a list. Raises ``ValueError`` with
        what there is if nothing fits.
        """
        table = self.table
        fits = table[table.metric == metric]
        if fits.empty:
            known = ", ".join(sorted(table.metric.unique())[:40])
            raise ValueError(f"no metric {metric!r} in {self.folder}: there are {known}")
        for column, wanted in (("scenario", scenarios), ("policy", policies)):
            patterns = wanted.split("|") if isinstance(wanted, str) else list(wanted)
            chosen = fits[column].map(lambda name, patterns=patterns: any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns))
            if not chosen.any():
                raise ValueError(f"no {column} {wanted!r} with {metric}: there are {', '.join(map(str, fits[column].unique()))}")
            fits = fits[chosen]
        groups = fits.groupby(["scenario", "policy"], sort=False, observed=True).value
        means = groups.agg(["mean", "std", "count"]).reset_index()
        means["interval"] = [_half_width(row.std, int(row.count)) for row in means[["std", "count"]].itertuples(index=False)]
        return means[["scenario", "policy", "mean", "interval", "count"]]

    def _means_of_figure(self, metric: str, scenarios: str, policies: str | Iterable[str], title: str) -> Any:
        try:
            return self.means(metric, scenarios, policies)
        except ValueError:
            if not self.is_part:
                raise
            print(f"{title or metric}: not in this subset")
            return None

    def bars(
        self, metric: str, scenarios: str = "*", policies: str | Iterable[str] = "*", *, title: str = "", ax: Any = None
    ) -> Any:
        """Draws :meth:`means` as bars with intervals, a group per scenario. Returns the axes; ``None`` if a subset lacks these runs."""
        means, (one, unit) = self._means_of_figure(metric, scenarios, policies, title), _unit(metric)
        if means is None:
            return None
        ax = ax if ax is not None else _axes()
        names = list(dict.fromkeys(means.scenario))
        systems = list(dict.fromkeys(means.policy))
        width = 0.8 / len(systems)
        for place, policy in enumerate(systems):
            rows = means[means.policy == policy]
            at = [names.index(name) + (place - (len(systems) - 1) / 2) * width for name in rows.scenario]
            ax.bar(at, rows["mean"] / one, width, yerr=rows.interval / one, capsize=2, label=policy, color=_colour(place))
        ax.set_xticks(range(len(names)), names, rotation=30 if len(names) > 3 else 0, ha="right" if len(names) > 3 else "center")
        ax.set(ylabel=f"{metric} ({unit})" if unit else metric, title=title)
        _legend(ax)
        return ax

    def lines(
        self,
        metric: str,
        points: Mapping[str, float],
        policies: str | Iterable[str] = "*",
        *,
        x: str,
        title: str = "",
        logarithmic: bool = False,
        ax: Any = None,
    ) -> Any:
        """Draws :meth:`means` as a line per policy; ``points`` says where each scenario lies on the axis ``x``. Returns the axes, or
        ``None`` if a subset lacks these runs."""
        means, (one, unit) = self._means_of_figure(metric, "|".join(points), policies, title), _unit(metric)
        if means is None:
            return None
        ax = ax if ax is not None else _axes()
        for place, policy in enumerate(dict.fromkeys(means.policy)):
            rows = means[means.policy == policy].assign(at=lambda rows: rows.scenario.astype(str).map(points)).sort_values("at")
            ax.errorbar(rows["at"], rows["mean"] / one, rows.interval / one, marker="o", markersize=3, capsize=2, label=policy, color=_colour(place))
        ax.set(xlabel=x, ylabel=f"{metric} ({unit})" if unit else metric, title=title, xscale="log" if logarithmic else "linear")
        _legend(ax)
        return ax

    def _repr_html_(self) -> str:
        html: str = self.verdicts.to_html()
        return f"<p>{self.folder}</p>{html}"


def _half_width(deviation: float, count: int) -> float:
    """Of the 95 % interval of a mean; 0 for a single value."""
    if count < 2:
        return 0.0
    factor = STUDENT[count - 2] if count - 2 < len(STUDENT) else 1.96 + 2.5 / (count - 1)
    return float(factor * deviation / count**0.5)


def _unit(metric: str) -> tuple[float, str]:
    return next((unit for ending, unit in UNITS.items() if metric.endswith(ending)), (1.0, ""))


def _legend(ax: Any) -> None:
    """Next to the axes: bars leave no room in them."""
    ax.legend(fontsize="x-small", loc="center left", bbox_to_anchor=(1.0, 0.5))


def _colour(place: int) -> Any:
    """Twenty that differ: a list may have more policies than a usual cycle has colours."""
    import matplotlib

    return matplotlib.colormaps["tab20"]((2 * place + (place // 10)) % 20)


def _axes() -> Any:
    import matplotlib.pyplot as pyplot

    return pyplot.figure(figsize=(8, 4), layout="constrained").add_subplot()


def runs(
    system: str,
    *,
    folder: str | os.PathLike[str] | None = None,
    otherwise: Mapping[str, Any] | None = None,
    command: str | None = None,
) -> Kept:
    """The runs that ``hawser lab verify SYSTEM`` has kept in ``folder`` (default: ``lab-results/SYSTEM`` here or in a folder above).

    If there are none and ``otherwise`` says so (``{"items": ["5"], "seeds": 1}``), the command makes a subset: those of some items, with
    so many seeds. ``command`` is the program (default: the variable ``HAWSER``, or ``hawser`` on the path). Raises ``FileNotFoundError``
    without runs, or without the command; ``RuntimeError`` with the words of the command if it fails.
    """
    home = next((place for place in (Path.cwd(), *Path.cwd().parents) if (place / "scenarios").is_dir()), Path.cwd())
    full = Path(folder) if folder is not None else home / "lab-results" / system
    if (full / "verdicts.json").is_file():
        return Kept(full)
    if otherwise is None:
        raise FileNotFoundError(f"no runs in {full}: make them with `hawser lab verify {system}`")
    unknown = set(otherwise) - {"items", "seeds"}
    if unknown:
        raise TypeError(f"otherwise: expected items and seeds, found {', '.join(sorted(unknown))}")
    items, seeds = [str(item) for item in otherwise.get("items", ())], int(otherwise.get("seeds", 1))
    part = home / "lab-results" / "-".join([system, "part", str(seeds), *items])
    if not (part / "verdicts.json").is_file():
        program = command or os.environ.get("HAWSER") or shutil.which("hawser")
        if program is None:
            raise FileNotFoundError("no command `hawser` on the path, and HAWSER does not name one: build it with `make build`")
        arguments = ["lab", "verify", system, "--seeds", str(seeds), "-o", str(part), "-q", "--scenarios", str(home / "scenarios")]
        arguments += [argument for item in items for argument in ("--item", item)]
        done = subprocess.run([program, *arguments], capture_output=True, text=True, cwd=home)
        # 1 says that an item falls short, which one seed may well do.
        if done.returncode not in (0, 1) or not (part / "verdicts.json").is_file():
            raise RuntimeError(f"hawser {' '.join(arguments)}: {done.stderr.strip()}")
    return Kept(part, is_part=True)
