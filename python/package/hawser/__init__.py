"""Hawser's learning environments. Importing this registers ``hawser/Ride-v0`` with Gymnasium."""

import gymnasium

gymnasium.register(
    id="hawser/Ride-v0",
    entry_point="hawser.ride:RideEnv",
    vector_entry_point="hawser.ride:RideVectorEnv",
)
