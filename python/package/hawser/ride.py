"""RIDE's fluid environment for Gymnasium (W. Yang, dissertation, University of Victoria 2024, chapter 5).

A step decides about one viewed tile-frame: 0 skips it, k sends it on path k (1 WiFi, 2 LTE). An episode is a video frame. The
observation has 10 values within -5 to 5 (14 with ``extended=True``): per path the window left, rate, round-trip time and loss
rate, then the time until the deadline and the size. Rewards are in frame durations.

The reward of a B frame is that with its later reference in time. What it has to be changed by is known when that reference is
decided about, up to four frames later: ``corrections()`` gives these changes after every step.

Options of both environments: ``environment`` ("episodic", "continuous"), ``purpose`` ("training", "selection", "judging": other
videos, viewers and networks each), ``viewing`` ("head", "switching", "fixed"), ``deadline_rule`` ("paper", "transitive"),
``order`` of the frames of a GoP ("display", "decode"), ``arrival`` ("sampled", "rounds": equations 5.1 to 5.3), ``early``,
``helper``, ``playout_delay`` (s), ``max_loss``, ``extended``, ``hidden`` ("nothing", "deadline", "size"), ``saliency``,
``frames``.
"""

from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces
from gymnasium.vector import AutoresetMode
from gymnasium.vector.utils import batch_space

from hawser._native import RideBatch

ACTIONS = 3


def _observation_space(options: dict[str, Any]) -> spaces.Box:
    width = 14 if options.get("extended") else 10
    return spaces.Box(-5.0, 5.0, (width,), np.float32)


class RideEnv(gymnasium.Env):
    """One environment. ``reset(seed=...)`` starts a session; ``reset()`` goes on with the session's next frame."""

    metadata = {"render_modes": []}

    def __init__(self, render_mode: str | None = None, **options: Any):
        if render_mode is not None:
            raise ValueError("there is nothing to render")
        self._options = options
        self.observation_space = _observation_space(options)
        self.action_space = spaces.Discrete(ACTIONS)
        self._batch: RideBatch | None = None

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None):
        super().reset(seed=seed)
        if self._batch is None:
            self._batch = RideBatch(0 if seed is None else seed, 1, self._options)
        elif seed is not None:
            self._batch.reset(seed)
        return self._batch.observe()[0], {}

    def step(self, action: int):
        if self._batch is None:
            raise gymnasium.error.ResetNeeded("reset() comes before step()")
        if not 0 <= action < ACTIONS:
            raise ValueError(f"action {action}: there are 0 to {ACTIONS - 1}")
        observations, rewards, ends = self._batch.step(np.array([action], np.uint8))
        return observations[0], float(rewards[0]), bool(ends[0]), False, {}

    def corrections(self) -> list[tuple[int, float]]:
        """Decisions (numbered from 0 since the seed) and the changes of their rewards that the last step brought."""
        _, decisions, changes = self._batch.corrections()
        return list(zip(decisions.tolist(), changes.tolist()))

    @property
    def trace_hash(self) -> int:
        """Stands for all decisions since the seed and what they gave; the same in Rust."""
        return self._batch.trace_hash(0)


class RideVectorEnv(gymnasium.vector.VectorEnv):
    """Many environments in one call. A frame that ends is followed by the next in the same step."""

    metadata = {"render_modes": [], "autoreset_mode": AutoresetMode.SAME_STEP}

    def __init__(self, num_envs: int = 64, render_mode: str | None = None, **options: Any):
        if render_mode is not None:
            raise ValueError("there is nothing to render")
        self.num_envs = num_envs
        self.render_mode = None
        self.single_observation_space = _observation_space(options)
        self.single_action_space = spaces.Discrete(ACTIONS)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self._options = options
        self._batch = RideBatch(0, num_envs, options)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None):
        if seed is not None:
            self._batch.reset(seed)
        return self._batch.observe(), {}

    def step(self, actions):
        actions = np.asarray(actions)
        if actions.shape != (self.num_envs,) or actions.min() < 0 or actions.max() >= ACTIONS:
            raise ValueError(f"{self.num_envs} actions of 0 to {ACTIONS - 1} are needed")
        observations, rewards, ends = self._batch.step(actions.astype(np.uint8))
        return observations, rewards, ends, np.zeros(self.num_envs, bool), {}

    def corrections(self):
        """Environment, decision since the seed, and change of its reward, as arrays, of the last step."""
        return self._batch.corrections()

    def trace_hash(self, number: int) -> int:
        """As in :class:`RideEnv`, of one of them."""
        return self._batch.trace_hash(number)
