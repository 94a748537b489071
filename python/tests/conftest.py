"""What the tests share: the scenarios of this repository, and the command if it was built."""

import os
import shutil
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def scenarios() -> Path:
    return ROOT / "scenarios"


@pytest.fixture
def command() -> str:
    """The command: HAWSER, or what was built here, or what is installed."""
    built = [ROOT / "target" / profile / "hawser" for profile in ("release", "debug")]
    candidates = [os.environ.get("HAWSER"), *map(str, (path for path in built if path.exists())), shutil.which("hawser")]
    for candidate in candidates:
        if candidate:
            return candidate
    pytest.skip("the command is not built; HAWSER=PATH names it")
