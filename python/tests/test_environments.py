"""Environments on the real stack."""

import time

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

import hawser


@pytest.mark.parametrize("name", ["hawser/Scheduler-v0", "hawser/Congestion-v0"])
@pytest.mark.filterwarnings("error")
def test_gymnasium_accepts_it(name: str) -> None:
    check_env(gymnasium.make(name).unwrapped, skip_render_check=True)


@pytest.mark.parametrize("name", ["hawser/Scheduler-v0", "hawser/Congestion-v0"])
def test_stable_baselines_accepts_it(name: str) -> None:
    checker = pytest.importorskip("stable_baselines3.common.env_checker")
    checker.check_env(gymnasium.make(name).unwrapped)


def quickest(observation: np.ndarray) -> int:
    """The path with the smallest round-trip time that can send; waits if none can."""
    paths = observation[:-2].reshape(-1, 7)
    ready = [place for place, path in enumerate(paths) if path[0] > 0]
    return min(ready, key=lambda place: paths[place][3], default=len(paths))


def episode(environment: gymnasium.Env, seed: int, choose) -> tuple[float, int, bool, float]:
    observation, info = environment.reset(seed=seed)
    began = info["now"]
    total, steps = 0.0, 0
    while True:
        observation, reward, terminated, truncated, info = environment.step(choose(observation))
        total, steps = total + reward, steps + 1
        if terminated or truncated:
            return total, steps, terminated, info["now"] - began


def test_the_return_of_a_scheduler_is_minus_the_time() -> None:
    environment = gymnasium.make("hawser/Scheduler-v0").unwrapped
    total, steps, terminated, now = episode(environment, 1, quickest)
    assert terminated and total == pytest.approx(-now, abs=1e-6) and steps > 1_000
    assert episode(environment, 1, quickest) == (total, steps, terminated, now)
    near_only, *_ = episode(environment, 1, lambda _: 0)
    assert near_only < total, "two paths are quicker than one"


def test_a_scheduler_that_only_waits_is_cut_off() -> None:
    environment = gymnasium.make("hawser/Scheduler-v0").unwrapped
    total, _, terminated, now = episode(environment, 1, lambda _: 2)
    assert not terminated and 29.9 < now <= 30 and total == pytest.approx(-now, abs=1e-6)


def test_windows_follow_the_actions() -> None:
    environment = gymnasium.make("hawser/Congestion-v0").unwrapped

    def steady(observation: np.ndarray) -> np.ndarray:
        return np.array([0.4 if observation[2] < 0.2 else -0.3], np.float32)

    total, steps, terminated, now = episode(environment, 2, steady)
    assert terminated and now < 12 and steps > 50
    small, _, _, slow = episode(environment, 2, lambda _: np.array([-1.0], np.float32))
    assert slow > 2 * now and small / slow < total / now


def test_an_environment_that_is_left_ends_its_run() -> None:
    for _ in range(20):
        environment = gymnasium.make("hawser/Scheduler-v0").unwrapped
        environment.reset(seed=1)
        environment.step(0)
    environment.close()
    with pytest.raises(gymnasium.error.ResetNeeded):
        environment.step(0)
    environment.reset(seed=1)
    with pytest.raises(ValueError, match="action: expected 0 to 2, found 7"):
        environment.step(7)
    for mistake in [{"paths": 0}, {"quantum": 0}]:
        with pytest.raises(ValueError, match="expected 1 to"):
            gymnasium.make("hawser/Scheduler-v0", **mistake).unwrapped.reset()


def test_many_run_side_by_side() -> None:
    many = gymnasium.make_vec("hawser/Scheduler-v0", num_envs=3)
    many.reset(seed=1)
    for _ in range(300):
        observations, *_ = many.step(np.array([0, 1, 0]))
        assert observations.shape == (3, 16) and (observations >= 0).all() and (observations <= 1).all()
    many.close()


def test_decisions_per_second() -> None:
    course = hawser._native.SchedulerCourse(
        gymnasium.make("hawser/Scheduler-v0").unwrapped._scenario.with_(**{"flow.main.size": "20 MB"}), 1, 2, 1
    )
    course.first()
    began, steps = time.perf_counter(), 0
    cpu = time.process_time()
    ended = False
    while not ended:
        _, _, terminated, truncated, _ = course.step(steps % 2)
        steps, ended = steps + 1, terminated or truncated
    took, cpu = time.perf_counter() - began, time.process_time() - cpu
    print(f"{steps} decisions: {steps / took:.0f} per second, {steps / cpu:.0f} per second of CPU time")
    assert steps > 10_000
