"""What a newcomer does first with the wheel, each thing checked and told in a line; exits with 1 if one fails.

    python proof.py COMMAND OUT

COMMAND is `hawser`, for the runs behind the notebooks. The programs are those of docs/python.md, by the headings above them; OUT gets
the figure and the notebooks with what they drew.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PAGE = (ROOT / "docs" / "python.md").read_text(encoding="utf-8")


def program(heading: str) -> str:
    """The first program below a heading of the page."""
    section = PAGE.split(f"## {heading}\n", 1)[1].split("\n## ", 1)[0]
    found = re.search(r"^```python\n(.*?)^```", section, re.M | re.S)
    assert found, f"no program below {heading!r}"
    return found[1]


def run(heading: str, out: Path) -> str:
    """Runs it in OUT. Returns what it printed."""
    file = out / (re.sub(r"\W+", "-", heading.lower()).strip("-") + ".py")
    file.write_text(program(heading), encoding="utf-8")
    done = subprocess.run([sys.executable, file.name], cwd=out, env=os.environ | {"MPLBACKEND": "Agg"}, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def lines_of(text: str) -> int:
    return sum(bool(line.strip()) for line in text.splitlines())


def figure(out: Path) -> str:
    heading = "Two schedulers in one figure"
    run(heading, out)
    picture = out / "schedulers.png"
    assert picture.read_bytes().startswith(b"\x89PNG"), "no figure"
    lines = lines_of(program(heading))
    assert lines <= 10, f"{lines} lines"
    return f"{lines} lines, {picture}"


def scheduler(out: Path) -> str:
    heading = "A scheduler of your own"
    printed = run(heading, out)
    text = program(heading)
    lines = lines_of(text[text.index("class ") : text.index("\n\n\n", text.index("class "))])
    assert lines <= 15, f"{lines} lines"
    return f"{lines} lines, {printed}"


def tables(out: Path) -> str:
    printed = run("Tables", out)
    return f"{lines_of(printed)} lines of polars, pandas and DuckDB"


def environments(_: Path) -> str:
    import gymnasium
    from gymnasium.utils.env_checker import check_env

    import hawser  # noqa: F401 (registers them)

    names = ("hawser/Ride-v0", "hawser/Scheduler-v0", "hawser/Congestion-v0")
    checkers: dict[str, Callable] = {"Gymnasium": lambda of: check_env(of, skip_render_check=True)}
    missing = ""
    try:
        from stable_baselines3.common.env_checker import check_env as other
    except ImportError:
        missing = "; stable-baselines3 is not here, `make learn` checks with it"
    else:
        checkers["stable-baselines3"] = other
    for name in names:
        for checker in checkers.values():
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                checker(gymnasium.make(name).unwrapped)
    return f"{len(names)} environments, no warning of {', '.join(checkers)}{missing}"


def notebooks(out: Path) -> str:
    import nbclient
    import nbformat

    files = sorted((ROOT / "python" / "notebooks").glob("*.ipynb"))
    figures = 0
    for file in files:
        notebook = nbformat.read(file, as_version=4)
        nbclient.NotebookClient(notebook, timeout=600, resources={"metadata": {"path": str(file.parent)}}).execute()
        nbformat.write(notebook, out / file.name)
        drawn = sum("image/png" in output.get("data", ()) for cell in notebook.cells for output in cell.get("outputs", ()))
        assert drawn, f"{file.name} draws nothing"
        figures += drawn
    return f"{len(files)} notebooks, {figures} figures"


def main() -> int:
    command, out = Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve()
    out.mkdir(parents=True, exist_ok=True)
    if not (out / "scenarios").exists():
        (out / "scenarios").symlink_to(ROOT / "scenarios")
    os.environ["HAWSER"] = str(command)
    failed = 0
    for check in (figure, scheduler, tables, environments, notebooks):
        began = time.monotonic()
        try:
            told = check(out)
        except Exception as error:  # What fails is told, and the others are tried.
            failed += 1
            told = f"FAILED: {type(error).__name__}: {error}"
        print(f"{check.__name__:12} {told} ({time.monotonic() - began:.1f} s)", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
