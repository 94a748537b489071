"""Policies written in Python."""

import time
from pathlib import Path

import pytest

import hawser
from test_run import two


class MinRtt(hawser.Scheduler):
    """As the one in Rust, without its first packets on new paths."""

    def schedule(self, view):
        ready = view.ready()
        return min(ready, key=lambda path: path.smoothed_rtt) if ready else None


class EarliestArrival(hawser.Scheduler):
    """What would arrive first: waits for a fast path rather than to use a slow one."""

    def schedule(self, view):
        def arrival(path):
            rate = (path.delivery_rate or path.congestion_window * 8 / path.smoothed_rtt) / 8
            waits = 0 if path.sendable else (path.bytes_in_flight + path.max_datagram_size) / rate - path.smoothed_rtt
            return max(0, waits) + path.smoothed_rtt / 2

        paths = view.preferred()
        if view.queue.total > 200_000:
            paths = view.ready()
        best = min(paths, key=arrival, default=None)
        return best if best is not None and best.sendable else None


class Aimd(hawser.CongestionController):
    """One datagram more per round trip, half after a loss."""

    slow_start_threshold = None

    def on_ack(self, ack):
        if ack.app_limited:
            return
        if self.slow_start_threshold is None or self.window < self.slow_start_threshold:
            self.window += ack.bytes - ack.bytes_in_recovery
        else:
            self.window += self.max_datagram_size * (ack.bytes - ack.bytes_in_recovery) / self.window

    def on_loss(self, loss):
        if loss.new_epoch:
            self.window = self.slow_start_threshold = max(self.window / 2, 2 * self.max_datagram_size)


def test_the_same_policy_gives_the_same_run() -> None:
    for policies in [{"scheduler": MinRtt}, {"congestion": Aimd}, {"scheduler": EarliestArrival(), "congestion": Aimd()}]:
        first, second = (two().run(**policies) for _ in range(2))
        assert first.trace_hash == second.trace_hash
        assert first.goodput_bps > 20e6, first
    assert two().run(scheduler=MinRtt).outcome["flows"][0]["scheduler"] == "python.MinRtt"


def test_fifteen_lines_beat_round_robin_on_wifi_and_lte(scenarios: Path) -> None:
    scenario = hawser.Scenario.load(scenarios / "wifi-lte.toml", **{"flow.main.size": "10 MB"})
    took = {}
    for scheduler in (EarliestArrival, "roundrobin"):
        runs = [scenario.run(seed=seed, scheduler=scheduler, interval=None) for seed in range(5)]
        took[scheduler] = sum(run.outcome["flows"][0]["completion_seconds"] for run in runs) / len(runs)
    print({str(scheduler): f"{seconds:.3f} s" for scheduler, seconds in took.items()})
    assert took[EarliestArrival] < took["roundrobin"]


def test_what_a_policy_raises_ends_the_run_and_names_the_line() -> None:
    class Broken(hawser.Scheduler):
        def schedule(self, view):
            return view.paths[0].colour

    with pytest.raises(AttributeError, match="colour") as caught:
        two().run(scheduler=Broken)
    assert caught.traceback[-1].path.name == "test_own.py"
    assert "view.paths[0].colour" in str(caught.traceback[-1].statement)

    class Unmade(hawser.CongestionController):
        def __init__(self):
            raise OSError("no such model")

        on_ack = on_loss = None

    with pytest.raises(OSError, match="no such model"):
        two().run(congestion=Unmade)


@pytest.mark.parametrize(
    ("answer", "error", "says"),
    [
        ("wifi", TypeError, r"schedule \(.*test_own.py, line \d+\) returned 'wifi': expected a path of the view"),
        (True, TypeError, "returned True"),
        (1.5, TypeError, "returned 1.5"),
        (-1, TypeError, "returned -1"),
        (99, ValueError, r"chose path 99, which is not there: there are 0"),
        (hawser.Send(98), ValueError, "chose path 98"),
    ],
)
def test_nonsense_ends_the_run(answer: object, error: type[Exception], says: str) -> None:
    class Nonsense(hawser.Scheduler):
        def schedule(self, view):
            return answer

    with pytest.raises(error, match=says):
        two().run(scheduler=Nonsense)


@pytest.mark.parametrize("window", [-1, float("nan"), "wide", None, 1e13])
def test_a_window_that_is_none_ends_the_run(window: object) -> None:
    class Nonsense(Aimd):
        def on_ack(self, ack):
            self.window = window

    with pytest.raises(ValueError, match=r"on_ack \(.*line \d+\) left window = .*: expected 0 to 1e12 bytes"):
        two().run(congestion=Nonsense)


def test_each_end_and_path_has_an_object_of_its_own() -> None:
    made = []

    class Counting(MinRtt):
        def __init__(self):
            made.append(self)

    two().run(scheduler=Counting)
    assert {scheduler.side for scheduler in made} == {"client", "server"}
    kept = MinRtt()
    kept.seen = []
    two().run(scheduler=kept)
    assert kept.seen == [] and kept.side == "server"
    with pytest.raises(TypeError, match="expected it as scheduler="):
        two().run(congestion=MinRtt)


def test_answers_may_bound_skip_copy_and_wait() -> None:
    class Everything(hawser.Scheduler):
        asked = 0

        def schedule(self, view):
            self.asked += 1
            ready = view.ready()
            if self.asked % 50 == 0 or not ready:
                return hawser.Wait(view.now + 0.01)
            for path in ready:
                if path.copies_queued:
                    return hawser.Send(path, what="copies")
            if self.asked % 9:
                return hawser.Send(ready[-1], max_bytes=2_400, skip=1_200)
            others = [path for path in view.preferred() if path.id != ready[0].id]
            return hawser.Send(ready[0].id, copies=others)

    run = two().run(scheduler=Everything)
    assert run.goodput_bps > 5e6 and run.outcome["flows"][0]["copies"]["copied_bytes"] > 0
    with pytest.raises(ValueError, match="what: expected one of next, unsent"):
        hawser.Send(0, what="all")
    with pytest.raises(ValueError, match="until: expected 0 to"):
        hawser.Wait(-1)


def test_ctrl_c_reaches_a_policy_that_sleeps() -> None:
    import signal

    class Sleeps(hawser.Scheduler):
        def schedule(self, view):
            signal.raise_signal(signal.SIGINT)
            time.sleep(60)

    began = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        two().run(scheduler=Sleeps)
    assert time.monotonic() - began < 1


def test_a_policy_is_called_a_hundred_thousand_times_a_second() -> None:
    calls = 0

    class Single(hawser.Scheduler):
        def schedule(self, view):
            nonlocal calls
            calls += 1
            for path in view.ready():
                return hawser.Send(path, max_bytes=1200)
            return None

    scenario = two(duration="20 s", link__a__rate="200 Mbit/s", link__b__rate="200 Mbit/s", link__b__loss="0 %")
    plain, own = [], []
    for _ in range(2):
        began = time.process_time()
        scenario.run(scheduler="roundrobin,quantum=1", interval=None)
        plain.append(time.process_time() - began)
        calls = 0
        began = time.process_time()
        scenario.run(scheduler=Single, interval=None)
        own.append(time.process_time() - began)
    cost = max(min(own) - min(plain), 1e-9)
    print(f"{calls} calls in {min(own):.2f} s of CPU ({calls / min(own):.0f} per second with the simulator around them), {calls / cost:.0f} per second alone")
    assert calls > 50_000 and calls / cost > 100_000
