"""Compares inference in plain Rust with the framework's, on observations of an environment.

    python -m hawser.compare_ride DIR/NAME

exits with 1 if any logit differs by more than 1e-5 of 10,000 observations, or any action does. With ``--keep`` it writes the
framework's logits to ``DIR/NAME-logits.f32``: ``hawser lab verify ride`` computes the same observations and compares again,
without Python.
"""

import argparse
import json
import sys
from pathlib import Path

import numpy as np
import torch

from hawser._native import RideAgent
from hawser.ride import RideVectorEnv


def framework(shapes: list[int], weights: bytes) -> torch.nn.Sequential:
    """The exported weights in PyTorch."""
    flat, at, layers = np.frombuffer(weights, "<f4"), 0, []
    for inputs, outputs in zip(shapes, shapes[1:]):
        layer = torch.nn.Linear(inputs, outputs)
        matrix = flat[at : at + inputs * outputs].reshape(outputs, inputs)
        at += inputs * outputs
        with torch.no_grad():
            layer.weight.copy_(torch.from_numpy(matrix.copy()))
            layer.bias.copy_(torch.from_numpy(flat[at : at + outputs].copy()))
        at += outputs
        layers += [layer, torch.nn.ReLU()]
    return torch.nn.Sequential(*layers[:-1])


# What is decided on the way, so that queues are like those that a policy leaves: mostly WiFi, one skip.
PATTERN = np.array([1, 1, 2, 1, 1, 2, 0, 1, 1, 2, 1])
COUNT, EVERY = 50, 37


def observations(states: int) -> np.ndarray:
    """Every 37th of 50 environments that judge; decisions are in a fixed order, which the list in Rust repeats."""
    environments = RideVectorEnv(COUNT, purpose="judging")
    observed, rows, numbers, step = environments.reset(seed=1)[0], [], np.arange(COUNT), 0
    while len(rows) * COUNT < states:
        if step % EVERY == 0:
            rows.append(observed)
        step += 1
        observed = environments.step(PATTERN[(step * 7 + numbers * 5) % len(PATTERN)])[0]
    return np.concatenate(rows)[:states]


def main() -> None:
    parser = argparse.ArgumentParser(description="Compares inference in Rust with PyTorch's.")
    parser.add_argument("weights", help="DIR/NAME of NAME.f32 and NAME.json")
    parser.add_argument("--states", type=int, default=10_000)
    parser.add_argument("--keep", action="store_true", help="write the framework's logits")
    arguments = parser.parse_args()
    manifest = Path(f"{arguments.weights}.json").read_text()
    weights = Path(f"{arguments.weights}.f32").read_bytes()
    states = observations(arguments.states)
    rust = RideAgent(manifest, weights).logits(states)
    with torch.no_grad():
        torch_logits = framework(json.loads(manifest)["shapes"], weights)(torch.from_numpy(states)).numpy()
    if arguments.keep:
        Path(f"{arguments.weights}-logits.f32").write_bytes(torch_logits.astype("<f4").tobytes())
    difference = float(np.abs(rust - torch_logits).max())
    actions = int((rust.argmax(1) != torch_logits.argmax(1)).sum())
    counts = np.bincount(rust.argmax(1), minlength=3).tolist()
    print(f"{len(states)} states: largest difference {difference:.2e}, {actions} actions differ, actions {counts}")
    sys.exit(difference > 1e-5 or actions > 0)


if __name__ == "__main__":
    main()
