"""Environments on the real stack, in virtual time: each episode is a run of a scenario.

``hawser/Scheduler-v0``: a packet scheduler. A step is a question of the transport: something waits, and a path could take it.

* Action: 0 to ``paths`` - 1 sends ``quantum`` datagrams on that path (in order of its id; one that cannot send counts as waiting), ``paths`` waits
  until something changes.
* Observation, all from 0 to 1: for each path whether it can send, its window (bytes; b / (b + 1 MB)), the filled share of that, smoothed
  and smallest round-trip time (s; t / (t + 0.1)), recent loss, delivery rate (bit/s; r / (r + 20e6)); then the bytes that wait for the first
  time and to be sent again (b / (b + 1 MB)). Paths that do not exist yet are zero.
* Reward: minus the virtual seconds since the last step, so that the return is minus the time from the first question to the end of the transfer.

``hawser/Congestion-v0``: a congestion controller. A step is a round trip of a path; paths take turns as their acknowledgements come
(``info["path"]``).

* Action: a number from -1 to 1; the window is multiplied by two to that power.
* Observation, all from 0 to 1: rate of the last round trip (r / (r + 20e6)), smoothed round-trip time (t / (t + 0.1)), its excess over the smallest
  (x / (x + 1) of the ratio - 1), share lost, window (b / (b + 1 MB)), whether the application left the window unused.
* Reward: log2(1 + rate in Mbit/s) - 0.5 log2(round-trip time / smallest) - 10 x share lost.

Episodes end (``terminated``) when the flows of the scenario have done their work, or are ``truncated`` when its time is over. The end that sends the
first flow of the scenario is controlled, on its first connection; everything else has its defaults. The same seed and actions give the same episode.
``reset()`` draws the seed of the run and has it in ``info["run_seed"]``: ``Scenario.run(seed=...)`` with it is the same run with another policy.
"""

from __future__ import annotations

import os
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces

from hawser import _native
from hawser.scenario import Scenario

#: Two links that differ, and a transfer of some seconds.
SCHEDULER_SCENARIO = """\
version = 1
name = "two-unequal"
duration = "30 s"
[[link]]
name = "near"
rate = "20 Mbit/s"
delay = "10 ms"
queue = "100 kB"
[[link]]
name = "far"
rate = "10 Mbit/s"
delay = "40 ms"
queue = "200 kB"
[[flow]]
name = "main"
kind = "bulk"
direction = "down"
size = "2 MB"
"""

#: One link with a queue of two bandwidth-delay products.
CONGESTION_SCENARIO = """\
version = 1
name = "one-link"
duration = "30 s"
[[link]]
name = "link"
rate = "20 Mbit/s"
delay = "20 ms"
queue = "200 kB"
[[flow]]
name = "main"
kind = "bulk"
direction = "down"
size = "20 MB"
"""


def _scenario(scenario: Scenario | str | os.PathLike[str] | None, default: str) -> Scenario:
    if isinstance(scenario, str | os.PathLike):
        return Scenario.load(scenario)
    if scenario is not None and not isinstance(scenario, Scenario):
        raise TypeError(f"scenario: expected a hawser.Scenario or the path of a file, found {scenario!r}")
    return scenario or Scenario.from_toml(default)


def run_seed(random: np.random.Generator) -> int:
    """The seed of the next episode's run, drawn from an environment's random numbers (``gymnasium.utils.seeding.np_random(seed)[0]`` after
    ``reset(seed=seed)``)."""
    return int(random.integers(2**31))


class SchedulerEnv(gymnasium.Env[np.ndarray, Any]):
    """A packet scheduler; see the module. ``scenario`` is one, or the path of a file."""

    metadata: dict[str, Any] = {"render_modes": []}

    def __init__(
        self,
        scenario: Scenario | str | os.PathLike[str] | None = None,
        paths: int | None = None,
        quantum: int = 1,
        render_mode: str | None = None,
    ):
        if render_mode is not None:
            raise ValueError("there is nothing to render")
        self._scenario = _scenario(scenario, SCHEDULER_SCENARIO)
        self.paths = len(self._scenario.description["links"]) if paths is None else paths
        self._quantum = quantum
        self._course: _native.SchedulerCourse | None = None
        self.observation_space = spaces.Box(0.0, 1.0, (7 * self.paths + 2,), np.float32)
        self.action_space = spaces.Discrete(self.paths + 1)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[np.ndarray, dict[str, Any]]:
        super().reset(seed=seed)
        number = run_seed(self.np_random)
        self._course = _native.SchedulerCourse(self._scenario, number, self.paths, self._quantum)
        observation, _, _, _, now = self._course.first()
        return observation, {"now": now, "run_seed": number}

    def step(self, action: Any) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        if self._course is None:
            raise gymnasium.error.ResetNeeded("reset() comes before step()")
        observation, reward, terminated, truncated, now = self._course.step(int(action))
        return observation, reward, terminated, truncated, {"now": now}

    def close(self) -> None:
        self._course = None


class CongestionEnv(gymnasium.Env[np.ndarray, np.ndarray]):
    """A congestion controller; see the module. ``scenario`` is one, or the path of a file."""

    metadata: dict[str, Any] = {"render_modes": []}

    def __init__(self, scenario: Scenario | str | os.PathLike[str] | None = None, render_mode: str | None = None):
        if render_mode is not None:
            raise ValueError("there is nothing to render")
        self._scenario = _scenario(scenario, CONGESTION_SCENARIO)
        self._course: _native.CongestionCourse | None = None
        self.observation_space = spaces.Box(0.0, 1.0, (6,), np.float32)
        self.action_space = spaces.Box(-1.0, 1.0, (1,), np.float32)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[np.ndarray, dict[str, Any]]:
        super().reset(seed=seed)
        number = run_seed(self.np_random)
        self._course = _native.CongestionCourse(self._scenario, number)
        observation, _, _, _, now, path = self._course.first()
        return observation, {"now": now, "path": path, "run_seed": number}

    def step(self, action: np.ndarray) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        if self._course is None:
            raise gymnasium.error.ResetNeeded("reset() comes before step()")
        power = float(np.asarray(action).reshape(-1)[0])
        observation, reward, terminated, truncated, now, path = self._course.step(power)
        return observation, reward, terminated, truncated, {"now": now, "path": path}

    def close(self) -> None:
        self._course = None
