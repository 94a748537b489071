"""What a cell costs on Ray next to the built-in runner: `python bench/on_ray.py 10000`, in python/. Both keep every cell in a folder.

Ray gives its workers a niceness of 15; on a machine that others use too, RAY_worker_niceness=0 makes the comparison fair.
"""

import hashlib
import sys
import tempfile
import time
from pathlib import Path

import hawser
import ray


def main() -> None:
    cells = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    scenario = hawser.Scenario.load(Path(__file__).resolve().parents[2] / "scenarios" / "two-equal.toml", duration="0.1 s")
    with tempfile.TemporaryDirectory() as folder:
        took, tables = {}, {}
        for name, options in {"threads": {"workers": 2}, "Ray": {"on": "ray"}}.items():
            if name == "Ray":
                ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, logging_level="error")
            # Workers start with their first cells.
            hawser.sweep(scenario, seeds=range(20), **options)
            began = time.perf_counter()
            hawser.sweep(scenario, seeds=range(cells), out=f"{folder}/{name}", **options)
            took[name] = time.perf_counter() - began
            tables[name] = hashlib.sha256((Path(folder) / name / "flows.parquet").read_bytes()).hexdigest()[:16]
            print(f"{cells} cells, {name}: {took[name]:.1f} s, {1e3 * took[name] / cells:.2f} ms each, flows.parquet {tables[name]}")
        print(f"difference {1e3 * (took['Ray'] - took['threads']) / cells:.2f} ms for each cell; the same bytes: {len(set(tables.values())) == 1}")
    ray.shutdown()


if __name__ == "__main__":
    main()
