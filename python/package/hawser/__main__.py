"""``python -m hawser sweep PLAN --on ray --out DIR``: what ``hawser sim sweep --on`` starts."""

from __future__ import annotations

import argparse
import json
import sys
import time

from hawser.scenario import KINDS
from hawser.sweep import sweep


def main(arguments: list[str] | None = None) -> int:
    """Runs a plan. Returns the exit status: 0 done, 1 failed, 2 the plan or an argument is wrong, 130 stopped."""
    parser = argparse.ArgumentParser(prog="python -m hawser", description="Multipath QUIC in virtual time.")
    command = parser.add_subparsers(dest="command", required=True).add_parser("sweep", help="run all cells of a plan")
    command.add_argument("plan", help="plan (TOML): scenarios, what varies, how many replicates")
    command.add_argument("--out", "-o", required=True, help="folder, or an address that fsspec can write; one that is there is continued")
    command.add_argument("--on", help="ray, ray:auto or ray://HOST:PORT; default: the threads of this machine")
    command.add_argument("--workers", "-j", type=int, help="threads, or cores of the Ray that is started")
    command.add_argument("--wheel", help="wheel of this package, for workers of Ray that lack it")
    command.add_argument("--json", action="store_true", help="print a line of JSON")
    for kind in KINDS:
        command.add_argument(f"--{kind}", metavar="SPEC", help=f"{kind} of all cells")
    options = parser.parse_args(arguments)
    policies = {kind: value for kind in KINDS if (value := getattr(options, kind)) is not None}
    environment = {"py_modules": [options.wheel]} if options.wheel else None
    began = time.monotonic()
    try:
        table = sweep(options.plan, on=options.on, out=options.out, workers=options.workers, runtime_env=environment, **policies)
    except KeyboardInterrupt:
        print("hawser: stopped; the same command goes on", file=sys.stderr)
        return 130
    except (ValueError, TypeError, OSError, ImportError) as error:
        print(f"hawser: {error}", file=sys.stderr)
        return 2 if isinstance(error, ValueError | TypeError) else 1
    cells = len(set(table.column("cell")))
    failed = sum(message is not None for message in table.column("failed")) if "failed" in table.column_names else 0
    seconds = time.monotonic() - began
    if options.json:
        print(json.dumps({"out": options.out, "cells": cells, "failed": failed, "rows": len(table), "wall_seconds": seconds}))
    else:
        print(f"{options.out}: {cells} cells, {failed} failed, {seconds:.1f} s")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
