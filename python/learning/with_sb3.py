"""PPO of stable-baselines3."""

from __future__ import annotations

import copy

import numpy as np
import torch
from stable_baselines3 import PPO
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.env_util import make_vec_env
from stable_baselines3.common.vec_env import DummyVecEnv

from settings import Check, Settings
from task import Policy, Task


class Watch(BaseCallback):
    """After each rollout: the curve, and the weights that did best so far."""

    def __init__(self, check: Check):
        super().__init__()
        self.check = check
        self.weights = None

    def _on_step(self) -> bool:
        return True

    def _on_rollout_end(self) -> None:
        returns = [episode["r"] for episode in self.model.ep_info_buffer]
        if self.check(self.num_timesteps, np.mean(returns) if returns else np.nan, policy_of(self.model)):
            self.weights = copy.deepcopy(self.model.policy.state_dict())


def policy_of(model: PPO) -> Policy:
    network = model.policy

    def choose(observation: np.ndarray) -> int:
        with torch.no_grad():
            features = network.mlp_extractor.forward_actor(torch.from_numpy(observation)[None])
            return int(network.action_net(features).argmax())

    return choose


def train(task: Task, settings: Settings, check: Check) -> Policy:
    """Returns the policy with the weights that did best in selection."""
    vector = make_vec_env(task.training, n_envs=settings.environments, seed=settings.seed, vec_env_cls=DummyVecEnv)
    model = PPO(
        "MlpPolicy",
        vector,
        n_steps=settings.batch // settings.environments,
        batch_size=settings.minibatch,
        n_epochs=settings.epochs,
        learning_rate=settings.learning_rate,
        gamma=settings.gamma,
        gae_lambda=settings.gae_lambda,
        clip_range=settings.clip,
        ent_coef=settings.entropy,
        vf_coef=settings.value_weight,
        max_grad_norm=settings.largest_gradient,
        policy_kwargs={"net_arch": {"pi": settings.layers, "vf": settings.layers}, "activation_fn": torch.nn.Tanh},
        seed=settings.seed,
        device="cpu",
    )
    watch = Watch(check)
    model.learn(settings.decisions, callback=watch)
    model.policy.load_state_dict(watch.weights)
    return policy_of(model)
