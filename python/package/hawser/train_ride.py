"""Trains RIDE's actor with PPO (stable-baselines3) and exports its weights.

    python -m hawser.train_ride --seed 1 --output DIR

writes ``DIR/NAME.f32`` (little-endian, layer by layer: matrix row by row, then bias), ``NAME.json`` (the manifest: shapes,
hashes, what training saw) and ``NAME-curve.csv`` (the learning curve).
"""

import argparse
import hashlib
import json
import time
from pathlib import Path

import numpy as np
import stable_baselines3
import torch
from stable_baselines3 import PPO
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.vec_env import VecEnv

from hawser._native import RideAgent
from hawser.ride import RideVectorEnv

SHAPES = [10, 64, 64, 3]


class Sessions(VecEnv):
    """The environments as stable-baselines3 wants them."""

    def __init__(self, count: int, seed: int, truncate: bool, options: dict):
        self.inner = RideVectorEnv(count, **options)
        self.inner.reset(seed=seed)
        self.truncate = truncate
        super().__init__(count, self.inner.single_observation_space, self.inner.single_action_space)

    def reset(self):
        return self.inner.reset()[0]

    def step_async(self, actions):
        self.actions = actions

    def step_wait(self):
        observations, rewards, ends, _, _ = self.inner.step(self.actions)
        infos = [{} for _ in range(self.num_envs)]
        if self.truncate:
            for at in np.flatnonzero(ends):
                infos[at] = {"TimeLimit.truncated": True, "terminal_observation": observations[at]}
        return observations, rewards, ends, infos

    def close(self):
        pass

    def get_attr(self, attr_name, indices=None):
        return [None if attr_name == "render_mode" else getattr(self, attr_name)] * self.num_envs

    def set_attr(self, attr_name, value, indices=None):
        raise NotImplementedError("attributes of the environments cannot be set")

    def env_method(self, method_name, *args, indices=None, **kwargs):
        raise NotImplementedError("the environments have no methods of their own")

    def env_is_wrapped(self, wrapper_class, indices=None):
        return [False] * self.num_envs


class Watch(BaseCallback):
    """Corrects rewards of B frames, keeps the learning curve, and the weights that do best where nothing is learned."""

    def __init__(self, options: dict, every: int):
        super().__init__()
        self.options, self.every = options, every
        self.start = 0
        self.changes: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = []
        self.curve: list[tuple[int, float, float]] = []
        self.best = (-np.inf, None)
        self.episodes = 0
        self.next_check = every

    def _on_rollout_start(self):
        self.changes.clear()

    def _on_step(self):
        self.episodes += int(self.locals["dones"].sum())
        numbers, decisions, changes = self.training_env.inner.corrections()
        if len(numbers):
            self.changes.append((numbers, decisions.astype(np.int64), changes))
        return True

    def _on_rollout_end(self):
        buffer = self.model.rollout_buffer
        for numbers, decisions, changes in self.changes:
            slots = decisions - self.start
            # What belongs to the rollout before was learned from already.
            here = slots >= 0
            np.add.at(buffer.rewards, (slots[here], numbers[here]), changes[here])
        self.start += buffer.buffer_size
        with torch.no_grad():
            observations = self.model.policy.obs_to_tensor(self.locals["new_obs"])[0]
            values = self.model.policy.predict_values(observations)
        buffer.compute_returns_and_advantage(last_values=values, dones=self.locals["dones"])
        if self.episodes >= self.next_check:
            self.next_check += self.every
            self.check()

    def check(self):
        """Plays greedily on reserved viewers and networks of the training videos."""
        reward = greedy(export(self.model), self.options | {"purpose": "selection"}, range(2))
        training = float(self.model.rollout_buffer.rewards.sum()) / max(
            1, int(self.model.rollout_buffer.episode_starts.sum())
        )
        self.curve.append((self.episodes, training, reward))
        print(f"{self.episodes:6d} episodes: {training:7.2f} in training, {reward:7.2f} greedy", flush=True)
        if reward > self.best[0]:
            self.best = (reward, export(self.model))


def export(model: PPO) -> bytes:
    """The actor's weights."""
    layers = [layer for layer in model.policy.mlp_extractor.policy_net if isinstance(layer, torch.nn.Linear)]
    parts = []
    for layer in [*layers, model.policy.action_net]:
        parts += [layer.weight.detach().cpu().numpy(), layer.bias.detach().cpu().numpy()]
    return b"".join(np.ascontiguousarray(part, "<f4").tobytes() for part in parts)


