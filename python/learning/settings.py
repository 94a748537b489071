"""What both libraries are told, and what is kept of a training."""

from __future__ import annotations

import dataclasses
import time

import numpy as np

import task


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
    """The learning curve: called after each rollout, tells whether the policy is the best so far on the seeds of selection."""

    def __init__(self, library: str, every: int):
        self.library, self.every = library, every
        self.rows: list[tuple[int, float, float, float]] = []
        self._began, self._next, self._best = time.monotonic(), 0, np.inf

    def __call__(self, decisions: int, mean_return: float, policy: task.Policy) -> bool:
        if decisions < self._next:
            return False
        self._next = decisions + self.every
        seconds = float(task.agent_seconds(task.TRAINING, policy, task.SELECTION_SEEDS).mean())
        training = -float(mean_return) / task.REWARD_SCALE
        self.rows.append((decisions, training, seconds, time.monotonic() - self._began))
        print(f"{self.library} {decisions:7d} decisions: {training:.4f} s in training, {seconds:.4f} s greedy", flush=True)
        better = seconds < self._best
        self._best = min(seconds, self._best)
        return better
