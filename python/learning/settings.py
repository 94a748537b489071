"""What both libraries are told, and what is kept of a training."""

from __future__ import annotations

import dataclasses
import time

import numpy as np

from task import Policy, Task


@dataclasses.dataclass(frozen=True)
class Settings:
    """Of PPO; the same for both libraries."""

    seed: int
    #: The budget.
    decisions: int
    environments: int = 8
    #: Decisions of a rollout, of all environments.
    batch: int = 2_048
    minibatch: int = 256
    epochs: int = 10
    learning_rate: float = 1e-3
    #: An episode has some 400 decisions; what one does shows within some tens of them, when the acknowledgements come.
    gamma: float = 0.99
    gae_lambda: float = 0.95
    clip: float = 0.2
    entropy: float = 0.01
    value_weight: float = 0.5
    largest_gradient: float = 0.5
    layers: list[int] = dataclasses.field(default_factory=lambda: [64, 64])


class Check:
    """The learning curve: called after each rollout, tells whether the policy is the best so far on what is kept for selection."""

    def __init__(self, task: Task, library: str, every: int):
        self.task, self.library, self.every = task, library, every
        #: Decisions, rating in training, rating in selection, seconds by the clock.
        self.rows: list[tuple[int, float, float, float]] = []
        self._began, self._next = time.monotonic(), 0
        self._best = np.inf if task.less_is_better else -np.inf

    def __call__(self, decisions: int, mean_return: float, policy: Policy) -> bool:
        if decisions < self._next:
            return False
        self._next = decisions + self.every
        training, selection = self.task.of_return(float(mean_return)), self.task.select(policy)
        self.rows.append((decisions, training, selection, time.monotonic() - self._began))
        print(f"{self.library} {decisions:7d} decisions: {training:.4f} {self.task.unit} in training, {selection:.4f} likeliest actions", flush=True)
        better = self.task.better(selection, self._best)
        self._best = selection if better else self._best
        return better
