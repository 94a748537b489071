"""Hawser for Python: multipath QUIC in virtual time, policies of your own, learning environments.

>>> import hawser
>>> scenario = hawser.Scenario.load("scenarios/wifi-lte.toml", duration="5 s")   # doctest: +SKIP
>>> scenario.run(seed=1, scheduler="minrtt").goodput_bps                         # doctest: +SKIP

docs/python.md is the page about it. Importing this registers the environments with Gymnasium.
"""

import gymnasium

from hawser import links
from hawser._native import Ack, ConnectionClosed, Loss, Path, Queue, Send, Sibling, Stop, Table, View, Wait
from hawser.network import Connection, NetworkPath, PathEvent, Server, connect, serve
from hawser.own import CongestionController, Scheduler
from hawser.policies import Parameter, Policy, policies
from hawser.scenario import Run, Scenario
from hawser.sweep import sweep

__all__ = [
    "Ack",
    "CongestionController",
    "Connection",
    "ConnectionClosed",
    "Loss",
    "NetworkPath",
    "Parameter",
    "Path",
    "PathEvent",
    "Policy",
    "Queue",
    "Run",
    "Scenario",
    "Scheduler",
    "Send",
    "Server",
    "Sibling",
    "Stop",
    "Table",
    "View",
    "Wait",
    "connect",
    "links",
    "policies",
    "serve",
    "sweep",
]

gymnasium.register(
    id="hawser/Ride-v0",
    entry_point="hawser.ride:RideEnv",
    vector_entry_point="hawser.ride:RideVectorEnv",
)
gymnasium.register(id="hawser/Scheduler-v0", entry_point="hawser.environments:SchedulerEnv")
gymnasium.register(id="hawser/Congestion-v0", entry_point="hawser.environments:CongestionEnv")
