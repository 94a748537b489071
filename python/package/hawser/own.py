"""What policies of your own are made of.

They see what policies in Rust see, under the same names: times are seconds since the start, sizes bytes, rates bit/s. A run
with such a policy is as repeatable as any other, if the policy itself is: take random numbers from ``seed``.
"""

from __future__ import annotations

import abc
import copy
from collections.abc import Callable
from typing import Any

from hawser._native import Ack, Loss, Path, Send, View, Wait

Decision = Path | Send | Wait | int | None


class Scheduler(abc.ABC):
    """Decides which path carries what comes next. Each end of each connection has an object of its own."""

    #: ``"client"`` or ``"server"``: the end that it decides for.
    side: str = "server"
    #: For random decisions; depends on the seed of the run.
    seed: int = 0

    @abc.abstractmethod
    def schedule(self, view: View) -> Decision:
        """Asked whenever something is queued and a path could take a datagram, and again after each answer until it waits.

        The answer is a path of the view (or its id), which gets as much as fits, a :class:`hawser.Send` that says more, or
        ``None`` or :class:`hawser.Wait`: nothing now.
        """


class CongestionController(abc.ABC):
    """Decides how much may be in flight on a path. Each path has an object of its own.

    ``window`` (bytes) is read after each call, and so are ``pacing_rate`` (bit/s; ``None``: from the window) and
    ``slow_start_threshold`` (bytes; ``None``: no threshold, slow start).
    """

    #: Whether :attr:`hawser.Ack.siblings` has the entries of all paths.
    wants_siblings: bool = False
    path: int = 0
    max_datagram_size: int = 1200
    #: For random decisions; depends on the seed of the run.
    seed: int = 0
    window: float = 12_000
    pacing_rate: float | None = None
    slow_start_threshold: float | None = None

    @abc.abstractmethod
    def on_ack(self, ack: Ack) -> None:
        """An acknowledgement arrived."""

    @abc.abstractmethod
    def on_loss(self, loss: Loss) -> None:
        """Packets were lost or marked; ``loss.new_epoch`` says whether to reduce."""

    def on_path_reset(self, now: float) -> None:
        """The path moved to another address: what was measured does not hold. Keeps everything by default."""

    def on_max_datagram_size(self, bytes: int) -> None:
        """The size of datagrams changed."""
        self.max_datagram_size = bytes


def _makes(policy: Any, base: type) -> Callable[[], Any] | None:
    """A function that makes new objects of a policy: of a class, or copies of an object."""
    if isinstance(policy, type) and issubclass(policy, base):
        return policy
    if isinstance(policy, base):
        return lambda: copy.deepcopy(policy)
    return None


def scheduler_factory(policy: Any) -> Callable[[str, int], Scheduler] | None:
    """A factory for the simulator; ``None`` if this is no scheduler of one's own."""
    new = _makes(policy, Scheduler)
    if new is None:
        return None

    def make(side: str, seed: int) -> Scheduler:
        scheduler: Scheduler = new()
        scheduler.side, scheduler.seed = side, seed
        return scheduler

    return make


def controller_factory(policy: Any) -> Callable[[int, int, int, int], CongestionController] | None:
    """A factory for the simulator; ``None`` if this is no controller of one's own."""
    new = _makes(policy, CongestionController)
    if new is None:
        return None

    def make(path: int, initial_window: int, max_datagram_size: int, seed: int) -> CongestionController:
        controller: CongestionController = new()
        controller.path, controller.max_datagram_size, controller.seed = path, max_datagram_size, seed
        if "window" not in vars(controller):
            controller.window = initial_window
        return controller

    return make


def name_of(policy: Any) -> str:
    """What a policy of one's own is called in tables: ``python.Mine``."""
    kind = policy if isinstance(policy, type) else type(policy)
    return "python." + "".join(letter if letter.isascii() and letter.isalnum() else "-" for letter in kind.__name__)
