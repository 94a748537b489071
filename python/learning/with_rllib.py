"""PPO of RLlib, with Ray on this machine."""

from __future__ import annotations

import numpy as np
import ray
import torch
from ray.rllib.algorithms.ppo import PPOConfig
from ray.rllib.core.rl_module.default_model_config import DefaultModelConfig
from ray.tune.registry import register_env

from settings import Check, Settings
from task import Policy, Task


def policy_of(module) -> Policy:
    def choose(observation: np.ndarray) -> int:
        with torch.no_grad():
            outputs = module.forward_inference({"obs": torch.from_numpy(observation)[None]})
            return int(outputs["action_dist_inputs"].argmax())

    return choose


def configuration(task: Task, settings: Settings) -> PPOConfig:
    """Everything in this process: one core trains."""
    register_env("training", lambda _: task.training())
    return (
        PPOConfig()
        .environment("training")
        .env_runners(num_env_runners=0, num_envs_per_env_runner=settings.environments)
        .learners(num_learners=0, num_gpus_per_learner=0)
        .training(
            train_batch_size_per_learner=settings.batch,
            minibatch_size=settings.minibatch,
            num_epochs=settings.epochs,
            lr=settings.learning_rate,
            gamma=settings.gamma,
            lambda_=settings.gae_lambda,
            clip_param=settings.clip,
            entropy_coeff=settings.entropy,
            vf_loss_coeff=settings.value_weight,
            grad_clip=settings.largest_gradient,
            use_kl_loss=False,
        )
        .rl_module(model_config=DefaultModelConfig(fcnet_hiddens=settings.layers, fcnet_activation="tanh", vf_share_layers=False))
        .debugging(seed=settings.seed, log_level="ERROR")
    )


def train(task: Task, settings: Settings, check: Check) -> Policy:
    """Returns the policy with the weights that did best in selection."""
    ray.init(num_cpus=1, include_dashboard=False, log_to_driver=False, logging_level="error")
    algorithm = configuration(task, settings).build_algo()
    best, decisions = None, 0
    try:
        while decisions < settings.decisions:
            result = algorithm.train()
            decisions = int(result["num_env_steps_sampled_lifetime"])
            module = algorithm.get_module()
            if check(decisions, result["env_runners"].get("episode_return_mean", np.nan), policy_of(module)):
                best = {name: value.copy() for name, value in module.get_state().items()}
        module.set_state(best)
        return policy_of(module)
    finally:
        algorithm.stop()
        ray.shutdown()
