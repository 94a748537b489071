"""Trains the models of SSCC from Data Units: for each candidate controller one that predicts its reward.

    hawser lab units units/ --environments 200
    python train.py units/ -o models/

Writes models/sscc-models.txt, which hawser_cc::sscc::Models reads, and models/manifest.json: seeds, environments of training and
of judgement (disjoint), hashes, and scores. The same units give the same models.
"""

import argparse
import hashlib
import json
import pathlib
import sys

import numpy
import xgboost

from export import model_lines

CANDIDATES = ["bbr", "cubic", "vegas", "c2tcp", "westwood", "illinois"]
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


def is_held_out(environment):
    """One environment in five judges; all of its rows do."""
    return environment % 5 == 4


def read(folder, features):
    """Rows of each controller as arrays: environment, path, features, reward."""
    rows = {}
    for name in CANDIDATES:
        lines = [
            json.loads(line)
            for file in sorted(folder.glob(f"*-{name}.jsonl"))
            for line in file.read_text().splitlines()
        ]
        lines = [line for line in lines if len(line["features"]) == len(features)]
        if not lines:
            sys.exit(f"{folder}: no units of {name}")
        rows[name] = {
            "environment": numpy.array([line["environment"] for line in lines]),
            "path": numpy.array([line["path"] for line in lines]),
            "features": numpy.array([line["features"] for line in lines], dtype=numpy.float32),
            "reward": numpy.array([line["reward"] for line in lines], dtype=numpy.float32),
        }
    return rows


def train(rows):
    boosters = {}
    for name, data in rows.items():
        chosen = ~is_held_out(data["environment"])
        matrix = xgboost.DMatrix(data["features"][chosen], label=data["reward"][chosen])
        boosters[name] = xgboost.train(SETTINGS, matrix, num_boost_round=TREES)
    return boosters


def score(rows, boosters):
    """Held-out environments. What a choice is worth is the mean reward of that controller on that path, so this is an estimate
    without the effects of changing controllers; `hawser lab verify sscc` measures those."""
    error, means = {}, {}
    for name, data in rows.items():
        judged = is_held_out(data["environment"])
        predicted = boosters[name].predict(xgboost.DMatrix(data["features"][judged]))
        error[name] = float(numpy.sqrt(numpy.mean((predicted - data["reward"][judged]) ** 2)))
        for environment, path in {*zip(data["environment"][judged], data["path"][judged])}:
            of = (data["environment"] == environment) & (data["path"] == path)
            means.setdefault((int(environment), int(path)), {})[name] = float(data["reward"][of].mean())
    whole = {key: of for key, of in means.items() if len(of) == len(CANDIDATES)}
    chosen, right, count = [], 0, 0
    for (environment, path), worth in whole.items():
        # Units that any of the controllers saw there; each controller's count alike.
        of_path = []
        for data in rows.values():
            of = (data["environment"] == environment) & (data["path"] == path)
            asked = xgboost.DMatrix(data["features"][of])
            answers = numpy.array([boosters[name].predict(asked) for name in CANDIDATES])
            picks = answers.argmax(axis=0)
            of_path.append(numpy.mean([worth[CANDIDATES[pick]] for pick in picks]))
            best = max(worth, key=worth.get)
            right += int(numpy.sum([CANDIDATES[pick] == best for pick in picks]))
            count += len(picks)
        chosen.append(float(numpy.mean(of_path)))
    fixed = {name: float(numpy.mean([of[name] for of in whole.values()])) for name in CANDIDATES}
    oracle = float(numpy.mean([max(of.values()) for of in whole.values()]))
    return {
        "paths": len(whole),
        "reward_chosen": float(numpy.mean(chosen)),
        "reward_fixed": fixed,
        "reward_best_fixed": max(fixed.values()),
        "reward_oracle": oracle,
        "top_1_agreement": right / max(count, 1),
        "rmse": error,
    }


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
    arguments = parser.parse_args()
    collection = json.loads((arguments.units / "collection.json").read_text())
    expected = collection["environments"] * len(CANDIDATES)
    files = list(arguments.units.glob("*.jsonl"))
    if len(files) != expected:
        sys.exit(f"{arguments.units}: {len(files)} runs of {expected}; `hawser lab units` goes on with the rest")
    rows = read(arguments.units, collection["features"])
    boosters = train(rows)
    lines = ["hawser-sscc-models 1"]
    for name in CANDIDATES:
        lines += [f"controller {name}", *model_lines(boosters[name], collection["features"])]
    text = "\n".join([*lines, "end"]) + "\n"
    arguments.out.mkdir(parents=True, exist_ok=True)
    (arguments.out / "sscc-models.txt").write_text(text)
    everything = range(collection["environments"])
    manifest = {
        "collection": collection,
        "units_sha256": digest(files),
        "models_sha256": hashlib.sha256(text.encode()).hexdigest(),
        "xgboost": xgboost.__version__,
        "trees": TREES,
        "settings": SETTINGS,
        "trained_on": [n for n in everything if not is_held_out(n)],
        "judged_on": [n for n in everything if is_held_out(n)],
        "rows": {name: len(data["reward"]) for name, data in rows.items()},
        "scores": score(rows, boosters),
    }
    (arguments.out / "manifest.json").write_text(json.dumps(manifest, indent=1) + "\n")
    print(json.dumps(manifest["scores"], indent=1))


if __name__ == "__main__":
    main()