def greedy(weights: bytes, options: dict, seeds: range) -> float:
    """Mean reward per frame with the likeliest actions."""
    agent = RideAgent(json.dumps({"shapes": SHAPES, "weights_sha256": ""}), weights)
    return float(np.mean([json.loads(agent.play(seed, options)[0])["reward"] for seed in seeds]))


def train(arguments: argparse.Namespace) -> None:
    options = {"environment": arguments.environment, "hidden": arguments.hidden, "purpose": "training"}
    if arguments.no_helper:
        options["helper"] = False
    torch.manual_seed(arguments.seed)
    torch.set_num_threads(arguments.threads)
    # E2 does not end with a frame: what comes after is worth something.
    environments = Sessions(arguments.environments, arguments.seed * 1_000_003, arguments.environment == "continuous", options)
    settings = {
        "learning_rate": 3e-4,
        "n_steps": arguments.rollout // arguments.environments,
        "batch_size": arguments.minibatch,
        "n_epochs": arguments.epochs,
        "gamma": 0.99,
        "gae_lambda": 0.95,
        "clip_range": 0.2,
        "ent_coef": arguments.entropy,
        "vf_coef": 0.5,
        "max_grad_norm": 0.5,
    }
    network = {"net_arch": {"pi": [64, 64], "vf": [64, 64]}, "activation_fn": torch.nn.ReLU, "ortho_init": True}
    model = PPO("MlpPolicy", environments, policy_kwargs=network, seed=arguments.seed, device="cpu", **settings)
    watch = Watch({key: value for key, value in options.items() if key != "purpose"}, arguments.every)
    started = time.monotonic()
    model.learn(total_timesteps=arguments.steps, callback=watch)
    seconds = time.monotonic() - started
    watch.check()
    write(arguments, watch, settings, options, seconds)


def write(arguments, watch, settings, options, seconds) -> None:
    reward, weights = watch.best
    folder = Path(arguments.output)
    folder.mkdir(parents=True, exist_ok=True)
    curve = "episodes,reward_training,reward_selection\n" + "".join(
        f"{episodes},{training:.4f},{greedy:.4f}\n" for episodes, training, greedy in watch.curve
    )
    (folder / f"{arguments.name}.f32").write_bytes(weights)
    (folder / f"{arguments.name}-curve.csv").write_text(curve)
    manifest = {
        "format": 1,
        "system": "RIDE",
        "shapes": SHAPES,
        "activation": "relu",
        "weights_sha256": hashlib.sha256(weights).hexdigest(),
        "curve_sha256": hashlib.sha256(curve.encode()).hexdigest(),
        "seed": arguments.seed,
        "options": options,
        "steps": arguments.steps,
        "episodes": watch.episodes,
        "environments": arguments.environments,
        "ppo": settings,
        "reward_selection": round(reward, 4),
        "saw": {
            "training": "videos 0 to 3, viewers and networks of purpose training",
            "selection": "videos 0 to 3, viewers and networks of purpose selection, seeds 0 and 1",
            "judging": "nothing: video 4, viewers and networks of purpose judging are derived from other seeds",
        },
        "libraries": {
            "stable-baselines3": stable_baselines3.__version__,
            "torch": torch.__version__,
            "numpy": np.__version__,
        },
    }
    (folder / f"{arguments.name}.json").write_text(json.dumps(manifest, indent=2) + "\n")
    print(f"{seconds:.0f} s, best {reward:.2f}, weights {manifest['weights_sha256'][:16]}")


def main() -> None:
    parser = argparse.ArgumentParser(description="Trains RIDE's actor and exports its weights.")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--output", default="ride-weights", help="folder of the weights")
    parser.add_argument("--name", default="episodic", help="name of the files")
    parser.add_argument("--environment", choices=["episodic", "continuous"], default="episodic")
    parser.add_argument("--hidden", choices=["nothing", "deadline", "size"], default="nothing", help="ablation of the state")
    parser.add_argument("--no-helper", action="store_true", help="ablation: no reward for help to other frames")
    parser.add_argument("--steps", type=int, default=1_200_000, help="decisions; the dissertation has 30,000 frames of some 40")
    parser.add_argument("--environments", type=int, default=8)
    parser.add_argument("--rollout", type=int, default=8192, help="decisions of a rollout, of all environments")
    parser.add_argument("--minibatch", type=int, default=256)
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--entropy", type=float, default=0.0)
    parser.add_argument("--every", type=int, default=500, help="episodes from one check to the next")
    parser.add_argument("--threads", type=int, default=1)
    train(parser.parse_args())


if __name__ == "__main__":
    main()
