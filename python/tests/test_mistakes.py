"""What makes no sense is refused with what would, and with the exception that Python has for it."""

from pathlib import Path

import gymnasium
import pytest

import hawser
from test_run import two

MISTAKES = [
    (lambda: hawser.Scenario.load("no-such.toml"), FileNotFoundError, "no-such.toml"),
    (lambda: hawser.Scenario.load("/bin/true"), ValueError, "/bin/true: expected a scenario .TOML"),
    (lambda: hawser.Scenario.load(3), TypeError, "not int"),
    (lambda: hawser.Scenario.from_toml(3), TypeError, "expected the text of a scenario, found 3"),
    (lambda: hawser.Scenario.from_toml(b"version = 1"), TypeError, "expected the text of a scenario"),
    (lambda: hawser.Scenario.from_toml("a = = b"), ValueError, "scenario.toml:1: not valid TOML"),
    (lambda: two(colour=3), ValueError, "colour: unknown field; allowed here: description, duration"),
    (lambda: two().run(seed="1"), TypeError, "seed: expected a whole number of 0 to .*, found '1'"),
    (lambda: two().run(seed=1.5), TypeError, "seed: expected a whole number"),
    (lambda: two().run(seed=-1), ValueError, "seed: expected 0 to 2..63 - 1, found -1"),
    (lambda: two().run(interval="often"), TypeError, "interval: expected seconds, or None for no samples, found 'often'"),
    (lambda: two().run(interval=0), ValueError, "interval: expected 0.001 to 86400 seconds"),
    (lambda: two().run(packets="yes"), TypeError, "packets: expected True or False, found 'yes'"),
    (lambda: two().run(stop=3), TypeError, "stop: expected a hawser.Stop, found 3"),
    (lambda: two().run(scheduler="fastest"), ValueError, "no scheduler named .fastest.; known are: blest"),
    (lambda: two().run(scheduler="ecf,betta=3"), ValueError, "did you mean .beta."),
    (lambda: two().run(scheduler=3), TypeError, "scheduler=3: expected the text of a policy"),
    (lambda: two().run(schedular="ecf"), TypeError, "no argument 'schedular'"),
    (lambda: hawser.policies("schedular"), ValueError, "no kind of policy 'schedular': there are policy, scheduler"),
    (lambda: hawser.policies("congestion")["cubic"](beta=7), ValueError, "expected 0.1 to 0.95"),
    (lambda: hawser.sweep("no-such.toml"), FileNotFoundError, "no-such.toml"),
    (lambda: hawser.sweep(two(), seeds=3), TypeError, "seeds: expected whole numbers, such as range.20., found 3"),
    (lambda: hawser.sweep(two(), seeds=["a"]), TypeError, "seeds: expected a whole number"),
    (lambda: hawser.sweep(two(), seeds=[-1]), ValueError, "seeds: expected 0 to"),
    (lambda: hawser.sweep(two(), vary=["a"]), TypeError, "vary: expected a dictionary of lists"),
    (lambda: hawser.sweep(two(), seeds=[1], vary={"scheduler": "ecf"}), TypeError, "vary: expected a list of values for 'scheduler', found 'ecf'"),
    (lambda: hawser.sweep(two(), seeds=[1], vary={"scheduler": ["fastest"]}), ValueError, "fastest"),
    (lambda: hawser.sweep(two(), seeds=[1], congestion="cubick"), ValueError, "cubick"),
    (lambda: hawser.sweep(two(), seeds=[1], workers=0), ValueError, "workers: expected 1 to 1024, found 0"),
    (lambda: hawser.sweep(two(), seeds=[1], workers="2"), TypeError, "workers: expected a whole number"),
    (lambda: hawser.sweep(two(), seeds=[1], on="spark"), ValueError, "on: expected None, .ray., .ray:auto. or"),
    (lambda: hawser.sweep(two(), seeds=[1], on=3), ValueError, "on: expected None"),
    (lambda: two().run().flows.column("x"), KeyError, "no column .*x.*: there are time_ns"),
    (lambda: gymnasium.make("hawser/Scheduler-v0", scenario="no-such.toml"), FileNotFoundError, "no-such.toml"),
    (lambda: gymnasium.make("hawser/Congestion-v0", scenario=3), TypeError, "scenario: expected a hawser.Scenario or the path"),
]


@pytest.mark.parametrize(("call", "error", "says"), MISTAKES, ids=range(len(MISTAKES)))
def test_a_mistake_is_named(call, error: type[Exception], says: str) -> None:
    with pytest.raises(error, match=says):
        call()


def test_a_file_as_path_and_whole_numbers_of_numpy_are_fine(scenarios: Path) -> None:
    import numpy

    assert two().run(seed=numpy.int64(3), interval=numpy.float64(0.5)).trace_hash == two().run(seed=3).trace_hash
    assert gymnasium.make("hawser/Congestion-v0", scenario=scenarios / "wifi-lte.toml").unwrapped._scenario.name == "wifi-lte"
