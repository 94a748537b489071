"""Trains with PPO of stable-baselines3 and of RLlib, one set of parameters for both, and sets what they learned next to policies of the command.

    python learn.py -o DIR [--task packets] [--task frames] [--decisions 150000] [--seed 1]

writes for each task (packets.py, frames.py) ``DIR/TASK/curve-LIBRARY.csv`` (decisions; mean rating of an episode in training; mean rating in selection
with the likeliest actions; wall time), ``curves.png``, ``judgement.csv`` and ``manifest.json``, and prints the judgement.
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

import frames
import packets
from settings import Check, Settings
from task import Task

TASKS = {it.name: it for it in (packets.TASK, frames.TASK)}
LIBRARIES = {"sb3": "stable-baselines3", "rllib": "RLlib"}


def check_environments() -> None:
    """`check_env` of stable-baselines3, whose warnings are errors here."""
    import gymnasium

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for name in ("hawser/Scheduler-v0", "hawser/Congestion-v0", "hawser/Ride-v0"):
            check_env(gymnasium.make(name).unwrapped, skip_render_check=True)
            print(f"check_env of stable-baselines3: {name}: clean", flush=True)


def draw(task: Task, path: Path, curves: dict[str, Check]) -> None:
    """Curves over decisions, and what policies of the command reach on the same seeds."""
    matplotlib.use("Agg")
    import matplotlib.pyplot as pyplot

    figure, axes = pyplot.subplots(figsize=(8, 4.5), layout="constrained")
    for at, (library, check) in enumerate(curves.items()):
        decisions, training, selection, _ = zip(*check.rows, strict=True)
        thousands = [number / 1e3 for number in decisions]
        axes.plot(thousands, selection, color=f"C{at}", label=f"{LIBRARIES[library]}, likeliest actions, selection")
        axes.plot(thousands, training, color=f"C{at}", alpha=0.4, linestyle=":", label=f"{LIBRARIES[library]}, in training")
    for at, (name, rating) in enumerate(task.selected().items()):
        axes.axhline(rating, color=f"C{len(curves) + at}", linewidth=1, linestyle="--", label=f"{name}, selection")
    axes.set(xlabel="decisions (thousands)", ylabel=f"{task.rating} ({task.unit})", title=task.title)
    if task.less_is_better:
        axes.set_yscale("log")
        axes.yaxis.set_major_formatter("{x:.2f}")
        axes.yaxis.set_minor_formatter("{x:.2f}")
    axes.legend(fontsize=8)
    figure.savefig(path, dpi=110)


def write_rows(path: Path, header: list[str], rows) -> None:
    with path.open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(header)
        writer.writerows([f"{value:.5f}" if isinstance(value, float) else value for value in row] for row in rows)


def learn(task: Task, libraries: list[str], settings: Settings, every: int, out: Path) -> None:
    out.mkdir(parents=True, exist_ok=True)
    curves, agents = {}, {}
    for library in libraries:
        curves[library] = Check(task, library, every)
        agents[LIBRARIES[library]] = import_module(f"with_{library}").train(task, settings, curves[library])
        header = ["decisions", "training", "selection", "wall_seconds"]
        write_rows(out / f"curve-{library}.csv", header, curves[library].rows)
    draw(task, out / "curves.png", curves)
    rows = task.judge(agents)
    write_rows(out / "judgement.csv", ["setting", "policy", "rating", "over_first", "half_interval"], rows)
    first = rows[0][1]
    for setting, name, rating, gap, half in rows:
        print(f"{setting:10} {name:18} {rating:.4f} {task.unit}, {gap:+.4f} ± {half:.4f} from {first}")
    versions = {name: metadata.version(name) for name in ("hawser", "gymnasium", "numpy", "ray", "stable-baselines3", "torch")}
    manifest = {"task": task.name, "settings": dataclasses.asdict(settings), "details": task.details, "libraries": versions}
    (out / "manifest.json").write_text(json.dumps(manifest, indent=2) + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("-o", "--out", type=Path, required=True, help="folder of the results")
    parser.add_argument("--task", choices=list(TASKS), action="append", help="default: both")
    parser.add_argument("--decisions", type=int, default=150_000, help="the budget of each library for each task")
    parser.add_argument("--every", type=int, default=6_000, help="decisions from one check to the next")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--library", choices=list(LIBRARIES), action="append", help="default: both")
    asked = parser.parse_args()
    check_environments()
    settings = Settings(seed=asked.seed, decisions=asked.decisions)
    for name in asked.task or TASKS:
        print(f"task {name}: {TASKS[name].title}", flush=True)
        learn(TASKS[name], asked.library or list(LIBRARIES), settings, asked.every, asked.out / name)


if __name__ == "__main__":
    main()
