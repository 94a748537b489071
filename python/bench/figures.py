"""What the package costs: a run next to the command, packets to pandas, decisions of the environments.

    python bench/figures.py COMMAND [--packets 10000000]

COMMAND is a release build of `hawser` from the same sources. Run it in a virtual environment with the wheel (`make python` makes one).
"""

import argparse
import json
import resource
import statistics
import subprocess
import time
from pathlib import Path

import gymnasium
import hawser
import pandas

SCENARIO = Path(__file__).resolve().parents[2] / "scenarios" / "wifi-lte.toml"
REPEATS = 5


def clock(call):
    begin = time.perf_counter()
    result = call()
    return time.perf_counter() - begin, result


def next_to_the_command(command):
    """Medians of alternating runs of 60 s; the command's time includes its start."""
    scenario = hawser.Scenario.load(SCENARIO, duration="60 s", **{"flow.main.size": "10 GB"})
    order = [command, "sim", "run", str(SCENARIO), "--seed", "1", "--json", "--set", "duration=60 s", "--set", "flow.main.size=10 GB"]
    ours, theirs = [], []
    for _ in range(REPEATS):
        ours.append(clock(lambda: scenario.run(seed=1))[0])
        theirs.append(clock(lambda: subprocess.run(order, check=True, capture_output=True))[0])
    package, program = statistics.median(ours), statistics.median(theirs)
    return {"run_seconds": round(package, 4), "command_seconds": round(program, 4), "ratio": round(package / program, 3)}


def packets_to_pandas(wanted):
    short = hawser.Scenario.load(SCENARIO, duration="2 s", **{"flow.main.size": "100 GB", "link.*.rate": "1 Gbit/s"})
    rate = pandas.DataFrame.from_arrow(short.run(seed=1, packets=True).packets).shape[0] / 2
    seconds = max(2, wanted / rate)
    long = hawser.Scenario.load(SCENARIO, duration=f"{seconds:.1f} s", **{"flow.main.size": "1000 GB", "link.*.rate": "1 Gbit/s"})
    run_seconds, run = clock(lambda: long.run(seed=1, packets=True))
    found = {"simulated_in_seconds": round(run_seconds, 2)}
    for name, convert in {"to_pandas": run.packets.to_pandas, "from_arrow": lambda: pandas.DataFrame.from_arrow(run.packets)}.items():
        for time_of in ("first", "again"):
            before, began = resource.getrusage(resource.RUSAGE_SELF), time.process_time()
            took, frame = clock(convert)
            cpu, after = time.process_time() - began, resource.getrusage(resource.RUSAGE_SELF)
            grew = round((after.ru_maxrss - before.ru_maxrss) / 1024, 1)
            found[f"{name}, {time_of}"] = {"seconds": round(took, 3), "cpu_seconds": round(cpu, 3), "peak_memory_grew_mib": grew}
            found["packets"] = frame.shape[0]
            del frame
    return found


def decisions(name, **options):
    environment = gymnasium.make(name, **options)
    count, seed, begin = 0, 0, time.perf_counter()
    while time.perf_counter() - begin < 4:
        environment.reset(seed=seed)
        seed += 1
        done = False
        while not done:
            _, _, terminated, truncated, _ = environment.step(0)
            count += 1
            done = terminated or truncated or time.perf_counter() - begin > 6
    return round(count / (time.perf_counter() - begin))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("command")
    parser.add_argument("--packets", type=int, default=10_000_000)
    asked = parser.parse_args()
    print(json.dumps({"next to the command": next_to_the_command(asked.command)}), flush=True)
    for name in ("hawser/Scheduler-v0", "hawser/Congestion-v0"):
        print(json.dumps({name: {"decisions_per_second": decisions(name)}}), flush=True)
    print(json.dumps({"packets": packets_to_pandas(asked.packets)}), flush=True)


main()
