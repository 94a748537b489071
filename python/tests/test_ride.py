"""RIDE. Needs the built package, and nothing to train with."""

import json
import unittest

import gymnasium
import numpy as np

import hawser  # noqa: F401  registers the environments
from gymnasium.utils.env_checker import check_env
from hawser._native import RideAgent, RideBatch, play_policy
from hawser.ride import RideVectorEnv


class Ride(unittest.TestCase):
    def test_gymnasium_accepts_it(self):
        check_env(gymnasium.make("hawser/Ride-v0", frames=50).unwrapped, skip_render_check=True)

    def test_a_thousand_steps(self):
        environment = gymnasium.make("hawser/Ride-v0")
        environment.reset(seed=1)
        for step in range(1_000):
            observation, reward, terminated, truncated, _ = environment.step(step % 3)
            self.assertTrue(np.isfinite(reward) and not truncated)
            self.assertTrue((np.abs(observation) <= 5).all())
            if terminated:
                environment.reset()

    def test_a_session_through_gymnasium_is_that_in_rust(self):
        options = {"purpose": "judging", "frames": 100}
        environment = gymnasium.make("hawser/Ride-v0", **options).unwrapped
        environment.reset(seed=5)
        _, expected = play_policy("wifi", 5, options)
        for _ in range(100):
            while not environment.step(1)[2]:
                pass
        self.assertEqual(environment.trace_hash, expected)

    def test_many_do_what_one_does(self):
        many = gymnasium.make_vec("hawser/Ride-v0", num_envs=3, frames=50)
        many.reset(seed=7)
        one = RideBatch(9, 1, {"frames": 50})
        for step in range(3_000):
            observations, rewards, _, _, _ = many.step(np.array([0, 1, step % 3]))
            own = one.step(np.array([step % 3], np.uint8))
            np.testing.assert_array_equal(observations[2], own[0][0])
            self.assertEqual(rewards[2], own[1][0])

    def test_order_and_arrival_change_what_comes(self):
        hashes = set()
        for options in [{}, {"order": "decode"}, {"arrival": "rounds"}]:
            hashes.add(play_policy("wifi", 5, {"purpose": "judging", "frames": 50} | options)[1])
        self.assertEqual(len(hashes), 3)
        with self.assertRaisesRegex(ValueError, "count them twice"):
            RideVectorEnv(2, environment="continuous", arrival="rounds")

    def test_what_makes_no_sense_is_told_so(self):
        with self.assertRaisesRegex(ValueError, "no option"):
            RideVectorEnv(2, colour="red")
        with self.assertRaisesRegex(ValueError, "multiple of 50"):
            RideVectorEnv(2, frames=60)
        with self.assertRaisesRegex(ValueError, "no purpose"):
            RideVectorEnv(2, purpose="fun")
        with self.assertRaisesRegex(ValueError, "actions of 0 to 2"):
            RideVectorEnv(2).step(np.array([0, 3]))
        with self.assertRaisesRegex(ValueError, "truncated, or for another shape"):
            RideAgent(json.dumps({"shapes": [10, 64, 64, 3], "weights_sha256": ""}), b"1234")


if __name__ == "__main__":
    unittest.main()
