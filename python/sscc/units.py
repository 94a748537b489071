"""Data Units of `hawser lab units`: reading them, and what each controller would have been worth at each of them."""

import numpy
from pyarrow import compute, parquet

CANDIDATES = ["bbr", "cubic", "vegas", "c2tcp", "westwood", "illinois"]
# F. Yang 2022, equations 5.8 and 5.9: weight of lost bytes; delay up to which a queue costs nothing, in least delays.
LOSS_WEIGHT, DELAY_TOLERANCE = 5.0, 1.25
# Floors of the scale, as in hawser_cc.
LEAST_DELAY_MS, LEAST_RATE_MBPS = 1.0, 0.1
# Seconds over which a choice is judged: the thesis takes the next unit alone, which still tells of the controller before.
HORIZON = 5.0
DELAY_MIN = 3  # among the features
# Of the unit that followed: throughput, lost bytes, mean delay, length.
NEXT = ["tput_mbps", "loss_mbps", "delay_ms", "duration_s"]


class Run:
    """What a run saw on one path, in order of time."""

    def __init__(self, table, features):
        def column(name):
            return table[name].to_numpy()

        self.at = column("at_s")
        self.controller = numpy.array([CANDIDATES.index(name) for name in table["controller"].to_pylist()])
        self.features = numpy.stack([column(name) for name in features], axis=1).astype(numpy.float32)
        self.reward = column("reward").astype(numpy.float32)
        self.next_at = column("next_at_s")
        self.next = numpy.stack([column(f"next_{name}") for name in NEXT], axis=1)


def read(files, features):
    """Runs by environment, path and who chose."""
    runs = {}
    for file in sorted(files):
        environment, chooser = file.stem.split("-", 1)
        table = parquet.read_table(file)
        for path in table["path"].unique().to_pylist():
            runs.setdefault((int(environment), path), {})[chooser] = Run(table.filter(compute.field("path") == path), features)
    # Where a controller delivered next to nothing there is no unit of it, and nothing to compare.
    return {place: of for place, of in runs.items() if all(name in of for name in CANDIDATES)}


def rewards(run, delay_min, rate_max):
    """Equation 5.8 of the units that followed, on a given scale."""
    tput, loss, delay = run.next[:, 0], run.next[:, 1], run.next[:, 2]
    counted = numpy.where(delay <= DELAY_TOLERANCE * delay_min, delay_min, delay)
    return (tput - LOSS_WEIGHT * loss) / counted / (rate_max / delay_min)


def worth(runs, at):
    """For each moment and controller: the mean reward of that controller in the same environment over the seconds that follow,
    NaN where it has no unit there. All on one scale, the least delay and the largest rate that any of them saw: on its own, a
    controller that never uses the path would look good."""
    fixed = [runs[name] for name in CANDIDATES]
    delay_min = max(min(run.features[:, DELAY_MIN].min() for run in fixed), LEAST_DELAY_MS)
    rate_max = max(max(run.next[:, 0].max() for run in fixed), LEAST_RATE_MBPS)
    columns = []
    for run in fixed:
        seconds = run.next[:, 3]
        sums = numpy.concatenate([[0.0], numpy.cumsum(rewards(run, delay_min, rate_max) * seconds)])
        times = numpy.concatenate([[0.0], numpy.cumsum(seconds)])
        first = numpy.searchsorted(run.next_at, at, side="right")
        last = numpy.searchsorted(run.next_at, at + HORIZON, side="right")
        with numpy.errstate(invalid="ignore"):
            columns.append((sums[last] - sums[first]) / (times[last] - times[first]))
    return numpy.stack(columns, axis=1)
