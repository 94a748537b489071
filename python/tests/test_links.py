"""Links over time."""

import datetime
import json
import subprocess
from pathlib import Path

import pytest

import hawser
from hawser import links

SAMPLES = {
    "walk.down": "0\n5\n10\n",
    "delay.txt": "12.5\n14\n20\n",
    "victoria.csv": "ul_Mbps,dl_Mbps,ul_ms,dl_ms,ul_loss,dl_loss,t_ms\n12,210,26,24,0,0.01,0\n10,200,30,24,0,0,100\n",
    "bus.txt": "0 1\n1.5 3.5\n3.5 4.2\n",
    "up.rate": "0 5\n2 8\n",
}


def test_every_generator_gives_links_that_run() -> None:
    assert len(links.generators()) == 16
    for name in links.generators():
        if name in ("roaming", "constellation"):
            # They have no sites or terminals of their own.
            continue
        drawn = links.generate(name, duration=20, seed=2)
        assert drawn.links and len(drawn.table) >= 2 * len(drawn.links), name
        assert drawn.table.column("time_ns")[0] == 0
        run = drawn.scenario(duration="2 s").run(interval=None)
        assert run.outcome["simulated_seconds"] <= 2.001, name


def test_the_same_seed_gives_the_same_links_and_parameters_matter() -> None:
    first, second, third = (links.generate("highway", duration=300, seed=seed) for seed in (1, 1, 2))
    assert first.table.column("rate_bps") == second.table.column("rate_bps") != third.table.column("rate_bps")
    fast = links.generate("highway", duration=300, seed=1, speed=40)
    assert fast.table.column("event").count("hand-over") > first.table.column("event").count("hand-over")
    assert links.parameters("highway")["speed"] == 20
    assert first.plot().get_title() == "highway"


@pytest.mark.parametrize("name", SAMPLES)
def test_recordings_are_read_as_the_command_reads_them(name: str, tmp_path: Path, command: str) -> None:
    file = tmp_path / name
    file.write_text(SAMPLES[name])
    read = links.read(file)
    table = tmp_path / "table.jsonl"
    subprocess.run([command, "trace", "import", file, "-o", table], check=True, capture_output=True)
    expected = [json.loads(line) for line in table.read_text().splitlines()]
    for column in ("link", "direction", "time_ns", "rate_bps", "delay_ns", "loss"):
        assert read.table.column(column) == [row.get(column) for row in expected], column


def test_several_files_are_about_one_link_and_it_carries_what_they_say(tmp_path: Path) -> None:
    rate, delay = tmp_path / "bw.txt", tmp_path / "delay.txt"
    rate.write_text("".join(f"{second} 8\n" for second in range(11)))
    delay.write_text("20\n" * 1_000)
    both = links.read(f"dish={rate}", f"dish={delay}")
    assert both.links == ["dish"] and both.duration == pytest.approx(10)
    run = both.scenario().run()
    assert 6.5e6 < run.goodput_bps < 8e6, run
    assert min(rtt for rtt in run.paths.column("min_rtt_ns") if rtt) >= 40e6


def test_satellites_are_where_they_can_be() -> None:
    at = datetime.datetime(2025, 6, 1, tzinfo=datetime.timezone.utc)
    seen = links.satellites(48.1, 11.6, at)
    assert len(seen) > 3 and all(one.elevation >= other.elevation >= 25 for one, other in zip(seen, seen[1:], strict=False))
    assert all(550e3 <= satellite.distance < 1_200e3 for satellite in seen)
    assert seen[0].flight_time == pytest.approx(seen[0].distance / 299_792_458)
    assert links.satellites(48.1, 11.6, at.timestamp()) == seen
    assert links.satellites(48.1, 11.6, at, walker=links.ONEWEB)[0].distance >= 1_200e3


@pytest.mark.parametrize(
    ("call", "error", "says"),
    [
        (lambda: links.read(), ValueError, "files: expected one or more"),
        (lambda: links.read("no-such-file.csv"), FileNotFoundError, "no-such-file.csv"),
        (lambda: links.read(__file__), ValueError, "no known format"),
        (lambda: links.read(__file__, format="excel"), ValueError, "format: expected one of mahimahi"),
        (lambda: links.read(__file__, direction="left"), ValueError, "direction: expected up, down"),
        (lambda: links.read(__file__, interval=0), ValueError, "interval: expected"),
        (lambda: links.read(3), TypeError, "int"),
        (lambda: links.generate("motorway", duration=1), ValueError, "no model \"motorway\": there are highway"),
        (lambda: links.generate("highway", duration=-1), ValueError, "duration: expected 0.001 to"),
        (lambda: links.generate("highway", duration="long"), TypeError, "."),
        (lambda: links.generate("highway", duration=1, sped=3), ValueError, "highway: unknown field `sped`, expected one of .*`speed`"),
        (lambda: links.generate("highway", duration=1, speed="fast"), ValueError, "highway: invalid type"),
        (lambda: links.generate("highway", duration=1, speed=-3), ValueError, "speed"),
        (lambda: links.generate("highway", duration=1, seed=-3), ValueError, "seed: expected 0 to"),
        (lambda: links.parameters("motorway"), ValueError, "no model"),
        (lambda: links.satellites(91, 0, 0), ValueError, "latitude of -90 to 90"),
        (lambda: links.satellites(0, 0, datetime.datetime(2025, 1, 1)), ValueError, "time zone"),
        (lambda: links.satellites(0, 0, 0, walker={"planes": 0}), ValueError, "1 to 1000 planes"),
        (lambda: links.satellites(0, 0, 0, walker={"plains": 0}), ValueError, "plains"),
        (lambda: links.satellites(0, 0, 0, elements="no-such.tle"), FileNotFoundError, "no-such.tle"),
        (lambda: links.satellites(0, 0, 0, elements=__file__), ValueError, "line 1"),
        (lambda: links.generate("five-g", duration=1).plot(direction="left"), ValueError, "direction"),
    ],
)
def test_what_makes_no_sense_is_refused_with_what_would(call, error: type[Exception], says: str) -> None:
    with pytest.raises(error, match=says):
        call()


def test_links_are_there_without_another_import() -> None:
    assert hawser.links is links
