"""Makes the golden data of policies/hawser-learn/tests/boosted_trees.rs: models of xgboost, and what it predicts.

    python golden.py ../../policies/hawser-learn/tests/golden/boosted_trees
"""

import pathlib
import sys

import numpy
import xgboost

from export import model_lines

FEATURES = ["first", "second", "third", "fourth"]
# Trees, depth: a small one, and the size of a controller's model.
SIZES = {"small": (5, 2), "usual": (40, 3)}


def data(random, rows):
    values = random.normal(size=(rows, len(FEATURES))) * [1.0, 10.0, 100.0, 0.01]
    values = values.astype(numpy.float32)
    target = numpy.tanh(values[:, 0]) + 0.02 * values[:, 1] * (values[:, 2] > 0) - 20 * values[:, 3]
    # Some are missing, so that both default directions occur.
    values[random.random(values.shape) < 0.1] = numpy.nan
    return values, target.astype(numpy.float32)


def main(folder):
    random = numpy.random.default_rng(15)
    for name, (trees, depth) in SIZES.items():
        values, target = data(random, 2_000)
        settings = {"objective": "reg:squarederror", "max_depth": depth, "eta": 0.15, "seed": 1, "nthread": 1}
        booster = xgboost.train(settings, xgboost.DMatrix(values, label=target), num_boost_round=trees)
        lines = [f"# xgboost {xgboost.__version__}, python/sscc/golden.py", *model_lines(booster, FEATURES)]
        (folder / f"{name}.trees").write_text("\n".join(lines) + "\n")
        asked, _ = data(random, 100)
        # Values at a threshold, where "below" and "not above" differ.
        thresholds = [line.split()[1:3] for line in lines if line.startswith("split")][:20]
        for row, (feature, value) in zip(asked, thresholds):
            row[int(feature)] = numpy.float32(value)
        predicted = booster.predict(xgboost.DMatrix(asked))
        rows = [[*map(repr, map(float, row)), repr(float(answer))] for row, answer in zip(asked, predicted)]
        header = ",".join([*FEATURES, "predicted"])
        (folder / f"{name}.csv").write_text("\n".join([header, *map(",".join, rows)]) + "\n")


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]))
