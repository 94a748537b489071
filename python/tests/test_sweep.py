"""Sweeps on threads."""

import signal
import threading
import time
from pathlib import Path

import pytest

import hawser
from test_own import MinRtt
from test_run import two

SEEDS = range(4)


def rows(table: hawser.Table) -> dict[str, list[object]]:
    return {name: table.column(name) for name in table.column_names}


def small() -> hawser.Scenario:
    return two(duration="500 ms")


def test_the_table_does_not_depend_on_the_workers() -> None:
    vary = {"scheduler": ["minrtt", MinRtt], "link.b.delay": ["30 ms", "60 ms"]}
    one, many = (rows(hawser.sweep(small(), seeds=SEEDS, vary=vary, workers=workers)) for workers in (1, 4))
    assert one == many
    assert len(one["cell"]) == 16 and one["cell"] == list(range(16))
    assert set(one["scheduler"]) == {"minrtt", "python.MinRtt"} and set(one["link.b.delay"]) == {"30 ms", "60 ms"}
    assert one["seed"][:4] == list(SEEDS) and len(set(one["trace_hash"])) == 8
    # The same decisions, in Python and in Rust.
    assert one["trace_hash"][:8] == one["trace_hash"][8:]
    alone = small().run(seed=2, scheduler="minrtt")
    assert one["trace_hash"][2] == alone.trace_hash


def test_a_plan_has_the_cells_of_the_command(tmp_path: Path) -> None:
    from test_run import TWO

    (tmp_path / "two.toml").write_text(TWO)
    plan = tmp_path / "plan.toml"
    plan.write_text(
        'version = 1\nscenarios = ["two.toml"]\nreplicates = 2\npaired = true\n[set]\nduration = "300 ms"\n'
        '[vary]\n"transport.scheduler" = ["minrtt", "roundrobin"]\n'
    )
    table = rows(hawser.sweep(plan))
    assert table["transport.scheduler"] == ["minrtt", "minrtt", "roundrobin", "roundrobin"]
    assert table["replicate"] == [0, 1, 0, 1] and table["seed"][0] == table["seed"][2] != table["seed"][1]
    with pytest.raises(FileNotFoundError):
        hawser.sweep(tmp_path / "none.toml")
    plan.write_text(plan.read_text().replace("roundrobin", "rundrobin"))
    with pytest.raises(ValueError, match=r"plan.toml:\d+: .*rundrobin"):
        hawser.sweep(plan)


def test_a_cell_that_fails_says_why_and_the_others_go_on() -> None:
    class Broken(hawser.Scheduler):
        def schedule(self, view):
            raise RuntimeError("not today")

    table = rows(hawser.sweep(small(), seeds=range(2), vary={"scheduler": [Broken, "minrtt"]}))
    assert table["failed"] == ["RuntimeError: not today"] * 2 + [None] * 2
    assert table["goodput_bps"][0] is None and table["goodput_bps"][2] > 0


def test_a_sweep_that_is_interrupted_goes_on(tmp_path: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    long = two(duration="20 s")
    threading.Timer(2.0, lambda: signal.raise_signal(signal.SIGINT)).start()
    began = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        hawser.sweep(long, seeds=range(2_000), workers=2, out=tmp_path / "long")
    assert time.monotonic() - began < 4
    whole = hawser.sweep(small(), seeds=SEEDS, out=tmp_path / "whole")
    done = sorted((tmp_path / "whole" / "cells").iterdir())
    assert len(done) == 4
    expected = (tmp_path / "whole" / "flows.parquet").read_bytes()
    done[1].unlink()
    (tmp_path / "whole" / "cells" / "00000003.json.partial").write_text("{")
    again = hawser.sweep(small(), seeds=SEEDS, out=tmp_path / "whole")
    assert rows(again) == rows(whole)
    assert (tmp_path / "whole" / "flows.parquet").read_bytes() == expected
    assert parquet.read_table(tmp_path / "whole" / "flows.parquet") == pyarrow.table(whole)
    with pytest.raises(ValueError, match="results of another sweep"):
        hawser.sweep(small(), seeds=range(5), out=tmp_path / "whole")


def test_mistakes_are_told_before_anything_runs() -> None:
    for arguments, error, says in [
        ({"workers": 0}, ValueError, "expected 1 to 1024"),
        ({"on": "moon"}, ValueError, "expected None, \"ray\""),
        ({"vary": {"scheduler": []}}, ValueError, "expected values"),
        ({"seeds": []}, ValueError, "expected 1 to 10000000 cells"),
        ({"colour": "red"}, TypeError, "no argument 'colour'"),
        ({"vary": {"link.c.delay": ["1 ms"]}}, ValueError, "link.c"),
    ]:
        with pytest.raises(error, match=says):
            hawser.sweep(small(), **arguments)
