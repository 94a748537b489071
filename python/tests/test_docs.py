"""Every snippet of docs/python.md and of the pages that belong to it runs, in the root of the repository."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = ["python.md", "python-peekaboo.md"]
SNIPPETS = [
    snippet
    for page in PAGES
    for snippet in re.findall(r"^```python\n(.*?)^```", (ROOT / "docs" / page).read_text(encoding="utf-8"), re.M | re.S)
]


@pytest.mark.parametrize("snippet", SNIPPETS, ids=range(len(SNIPPETS)))
def test_a_snippet_runs(snippet: str, tmp_path: Path) -> None:
    for package in re.findall(r"^import (duckdb|pandas|polars|pyarrow)$", snippet, re.M):
        pytest.importorskip(package)
    if ".plot(" in snippet:
        pytest.importorskip("matplotlib")
    (tmp_path / "scenarios").symlink_to(ROOT / "scenarios")
    # A file, so that what is defined in it has source lines.
    (tmp_path / "snippet.py").write_text(snippet)
    done = subprocess.run(
        [sys.executable, "snippet.py"], cwd=tmp_path, env={"MPLBACKEND": "Agg", "PATH": ""}, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    print(done.stdout)


def test_there_are_snippets() -> None:
    assert len(SNIPPETS) >= 6
