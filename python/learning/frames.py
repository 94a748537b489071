"""The task `frames`: RIDE's environment, which frames of a 360-degree video go over which of two paths, and which nowhere.

Training, selection and judging have other videos, viewers and networks each, which the environment keeps apart (`purpose`). The likeliest actions of a
policy are rated by the mean reward of a frame, with what later frames add to it, as sessions of the command's policies are.
"""

from __future__ import annotations

import json
from typing import Any

import gymnasium
import numpy as np
from hawser._native import play_policy
from hawser.ride import RideEnv
from task import Policy, Task

#: Frames of a session.
FRAMES = {"selection": 50, "judging": 300}
SEEDS = {"selection": range(4), "judging": range(20)}
#: The order of arrival, the first that can be sent; alternation; the path that brings it first; what the command has learned.
BASELINES = ["minrtt", "rr", "edpf", "ride"]
#: Rewards are frame durations, some 100 for a frame.
REWARD_SCALE = 0.05


class Training(gymnasium.Wrapper):
    def __init__(self) -> None:
        super().__init__(RideEnv(purpose="training"))

    def step(self, action: Any):
        observation, reward, terminated, truncated, info = self.env.step(int(action))
        return observation, reward * REWARD_SCALE, terminated, truncated, info


def agent_reward(purpose: str, policy: Policy) -> np.ndarray:
    """The mean reward of a frame with the policy, for each seed."""
    env, rewards = RideEnv(purpose=purpose, frames=FRAMES[purpose]), []
    for seed in SEEDS[purpose]:
        observation, _ = env.reset(seed=seed)
        total, frames = 0.0, 0
        while frames < FRAMES[purpose]:
            observation, reward, ended, _, _ = env.step(policy(observation))
            total += reward + sum(change for _, change in env.corrections())
            frames += ended
        rewards.append(total / frames)
    return np.array(rewards)


def policy_reward(purpose: str, name: str) -> np.ndarray:
    """The same with a policy of the command."""
    options = {"purpose": purpose, "frames": FRAMES[purpose]}
    return np.array([json.loads(play_policy(name, seed, options)[0])["reward"] for seed in SEEDS[purpose]])


def judged(agents: dict[str, Policy]) -> dict[str, dict[str, np.ndarray]]:
    rewards = {name: policy_reward("judging", name) for name in BASELINES}
    return {"E1": rewards | {agent: agent_reward("judging", policy) for agent, policy in agents.items()}}


TASK = Task(
    name="frames",
    title="PPO learns RIDE's environment",
    rating="reward of a frame",
    unit="frame durations",
    less_is_better=False,
    training=Training,
    of_return=lambda mean: mean / REWARD_SCALE,
    select=lambda policy: float(agent_reward("selection", policy).mean()),
    selected=lambda: {name: float(policy_reward("selection", name).mean()) for name in BASELINES},
    judged=judged,
    details={"frames": FRAMES, **{purpose: str(seeds) for purpose, seeds in SEEDS.items()}},
)
