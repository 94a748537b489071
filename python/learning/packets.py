"""The task `packets`: which packets go over which of two links.

Three sets of seeds, disjoint: training, selection (which of the weights of a training are kept), judging. Judging also has scenarios that training
never meets. Whatever is judged, an agent or a scheduler of the command, runs the same scenario with the same seed.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import gymnasium
import hawser
import numpy as np
from hawser.environments import run_seed
from task import Policy, Task

SCENARIOS = Path(__file__).resolve().parents[2] / "scenarios"
#: Of the transfer. Half a second on `wifi-lte`: what is decided at its end weighs.
SIZE = "2 MB"
#: Datagrams that a decision is about.
QUANTUM = 16
TRAINING = "wifi-lte"
#: `wifi-lte` with other seeds, and two that no training has seen.
JUDGED = ["wifi-lte", "unequal", "two-equal"]
SELECTION_SEEDS = range(1_000_000, 1_000_010)
JUDGING_SEEDS = range(2_000_000, 2_000_100)
BASELINES = ["minrtt", "roundrobin", "default"]
#: Rewards are some tenths of a millisecond: in this unit returns are of the size that networks begin with.
REWARD_SCALE = 10.0


def scenario(name: str) -> hawser.Scenario:
    text = (SCENARIOS / f"{name}.toml").read_text(encoding="utf-8")
    if "[[flow]]" not in text:
        text += '\n[[flow]]\nname = "main"\nkind = "bulk"\ndirection = "down"\n'
    return hawser.Scenario.from_toml(text, **{"flow.main.size": SIZE})


def environment(name: str) -> gymnasium.Env:
    return gymnasium.make("hawser/Scheduler-v0", scenario=scenario(name), quantum=QUANTUM, disable_env_checker=True)


class Training(gymnasium.Wrapper):
    """Episodes of the training scenario, but for those that select or judge."""

    def __init__(self) -> None:
        super().__init__(environment(TRAINING))
        self._reserved = {seed_of_run(seed) for seeds in (SELECTION_SEEDS, JUDGING_SEEDS) for seed in seeds}

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None):
        observation, info = self.env.reset(seed=seed, options=options)
        while info["run_seed"] in self._reserved:
            observation, info = self.env.reset()
        return observation, info

    def step(self, action):
        observation, reward, terminated, truncated, info = self.env.step(action)
        return observation, reward * REWARD_SCALE, terminated, truncated, info


def seed_of_run(seed: int) -> int:
    """The seed of the run of the episode after ``reset(seed=seed)``."""
    return run_seed(gymnasium.utils.seeding.np_random(seed)[0])


def agent_seconds(name: str, policy: Policy, seeds: range) -> np.ndarray:
    """How long the transfer takes with the policy, for each seed. What is cut off has the time of the scenario."""
    env, seconds = environment(name), []
    for seed in seeds:
        observation, info = env.reset(seed=seed)
        done = False
        while not done:
            observation, _, terminated, truncated, info = env.step(policy(observation))
            done = terminated or truncated
        seconds.append(info["now"])
    return np.array(seconds)


def scheduler_seconds(name: str, scheduler: str, seeds: range) -> np.ndarray:
    """The same with a scheduler of the command."""
    of = scenario(name)
    runs = (of.run(seed=seed_of_run(seed), scheduler=scheduler, interval=None) for seed in seeds)
    return np.array([run.outcome["simulated_seconds"] for run in runs])


def judged(agents: dict[str, Policy]) -> dict[str, dict[str, np.ndarray]]:
    ratings = {}
    for name in JUDGED:
        seconds = {scheduler: scheduler_seconds(name, scheduler, JUDGING_SEEDS) for scheduler in BASELINES}
        ratings[name] = seconds | {agent: agent_seconds(name, policy, JUDGING_SEEDS) for agent, policy in agents.items()}
    return ratings


TASK = Task(
    name="packets",
    title="PPO learns a packet scheduler",
    rating=f"{SIZE} over {TRAINING}",
    unit="s",
    less_is_better=True,
    training=Training,
    of_return=lambda mean: -mean / REWARD_SCALE,
    select=lambda policy: float(agent_seconds(TRAINING, policy, SELECTION_SEEDS).mean()),
    selected=lambda: {it: float(scheduler_seconds(TRAINING, it, SELECTION_SEEDS).mean()) for it in BASELINES},
    judged=judged,
    details={"size": SIZE, "quantum": QUANTUM, "selection": str(SELECTION_SEEDS), "judging": str(JUDGING_SEEDS)},
)
