"""Trains the models of SSCC from Data Units: for each candidate controller one that predicts its reward.

    hawser lab units units/ --environments 200
    python train.py units/ -o models/

Writes models/sscc.models, which hawser_cc::sscc::Models reads, and models/sscc.json, the manifest: seeds, environments of training
and of judgement (disjoint), hashes, and scores. The same units give the same models.
"""

import argparse
import hashlib
import json
import pathlib
import sys

import numpy
import xgboost

from export import model_lines
from units import CANDIDATES, HORIZON, read, worth

# Antelope's, where the thesis says nothing; without a least gain, which rewards below one never reach.
TREES = 40
SETTINGS = {
    "objective": "reg:squarederror",
    "max_depth": 3,
    "eta": 0.15,
    "gamma": 0,
    "subsample": 1,
    "seed": 1,
    "nthread": 1,
}
RESAMPLES = 2_000


def is_held_out(environment):
    """Two environments in ten judge, one of them a scene; all of their rows do."""
    return environment % 10 in (3, 9)


def rows(runs, targets):
    """Of each controller the features and targets of all units of these runs.

    `published`: as in the thesis, the next reward of the controller that ran, on the scale of its own run. `common`: every unit,
    whichever ran, and what each controller earned in the same environment over the seconds that followed (units.py). A test bed
    cannot know that, a simulator can."""
    features, target = [[] for _ in CANDIDATES], [[] for _ in CANDIDATES]
    for of in runs.values():
        for chooser, run in of.items():
            if targets == "published" and chooser == "random":
                continue
            values = worth(of, run.at) if targets == "common" else None
            for at in range(len(CANDIDATES)):
                column = values[:, at] if targets == "common" else run.reward
                usable = ~numpy.isnan(column) if targets == "common" else run.controller == at
                features[at].append(run.features[usable])
                target[at].append(column[usable])
    return [(numpy.concatenate(x), numpy.concatenate(y)) for x, y in zip(features, target)]


def train(data, settings, trees):
    matrices = [xgboost.DMatrix(features, label=target) for features, target in data]
    return [xgboost.train(settings, matrix, num_boost_round=trees) for matrix in matrices]


def score(runs, boosters):
    """Held-out environments: what the models choose at the units of the runs in which they, or chance, were in control. The worth
    of a choice is that of a run in which the controller stayed, so this is an estimate without the effects of changing
    controllers; `hawser lab verify sscc` measures those. The interval resamples environments."""
    chosen, fixed, oracle, environments, right, count = [], [], [], [], 0, 0
    squares = [[] for _ in CANDIDATES]
    for (environment, _), of in runs.items():
        controlled = [run for chooser, run in of.items() if chooser.startswith("model-")] or [of["random"]]
        for run in controlled:
            values = worth(of, run.at)
            whole = ~numpy.isnan(values).any(axis=1)
            if not whole.any():
                continue
            values, asked = values[whole], xgboost.DMatrix(run.features[whole])
            predicted = numpy.stack([booster.predict(asked) for booster in boosters], axis=1)
            picks = predicted.argmax(axis=1)
            for at, square in enumerate(squares):
                square.append((predicted[:, at] - values[:, at]) ** 2)
            chosen.append(float(values[numpy.arange(len(picks)), picks].mean()))
            fixed.append(values.mean(axis=0))
            oracle.append(float(values.mean(axis=0).max()))
            environments.append(environment)
            right += int((picks == values.argmax(axis=1)).sum())
            count += len(picks)
    chosen, fixed, oracle = numpy.array(chosen), numpy.array(fixed), numpy.array(oracle)
    best = int(fixed.mean(axis=0).argmax())
    low, high = interval(numpy.array(environments), chosen - fixed[:, best])
    return {
        "paths": len(chosen),
        "reward_chosen": float(chosen.mean()),
        "reward_fixed": {name: float(value) for name, value in zip(CANDIDATES, fixed.mean(axis=0))},
        "best_fixed": CANDIDATES[best],
        "gain_over_best_fixed": float((chosen - fixed[:, best]).mean()),
        "gain_interval_95": [low, high],
        "reward_oracle": float(oracle.mean()),
        "share_of_oracle": float(chosen.mean() / oracle.mean()),
        "top_1_agreement": right / max(count, 1),
        "rmse": {name: float(numpy.sqrt(numpy.concatenate(of).mean())) for name, of in zip(CANDIDATES, squares)},
    }


def interval(environments, differences):
    """The middle 95 % of means over environments drawn with replacement."""
    means = numpy.array([differences[environments == one].mean() for one in numpy.unique(environments)])
    random = numpy.random.default_rng(1)
    drawn = random.choice(means, size=(RESAMPLES, len(means))).mean(axis=1)
    return [float(value) for value in numpy.quantile(drawn, [0.025, 0.975])]


def digest(paths):
    """One hash over files, in order of name."""
    whole = hashlib.sha256()
    for path in sorted(paths):
        whole.update(path.name.encode() + b"\0" + hashlib.sha256(path.read_bytes()).digest())
    return whole.hexdigest()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("units", type=pathlib.Path, help="folder of `hawser lab units`")
    parser.add_argument("-o", "--out", type=pathlib.Path, required=True, help="folder for the models")
    parser.add_argument("--targets", choices=["common", "published"], default="common", help="what is predicted")
    parser.add_argument("--without-models", action="store_true", help="leave out units of runs that models controlled")
    parser.add_argument("--trees", type=int, default=TREES)
    parser.add_argument("--depth", type=int, default=SETTINGS["max_depth"])
    arguments = parser.parse_args()
    collection = json.loads((arguments.units / "collection.json").read_text())
    everything = range(collection["environments"])
    files = [file for file in arguments.units.glob("*.parquet") if not (arguments.without_models and "-model-" in file.name)]
    choosers = sorted({file.stem.split("-", 1)[1] for file in files} | {*CANDIDATES, "random"})
    missing = len(everything) * len(choosers) - len(files)
    if missing:
        sys.exit(f"{arguments.units}: {missing} runs are missing; `hawser lab units` goes on with them")
    runs = read(files, collection["features"])
    training = {place: of for place, of in runs.items() if not is_held_out(place[0])}
    judging = {place: of for place, of in runs.items() if is_held_out(place[0])}
    settings = {**SETTINGS, "max_depth": arguments.depth}
    data = rows(training, arguments.targets)
    boosters = train(data, settings, arguments.trees)
    lines = ["hawser-sscc-models 1"]
    for name, booster in zip(CANDIDATES, boosters):
        lines += [f"controller {name}", *model_lines(booster, collection["features"])]
    text = "\n".join([*lines, "end"]) + "\n"
    arguments.out.mkdir(parents=True, exist_ok=True)
    (arguments.out / "sscc.models").write_text(text)
    manifest = {
        "collection": collection,
        "choosers": choosers,
        "units_sha256": digest(files),
        "models_sha256": hashlib.sha256(text.encode()).hexdigest(),
        "xgboost": xgboost.__version__,
        "targets": arguments.targets,
        "horizon_s": HORIZON,
        "trees": arguments.trees,
        "settings": settings,
        "trained_on": [n for n in everything if not is_held_out(n)],
        "judged_on": [n for n in everything if is_held_out(n)],
        "rows": {name: len(target) for name, (_, target) in zip(CANDIDATES, data)},
        "scores": score(judging, boosters),
    }
    (arguments.out / "sscc.json").write_text(json.dumps(manifest, indent=1) + "\n")
    print(json.dumps(manifest["scores"], indent=1))


if __name__ == "__main__":
    main()
