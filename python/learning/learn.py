"""Trains a packet scheduler with PPO of stable-baselines3 and of RLlib, and sets both next to schedulers of the command.

    python learn.py -o DIR [--decisions 150000] [--seed 1]

writes ``curve-LIBRARY.csv`` (decisions; mean seconds of an episode from its first question in training; mean seconds of the transfers of selection with
the likeliest actions; wall time), ``curves.png``, ``judgement.csv`` and ``manifest.json``, and prints the judgement.
"""

from __future__ import annotations

import argparse
import csv
import dataclasses
import json
import warnings
from importlib import import_module, metadata
from pathlib import Path

import matplotlib
from stable_baselines3.common.env_checker import check_env

import task
from settings import Check, Settings

LIBRARIES = {"sb3": "stable-baselines3", "rllib": "RLlib"}


def check_environments() -> None:
    """`check_env` of stable-baselines3, whose warnings are errors here."""
    import gymnasium

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for name in ("hawser/Scheduler-v0", "hawser/Congestion-v0", "hawser/Ride-v0"):
            check_env(gymnasium.make(name).unwrapped, skip_render_check=True)
            print(f"check_env of stable-baselines3: {name}: clean", flush=True)


def draw(path: Path, curves: dict[str, Check]) -> None:
    """Curves over decisions, and what the schedulers of the command need on the same seeds."""
    matplotlib.use("Agg")
    import matplotlib.pyplot as pyplot

    figure, axes = pyplot.subplots(figsize=(8, 4.5), layout="constrained")
    for at, (library, check) in enumerate(curves.items()):
        decisions, training, selection, _ = zip(*check.rows, strict=True)
        thousands = [number / 1e3 for number in decisions]
        axes.plot(thousands, selection, color=f"C{at}", label=f"{LIBRARIES[library]}, likeliest actions, seeds of selection")
        axes.plot(thousands, training, color=f"C{at}", alpha=0.4, linestyle=":", label=f"{LIBRARIES[library]}, in training")
    for at, scheduler in enumerate(task.BASELINES):
        mean = task.scheduler_seconds(task.TRAINING, scheduler, task.SELECTION_SEEDS).mean()
        axes.axhline(mean, color=f"C{len(curves) + at}", linewidth=1, linestyle="--", label=f"{scheduler}, seeds of selection")
    axes.set(xlabel="decisions (thousands)", ylabel=f"{task.SIZE} over {task.TRAINING} (s)", title="PPO learns a packet scheduler", yscale="log")
    axes.yaxis.set_major_formatter("{x:.2f}")
    axes.yaxis.set_minor_formatter("{x:.2f}")
    axes.legend(fontsize=8)
    figure.savefig(path, dpi=110)


def write_rows(path: Path, header: list[str], rows) -> None:
    with path.open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(header)
        writer.writerows([f"{value:.5f}" if isinstance(value, float) else value for value in row] for row in rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("-o", "--out", type=Path, required=True, help="folder of the results")
    parser.add_argument("--decisions", type=int, default=150_000, help="the budget of each library")
    parser.add_argument("--every", type=int, default=6_000, help="decisions from one check to the next")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--library", choices=list(LIBRARIES), action="append", help="default: both")
    asked = parser.parse_args()
    asked.out.mkdir(parents=True, exist_ok=True)
    check_environments()
    settings = Settings(seed=asked.seed, decisions=asked.decisions)
    curves, agents = {}, {}
    for library in asked.library or LIBRARIES:
        curves[library] = Check(library, asked.every)
        agents[LIBRARIES[library]] = import_module(f"with_{library}").train(settings, curves[library])
        header = ["decisions", "seconds_training", "seconds_selection", "wall_seconds"]
        write_rows(asked.out / f"curve-{library}.csv", header, curves[library].rows)
    draw(asked.out / "curves.png", curves)
    rows = [list(row.values()) for row in task.judge(agents)]
    write_rows(asked.out / "judgement.csv", ["scenario", "policy", "seconds", "over_minrtt", "half_interval"], [map_floats(row) for row in rows])
    for scenario, policy, seconds, gap, half in rows:
        print(f"{scenario:10} {policy:18} {seconds:.4f} s, {gap:+.4f} s ± {half:.4f} s from MinRTT")
    versions = {name: metadata.version(name) for name in ("hawser", "gymnasium", "numpy", "ray", "stable-baselines3", "torch")}
    seeds = {"training": settings.seed, "selection": str(task.SELECTION_SEEDS), "judging": str(task.JUDGING_SEEDS)}
    manifest = {"settings": dataclasses.asdict(settings), "size": task.SIZE, "quantum": task.QUANTUM, "seeds": seeds, "libraries": versions}
    (asked.out / "manifest.json").write_text(json.dumps(manifest, indent=2) + "\n")


def map_floats(row: list) -> list:
    return [value if isinstance(value, str) else float(value) for value in row]


if __name__ == "__main__":
    main()
