"""What is learned: an environment, how a policy is rated while it learns, and how it is judged in the end."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import gymnasium
import numpy as np

Policy = Callable[[np.ndarray], int]


@dataclasses.dataclass(frozen=True)
class Task:
    #: Of the folder of its results.
    name: str
    title: str
    #: What ratings are, in a legend; and their unit, in a table.
    rating: str
    unit: str
    less_is_better: bool
    #: An environment to train in.
    training: Callable[[], gymnasium.Env]
    #: The rating of a mean return in training.
    of_return: Callable[[float], float]
    #: The rating of a policy on what is kept for the selection of weights.
    select: Callable[[Policy], float]
    #: The same of what the command has, by its name.
    selected: Callable[[], dict[str, float]]
    #: Ratings on what is kept for judging: for each setting, for each name, one for each seed. The first name is what others are set next to.
    judged: Callable[[dict[str, Policy]], dict[str, dict[str, np.ndarray]]]
    #: For the manifest.
    details: dict[str, Any]

    def better(self, rating: float, best: float) -> bool:
        return rating < best if self.less_is_better else rating > best

    def judge(self, agents: dict[str, Policy]) -> list[tuple[str, str, float, float, float]]:
        """Rows: setting, name, mean rating, and the mean of the differences from the first name on the same seed with the half of its 95 % interval."""
        rows = []
        for setting, ratings in self.judged(agents).items():
            first = next(iter(ratings.values()))
            for name, of in ratings.items():
                gap = of - first
                half = 1.96 * gap.std(ddof=1) / np.sqrt(len(gap))
                rows.append((setting, name, float(of.mean()), float(gap.mean()), float(half)))
        return rows
